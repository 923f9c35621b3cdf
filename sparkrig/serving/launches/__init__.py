"""Each form in which people publish a launch: shell, compose, units, Dockerfiles, recipes."""
