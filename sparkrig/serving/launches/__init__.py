"""Each form in which people publish a launch: shell, compose, Kubernetes, units, `docker inspect`, recipes."""
