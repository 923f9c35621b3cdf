"""The RDMA devices of one host, its GID tables, and the variables that name them."""
