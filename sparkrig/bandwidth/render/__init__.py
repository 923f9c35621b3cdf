"""Measurements for people: table, matrix, curve."""
