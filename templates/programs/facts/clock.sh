#!/bin/sh
# What sparkrig/resources/clock.py reads: whether nvidia-smi is there. It is not asked, for that takes a second.

if [ -x /usr/bin/nvidia-smi ]; then echo smi; fi
