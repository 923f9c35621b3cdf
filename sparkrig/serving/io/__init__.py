"""What serving reads of this machine and of a model hub, and the engine's benchmark."""
