#!/bin/sh
# What an update that is about to be closed has changed: `was NAME VERSION` and `now NAME VERSION` of each package that
# is another one, `rails-was BASE64` and `rails-now BASE64` (what was measured of the rails), and rates.

. ../host/update_plan.sh
. ./update_rates.sh

now=$(mktemp) && trap 'rm -f "$now"' EXIT || exit
dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' | sed -n 's/^installed //p' >"$now"
grep -vxFf "$now" $here/packages | sed 's/^/was /'
grep -vxFf $here/packages "$now" | sed 's/^/now /'
for each in "was $here/bandwidth.json" 'now /var/lib/sparkrig/bandwidth.json'; do
  if [ -f "${each#* }" ]; then printf 'rails-%s %s\n' "${each%% *}" "$(base64 -w 0 "${each#* }")"; fi
done
cat $here/rates 2>/dev/null
rates now
