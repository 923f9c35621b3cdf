"""What takes the disk of a host: images, weights, and who needs them."""
