"""Text from outside, bounded and read as data, before any room looks at what it means."""
