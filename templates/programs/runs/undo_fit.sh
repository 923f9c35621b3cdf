#!/bin/sh
# $1 a daemon.json, or nothing and on stdin its text in BASE64

. ./undo_unfit.sh

if [ -n "$1" ]; then unfit "$1"; exit; fi
new=$(mktemp) || exit; trap 'rm -f "$new"' EXIT
base64 -d >"$new"
unfit "$new"
