#!/bin/sh
# What facts/apt.py reads: the processes that hold a lock of apt's now.

. ./apt_holders.sh
holders
