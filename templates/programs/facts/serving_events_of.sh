#!/bin/sh
# events_of FILE: what the watch of a server did (templates/serving/watch.py), a row each


events_of() {
  [ ! -f "$1" ] || head -c 4096 "$1" | LC_ALL=C tr -cd '\12\40-\176' | sed 's/^/event /'
}
