"""What is: one noun a file; looks, never changes."""
