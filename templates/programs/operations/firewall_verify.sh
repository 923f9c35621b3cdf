#!/bin/sh
# Whether the rules that run are those of the firewall's file, and none without it. A network namespace of its own says
# what the file makes.

rules=/etc/sparkrig/firewall.nft
if [ -e $rules ]; then
  # shellcheck disable=SC2016
  wanted=$(unshare -n sh -c 'nft -f "$1" && nft -s list table inet sparkrig' sparkrig $rules) || exit 1
  if [ "$wanted" != "$(nft -s list table inet sparkrig 2>/dev/null)" ]; then
    echo "the rules that run are not those of $rules" >&2
    exit 1
  fi
elif nft list table inet sparkrig >/dev/null 2>&1; then
  echo "the rules of sparkrig's firewall still run" >&2
  exit 1
fi
