"""Taking a new Spark from out of the box into an inventory: what is judged and proposed, one noun a file. Pure."""
