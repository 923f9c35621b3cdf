#!/bin/sh
# What facts/first_upgrade.py reads: the unit, its mark, and the boot that they are of.

. ./first_upgrade_look.sh
