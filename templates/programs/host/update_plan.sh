#!/bin/sh
# What is read of an open update, which is in the folder $here. rows WORD: what its plan has of a kind. leads_back:
# whether it is on its way back; a row that a power cut tore is none.


here=/var/lib/sparkrig/update
rows() { sed -n "s/^$1 //p" $here/plan; }
leads_back() { grep -q '^back [0-9]\{1,12\} [0-9a-f-]\{36\}$' $here/steps; }
