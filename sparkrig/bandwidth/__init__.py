"""Measurements of rails: what is run, what its output means, what is kept of it."""
