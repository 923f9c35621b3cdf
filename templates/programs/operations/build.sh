#!/bin/sh
# $1... what is built


option=--build-arg
. ./proxies.sh
exec docker build "$@"
