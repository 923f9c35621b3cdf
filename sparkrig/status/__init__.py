"""What each host is, who is at it, and what was done to it last."""
