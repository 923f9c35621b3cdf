#!/bin/sh
# $1 the folder of the checkpoint: from now on it is known to be whole. Of one that hf downloaded itself, the
# library's own notes name the commit: the first line of each [@hf-local-folder].

set -e
. ../facts/serving_files_of.sh

cd "$1"
odd=$(find -L . -name '*
*' -print -quit)
if [ -n "$odd" ]; then echo "$1 has a file with a line break in its name" >&2; exit 1; fi
if [ ! -e .sparkrig-revision ]; then
  notes=.cache/huggingface/download
  commits=$(find $notes -name '*.metadata' -exec head -qn 1 {} + 2>/dev/null | sort -u)
  if printf '%s\n' "$commits" | grep -qxE '[0-9a-f]{40}' && [ "$(printf '%s\n' "$commits" | wc -l)" = 1 ]; then
    printf '%s\n' "$commits" >.sparkrig-revision
  fi
fi
files_of . >.sparkrig-files.new
if [ ! -s .sparkrig-files.new ]; then echo "$1 is empty" >&2; exit 1; fi
sync -f .sparkrig-files.new
mv .sparkrig-files.new .sparkrig-files
