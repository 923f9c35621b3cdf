"""The status for people."""
