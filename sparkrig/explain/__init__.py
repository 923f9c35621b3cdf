"""What the pasted output of a tool means, one file for each tool."""
