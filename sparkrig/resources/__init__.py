"""One kind of thing on a host, one file each: what is read of it, managed, changed, checked and given back."""
