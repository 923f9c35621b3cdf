"""What a paste means, for people."""
