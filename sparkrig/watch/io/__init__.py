"""Units and files of a schedule on this machine, and notices."""
