#!/bin/sh
# What nvidia-smi prints of the GPU.

. ./run.sh
run nvidia-smi; run nvidia-smi -L; run nvidia-smi -q
run nvidia-smi --query-gpu=name,driver_version,pstate,temperature.gpu,power.draw,clocks.sm --format=csv
