#!/bin/sh
# The GID block of a file that was put back is as old as the file. $1 the rails, $2 the program that looks it up


netdev=
if [ -f "$1" ]; then netdev=$(sed -n 's/^ *"\([^"]*\)":.*/\1/p' "$1" | head -n 1); fi
if [ -n "$netdev" ] && [ -e "$2" ]; then python3 "$2" "$netdev" >&2; fi
