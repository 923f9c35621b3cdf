#!/bin/sh
# $1 apt preferences that come on top of the host's own; standard input: the plan. All of it is on the disk before
# anything changes, and comes at once: as a folder that no other plan lets come.

. ../host/update_plan.sh
. ../host/update_machine.sh

if [ -e $here/plan ]; then echo 'another update is open here' >&2; exit 75; fi
set -e
umask 077
new=$here.new
rm -rf $new $here # of a beginning that a power cut ended
mkdir -p $new
printf '%s' "$1" >$new/limits
: >$new/steps
machine
printf '%s\n' "$of" >$new/machine
dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' | sed -n 's/^installed //p' >$new/packages
if [ -f /var/lib/sparkrig/bandwidth.json ]; then cp /var/lib/sparkrig/bandwidth.json $new/; fi
cat >$new/plan
[ "$(tail -n 1 $new/plan)" = end ] || { rm -rf $new; echo 'the plan came in part' >&2; exit 74; }
sync -f $new/plan
mv -T $new $here
sync -f $here
