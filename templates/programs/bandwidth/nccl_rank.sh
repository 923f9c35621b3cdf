#!/bin/sh
# $@ the words of a rank (sparkrig/bandwidth/nccl.py). NCCL and PyTorch write to both outputs; the exit status is
# evidence of its own.

"$@" 2>&1
printf '\nsparkrig-nccl exit %s\n' $?
