#!/bin/sh
# $1 run, $2 who and why, $3 a run whose controller is known to be dead, $4... paths

set -e
. ./lock_take.sh
. ./journal_stands.sh
. ./journal_number.sh
. ./journal_known.sh

take "$@" || exit 0
run=$1; shift 3
# shellcheck disable=SC2046 # paths of ours have no blanks
set -- $(known "$@")
if [ ! -e "/var/lib/sparkrig/runs/$run" ]; then
  new=/var/lib/sparkrig/runs/.$run
  rm -rf "$new"
  mkdir -p "$new/before/files"
  chmod 700 /var/lib/sparkrig
  there=
  for path in "$@"; do
    if [ -f "$path" ] || [ -L "$path" ]; then there="$there ${path#/}"; fi # what is no file is never written to
  done
  # from /, for cp looks for the folders of a path from there, without the first slash of it (coreutils 9.1)
  # shellcheck disable=SC2086 # paths of ours have no blanks
  if [ -n "$there" ]; then (cd / && cp -a --parents -t "$new/before/files" $there); fi
  stands "$@" >"$new/before/state"
  printf '%s\n' "$owner" >"$new/run.json"
  : >"$new/steps"
  mkdir "$new/wrote"
  : >"$new/wrote/state"
  printf '%s\n' "$@" >"$new/paths"
  last=$(numbers /var/lib/sparkrig/runs/*/number | sort -n | tail -n 1)
  printf '%s\n' "$((${last:-0} + 1))" >"$new/number"
  rm -f /var/lib/sparkrig/runs/*/seen # of steps that broke off
  find "$new" ! -type l -exec sync {} +
  mv -T "$new" "/var/lib/sparkrig/runs/$run"
  sync /var/lib/sparkrig/runs
fi
