"""Models, launches, start-up and benchmark for people."""
