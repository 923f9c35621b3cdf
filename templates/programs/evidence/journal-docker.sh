#!/bin/sh
# The logs of docker and what belongs to it.

. ./run.sh
log -u docker -u containerd -u nvidia-persistenced -b 0 -n 1000 | newest
