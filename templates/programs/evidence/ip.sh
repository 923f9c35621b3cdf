#!/bin/sh
# Addresses, links, routes, neighbours.

. ./run.sh
run ip -d addr show; run ip -s link show; run ip route show table all; run ip -6 route show
run ip rule show; run ip neigh show
