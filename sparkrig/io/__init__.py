"""All input and output of the controlling machine: connections, terminals, files."""
