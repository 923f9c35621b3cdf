#!/bin/sh
# $1 run, whose trial of a server was rolled back; on stdin why, in one line


set -e
umask 077
cat >"/var/lib/sparkrig/runs/$1/trial.new"
sync "/var/lib/sparkrig/runs/$1/trial.new"
mv "/var/lib/sparkrig/runs/$1/trial.new" "/var/lib/sparkrig/runs/$1/trial"
sync "/var/lib/sparkrig/runs/$1"
