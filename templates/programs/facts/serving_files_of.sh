#!/bin/sh
# files_of FOLDER: size and path of each file of a checkpoint, as its manifest has them


files_of() {
  (cd "$1" && find -L . -type f ! -path './.cache/*' ! -name '.sparkrig-files*' ! -name '*.part' \
    -printf '%s %P\n' | LC_ALL=C sort)
}
