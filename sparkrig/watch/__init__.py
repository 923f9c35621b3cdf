"""Black box, schedule and notices.

What the black box of a host saw is `host.blackbox`, for every look reads it.
"""
