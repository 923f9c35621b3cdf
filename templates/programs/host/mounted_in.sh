#!/bin/sh
# mounted_in FOLDER: whether a file system begins there or below, one of the same disk too (mount --bind)


mounted_in() {
  awk -v at="$1" '$5 == at || index($5, at "/") == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo
}
