"""The doctor's report for people."""
