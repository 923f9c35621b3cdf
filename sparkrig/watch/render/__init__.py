"""The black box and the schedule for people."""
