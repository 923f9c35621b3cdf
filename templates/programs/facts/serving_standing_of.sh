#!/bin/sh
# standing_of FOLDER: sets state to what a checkpoint is (sparkrig.serving.served.Standing), and stray to the first
# link that leads out of it. Such a link is not followed: it may lead to a whole disk.

. ./serving_files_of.sh
. ./serving_strays_of.sh
. ./serving_indexed_of.sh

# shellcheck disable=SC2034 # state is for the caller
standing_of() {
  stray=$(strays_of "$1/") state=partial
  if [ -n "$stray" ]; then
    state=linked
  elif [ -f "$1/.sparkrig-files" ]; then
    state=damaged
    if [ -z "$(files_of "$1/" | LC_ALL=C comm -13 - "$1/.sparkrig-files")" ]; then state=whole; fi
  elif [ -z "$(find "$1/" -name '*.incomplete' -o -name '*.part')" ]; then indexed_of "$1"
  fi
}
