#!/bin/sh
# The update is over; what there is to know of it is kept as the last one.

. ../host/update_plan.sh
. ./update_grub.sh
. ./update_trial.sh

end_trial
free_default || exit
rm -rf $here.last
mv -T $here $here.last && sync -f $here.last
