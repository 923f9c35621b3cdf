#!/bin/sh
# $1 run: its lock is given back, and its folder goes, for it has changed nothing

. ./lock_release.sh
if [ ! -s "/var/lib/sparkrig/runs/$1/steps" ]; then rm -rf "/var/lib/sparkrig/runs/$1"; fi
