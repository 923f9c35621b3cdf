#!/bin/sh
# stands PATH...: what stands there, a row each, holds and the toolkit's packages too

. ./journal_row.sh

stands() {
  for path in "$@"; do row "$path" "$path" || :; done
  apt-mark showhold | sed 's/^/hold /; s/$/ held/'
  dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' \
    nvidia-container-toolkit nvidia-container-toolkit-base libnvidia-container-tools libnvidia-container1 2>/dev/null | sed -n 's/^installed /package /p'
}
