#!/bin/sh
# Both calls take less than a look at a host may (sparkrig.fabric.io.survey), or a GPU that hangs would hide its host.
# Of -q only these lines are printed: the rest holds serial number and UUID. T.Limit is read there, because a
# driver that does not know its field of --query-gpu answers no other field either.

fields=name,pci.bus_id,driver_version,utilization.gpu,pstate,clocks.sm,clocks.max.sm,power.draw,temperature.gpu,memory.total,memory.used,clocks_event_reasons.active,compute_cap missing='nvidia-smi is not installed'

if ! command -v nvidia-smi >/dev/null; then
  printf 'trouble %s\n' "$missing"
else
  told=$(timeout -k 2 20 nvidia-smi --query-gpu="$fields" --format=csv 2>&1); status=$?
  case $status in
    0)
      printf '%s\n' "$told" | sed 's/^/csv /'
      timeout -k 2 20 nvidia-smi -q 2>/dev/null |
        sed -n 's/^ *GSP Firmware Version *: */gsp /p; s/^ *GPU T\.Limit Temp *: */margin /p'
      ;;
    124 | 137) printf 'trouble nvidia-smi did not answer in 20 s\n' ;;
    *) printf '%s\n' "${told:-nvidia-smi ended with exit $status}" | sed '/./!d; s/^/trouble /' ;;
  esac
fi
