"""Each form in which people publish a launch: shell, compose, Kubernetes, Helm, units, Dockerfiles, recipes."""
