#!/bin/sh
# $1 the server's container, $2 the folder of bench_run.sh: ends the tool, whose own script then removes the folder.

# shellcheck disable=SC2016 # for the shell of the container
timeout -k 5 15 docker exec "$1" sh -c 'if [ -f "$1/pid" ]; then kill "$(cat "$1/pid")"; fi' sparkrig-bench "$2"
