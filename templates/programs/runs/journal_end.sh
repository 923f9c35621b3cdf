#!/bin/sh
# $1 run, $2 `declares` where standard input has what was declared of this host, $3... paths. Old runs go now, all
# but 20: if they went at the begin of a run, an undo of the oldest would lose what it puts back. The oldest are
# those of a version that numbered none, by their names.

set -e
. ./lock_functions.sh
. ./journal_stands.sh
. ./journal_number.sh
. ./journal_keeps.sh
. ./journal_known.sh

umask 077
run=$1 declares=$2; shift 2
# shellcheck disable=SC2046 # paths of ours have no blanks
set -- $(known "$@")
cd /var/lib/sparkrig/runs/"$run"
if [ "$declares" = declares ]; then
  cat >declared.new
  sync declared.new
  keeps . /var/lib/sparkrig/declared.json declared.new
  mv declared.new /var/lib/sparkrig/declared.json
fi
{ printf 'end %s\n' "$(date +%s)"; stands "$@"; } >after.new
sync after.new
mv after.new after
sync .
cd /
find /var/lib/sparkrig/runs -mindepth 1 -maxdepth 1 -name '[0-9]*' ! -name "$run" | while read -r each; do
  number=$(numbers "$each/number") || :
  printf '%09d %s\n' "${number:-0}" "$each"
done | sort -r | tail -n +20 | while read -r _ old; do rm -rf "$old"; done
release "$run"
