"""Measurements between hosts."""
