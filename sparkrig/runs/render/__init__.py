"""Runs and their outcome in words."""
