"""sparkrig: NVIDIA DGX Sparks, from the box to a verified cluster (docs/design.md explains the rooms)."""
