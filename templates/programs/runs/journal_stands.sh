#!/bin/sh
# stands PATH...: what stands there, a row each, holds and the packages in $noted too. Of plain files without a GID
# block all are asked by one stat and one sha256sum; the others by `row`. Paths have no blanks.

. ./journal_row.sh

newline='
'
stands() {
  for path; do
    shift
    if [ -L "$path" ] || ! [ -f "$path" ]; then row "$path" "$path" || :; else set -- "$@" "$path"; fi
  done
  if [ $# -gt 0 ]; then
    blocks=$newline$(LC_ALL=C grep -als '^# gid: begin' "$@" || :)$newline
    sums=$newline$(sha256sum "$@" 2>/dev/null || :)$newline
    stat -c '%n %a %U:%G' "$@" 2>/dev/null | while read -r path seen; do
      before=${sums%%"  $path$newline"*} sum=
      case $blocks in *"$newline$path$newline"*) ;; *) [ "$before" = "$sums" ] || sum=${before##*"$newline"} ;; esac
      case $sum in
      '' | *[!0-9a-f]*) row "$path" "$path" || : ;;
      *) printf 'file %s %s %s\n' "$path" "$seen" "$sum" ;;
      esac
    done
  fi
  apt-mark showhold -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= | sed 's/^/hold /; s/$/ held/'
  # shellcheck disable=SC2086 # names of packages have no blanks
  dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' ${noted:?} 2>/dev/null |
    sed -n 's/^installed /package /p'
}
