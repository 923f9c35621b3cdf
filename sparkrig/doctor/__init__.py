"""Everything that a doctor checks of a host, and its report.

It asks a host in `io` alone.
"""
