"""What the output of a tool means that a person pastes, a tool a file."""
