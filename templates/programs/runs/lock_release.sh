#!/bin/sh
# $1 run whose lock it is to be

set -e
. ./lock_functions.sh

release "$1"
