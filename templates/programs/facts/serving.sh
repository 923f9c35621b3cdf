#!/bin/sh
# What facts/serving.py reads: all of it. weights: the folder that the settings name, empty for the one of a
# host that serves.

. ./serving_look.sh
