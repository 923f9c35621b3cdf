#!/bin/sh
# Has systemd do what the unit of the cap says: it is set now and at each start, or lifted once the unit is gone. Fails
# where nvidia-smi does not take it, or shows a clock above it.

unit=sparkrig-gpu-clock.service
file=/etc/systemd/system/$unit
link=/etc/systemd/system/multi-user.target.wants/$unit
systemctl daemon-reload
if [ -e "$file" ]; then
  cap=$(sed -n 's/^# \([0-9]*\) MHz$/\1/p' "$file")
  most=$(timeout -k 2 60 nvidia-smi --query-gpu=clocks.max.sm --format=csv,noheader,nounits)
  case $most in '' | *[!0-9]*) ;; *)
    if [ "$cap" -gt "$most" ]; then
      echo "gpu_clock_max is $cap, and nvidia-smi lists $most MHz as the most; try: nvidia-smi -q -d CLOCK" >&2
      exit 1
    fi
    ;;
  esac
  systemctl --quiet enable "$unit"
  if ! systemctl restart "$unit"; then
    echo "nvidia-smi does not take a cap of $cap MHz; try: journalctl -u $unit" >&2
    exit 1
  fi
  now=$(timeout -k 2 60 nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits)
  case $now in '' | *[!0-9]*) ;; *)
    if [ "$now" -gt $((cap + 15)) ]; then # the clock moves in steps of 15
      echo "the SM clock is $now MHz under a cap of $cap; try: nvidia-smi -q -d CLOCK" >&2
      exit 1
    fi
    ;;
  esac
else
  systemctl stop "$unit" 2>/dev/null || :
  # systemd has forgotten the unit with its file, and with it what is due as it stops
  timeout -k 2 60 nvidia-smi -rgc >/dev/null || :
  rm -rf "$link" /run/sparkrig-gpu-clock
  systemctl daemon-reload
fi
