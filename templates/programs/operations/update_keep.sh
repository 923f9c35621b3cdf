#!/bin/sh
# Before another kernel is installed: the one that runs becomes GRUB's default, by its id

. ./update_grub.sh

one_shot && keep_default "$(uname -r)"
