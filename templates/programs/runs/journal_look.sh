#!/bin/sh
# $1... paths, of which it is shown what stands there; everything there is to know of the runs

. ./lock_functions.sh
. ./journal_stands.sh
. ./journal_number.sh
. ./journal_known.sh

# shellcheck disable=SC2046 # paths of ours have no blanks
set -- $(known "$@")
printf 'now %s\n' "$(date +%s)"
. ../facts/open_update.sh
. ./lock_seen.sh
. ./armed.sh
armed
for run in /var/lib/sparkrig/runs/*; do
  [ -d "$run" ] || continue
  case ${run##*/} in *[!A-Za-z0-9.-]*) continue ;; esac # no name of ours
  printf 'run %s %s\n' "${run##*/}" "$(text "$run/run.json")"
  # a torn row has no end, and would take the next with it
  if [ -f "$run/steps" ]; then { cat "$run/steps"; echo; } | sed 's/^/step /'; fi
  if [ -f "$run/before/state" ]; then
    sed 's/^/before /' "$run/before/state"
    sed -n 's/^file \([^ ]*\) \([0-7]\{1,4\} .*\|symbolic link\)$/\1/p' "$run/before/state" |
      while read -r path; do
        [ -f "$run/before/files$path" ] || [ -L "$run/before/files$path" ] || echo "lacks before/files$path"
      done
  else echo 'lacks before/state'
  fi
  # of one without an end, what stands there now is compared: not where it took no note of what stood there before
  if [ -f "$run/after" ]; then sed 's/^/after /' "$run/after"
  elif [ -f "$run/paths" ]; then printf '%s\n' "$@" | grep -vxF -f "$run/paths" | sed 's/^/unnoted file /'; fi
  number=$(numbers "$run/number")
  if [ -n "$number" ]; then echo "number $number"; elif [ -e "$run/wrote" ]; then echo 'lacks number'; fi
  if [ -f "$run/wrote/state" ]; then { cat "$run/wrote/state"; echo; } | sed -n 's/^./wrote &/p'
  elif [ -n "$number" ]; then echo 'lacks wrote/state'; fi
  if [ -f "$run/left" ]; then head -c 16384 "$run/left" | sed 's/^/left /'; fi
  if [ -f "$run/trial" ]; then printf 'trial %s\n' "$(head -c 400 "$run/trial" | head -n 1)"; fi
  if [ -e "$run/guard/state" ]; then printf 'guard %s\n' "$(text "$run/guard/state")"; fi
  if [ -f "$run/guard/changed" ]; then echo network; sed 's/^/network /' "$run/guard/changed"; fi
  case $(text "$run/guard/state") in
  committed*) [ -f "$run/guard/before/links.json" ] || echo 'lacks guard/before/links.json' ;;
  esac
done
stands "$@" | sed 's/^/current /'
cat /var/lib/sparkrig/runs/*/guard/changed 2>/dev/null | cut -d ' ' -f 3- | LC_ALL=C sort -u | while IFS= read -r path; do
  sum=absent
  if [ -L "$path" ]; then sum="link"; elif [ -f "$path" ]; then sum=$(sha256sum <"$path"); fi
  printf 'profile %s %s\n' "${sum%% *}" "$path"
done
