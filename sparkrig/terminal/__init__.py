"""What this machine shows and keeps: terminal, screen, files that are replaced whole.

It asks no host.
"""
