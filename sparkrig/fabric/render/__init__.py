"""The cabling of a group for people."""
