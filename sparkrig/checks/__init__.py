"""What is declared against what was seen: one resource a file, each with the checks that drift and doctor run."""
