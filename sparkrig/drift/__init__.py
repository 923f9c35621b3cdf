"""What is declared against what is seen, and what a deploy would change: report, document, rendering.

It asks a host in `io` alone.
"""
