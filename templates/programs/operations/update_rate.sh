#!/bin/sh
# How fast what serves answers before an update, kept for its end

. ../host/update_plan.sh
. ./update_rates.sh

rates was >$here/rates && sync -f $here/rates
