#!/bin/sh
# Every package, and what is held.

. ./run.sh
echo '$ dpkg -l'; dpkg -l | awk '/^[a-z]/ { print $1, $2, $3, $4 }'
# apt writes no cache of its lists: a look leaves nothing
echo '$ apt-mark showhold'
timeout -k 2 20 apt-mark showhold -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= 2>&1
