#!/bin/sh
# Every package, and what is held.

. ./run.sh
echo '$ dpkg -l'; dpkg -l | awk '/^[a-z]/ { print $1, $2, $3, $4 }'; run apt-mark showhold
