#!/bin/sh
# $1 the folder of the run, $2 the folder of all weights, $3 the owner of the checkpoint, $4 its name, $5 the bytes
# that it takes. Removes OWNER/NAME, where it is a plain folder in there, and prints `removed`, or `refused WHY`.
# It works from inside, since a path can become another one after it was looked at: `cd -P` and `pwd -P` say where
# it is, and rm follows no link. The manifest goes first: what a power cut leaves is a part, and is not taken for
# the whole.

set -e
. ../host/mounted_in.sh

refuse() { printf 'refused %s\n' "$1"; exit 0; }
root=$(readlink -f "$2") owner=$3 name=$4
cd -P "$root/$owner" 2>/dev/null || refuse 'it is not there'
if [ "$(pwd -P)" != "$root/$owner" ] || [ -L "./$name" ]; then refuse 'it is a link, and what it leads to is not ours'; fi
if [ ! -d "./$name" ]; then refuse 'it is not there'; fi
if mounted_in "$root/$owner/$name"; then refuse 'a file system is mounted in it'; fi
printf 'weights %s/%s %s bytes\n' "$owner" "$name" "$5" >>"$1/before/state"
printf 'weights %s/%s absent\n' "$owner" "$name" >>"$1/wrote/state"
sync "$1/before/state" "$1/wrote/state"
(cd -P "./$name" && [ "$(pwd -P)" = "$root/$owner/$name" ] && rm -f ./.sparkrig-files ./config.json)
rm -rf --one-file-system "./$name"
cd -P "$root"
rmdir --ignore-fail-on-non-empty "./$owner" 2>/dev/null || :
sync -f .
echo removed
