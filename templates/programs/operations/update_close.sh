#!/bin/sh
# The update is over; what there is to know of it is kept as the last one.

. ./update_grub.sh
. ./update_trial.sh

here=/var/lib/sparkrig/update
end_trial
free_default || exit
rm -rf $here.last
mv -T $here $here.last && sync -f $here.last
