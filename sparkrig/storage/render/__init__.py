"""The storage of a host for people."""
