"""Each form in which people publish a launch: shell, compose, recipes, `docker inspect`."""
