#!/bin/sh
# Puts `$option NAME` before "$@" for each proxy that is set. A login has them from /etc/environment; a service has
# none of them, and a container nothing of its client's. By name, and only those that are set: others would hide
# what docker's config.json sets.

# shellcheck disable=SC2154 # $option; systemd, which runs some of these, would fill in a form with braces
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  if printenv $name >/dev/null; then set -- "$option" $name "$@"; fi
done
