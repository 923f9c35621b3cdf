#!/bin/sh
# The RDMA devices, their ports and GIDs.

. ./run.sh
run ibdev2netdev -v; run show_gids; run ibv_devinfo -v; run rdma link show; run rdma dev show
