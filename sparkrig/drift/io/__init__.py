"""The drift reports that this machine keeps."""
