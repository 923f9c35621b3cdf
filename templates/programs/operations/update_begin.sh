#!/bin/sh
# $1 apt preferences that come on top of the host's own; standard input: the plan. Both are on the disk, whole, before
# anything changes; a plan that is there already stays, and this one is refused.


here=/var/lib/sparkrig/update
if [ -e $here/plan ]; then echo 'another update is open here' >&2; exit 75; fi
set -e
umask 077
mkdir -p $here
printf '%s' "$1" >$here/limits
: >$here/steps
dpkg-query -W -f '${Package} ${Version}\n' >$here/packages
cat >$here/plan.new
[ "$(tail -n 1 $here/plan.new)" = end ] || { echo 'the plan came in part' >&2; exit 74; }
sync -f $here/plan.new
mv -T $here/plan.new $here/plan
sync -f $here
