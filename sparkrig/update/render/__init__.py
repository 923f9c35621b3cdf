"""The update for people."""
