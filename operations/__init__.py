"""How to change it: one noun a file, mirrors `facts/`."""
