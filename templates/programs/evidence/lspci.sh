#!/bin/sh
# The PCI devices, and the ConnectX-7's in full.

. ./run.sh
run lspci -nn; run lspci -vv -d 15b3:
