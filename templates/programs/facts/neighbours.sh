#!/bin/sh
# What facts/neighbours.py reads: sends and listens for some seconds, on all hosts of a run at once; needs root.


if command -v python3 >/dev/null; then
  timeout -k 2 %(limit)g python3 -I - %(seconds)g <<'SPARKRIG_PROBE'
%(program)sSPARKRIG_PROBE
else
  printf 'trouble python3 is not installed\n'
fi
