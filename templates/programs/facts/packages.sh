#!/bin/sh
# Sets $packages to rows `STATE FLAG WANT NAME NAME:ARCHITECTURE VERSION` of dpkg's, unless a look has done so for all
# that it asks: those of driver, kernel and toolkit, and each that is not whole. each_package DOES: calls DOES with the
# words of each.


if [ -z "${packages+set}" ]; then
  packages=$(
    dpkg-query -W -f='${db:Status-Status} ${db:Status-Eflag} ${db:Status-Want} ${Package} ${binary:Package} ${Version}\n' 2>/dev/null |
      LC_ALL=C sed -nE '/^(installed|config-files|not-installed) ok /!{p;d}; / (linux-|[^ ]*nvidia|cuda-drivers)/p'
  )
fi
each_package() {
  set -f
  ifs=$IFS IFS='
'
  # shellcheck disable=SC2086 # rows, then words
  for row in $packages; do
    IFS=$ifs
    "$1" $row
  done
  IFS=$ifs
  set +f
}
