#!/bin/sh
# What sparkrig/resources/containers.py reads: docker with its runtimes, the toolkit, and where it comes from.

. ./packages.sh
. ./docker_about.sh
if command -v docker >/dev/null; then
  printf 'docker\n'
  if [ -n "$docker_stopped" ]; then
    printf 'trouble docker is %s\n' "$docker_stopped"
  elif case $docker_about in '' | *'"runtimes":null'*) false ;; esac; then
    printf 'info %s\n' "{${docker_about#*{}"
  else
    printf 'trouble %s\n' "$(timeout -k 2 60 docker info 2>&1 >/dev/null | tail -n 1)"
  fi
fi
if [ -f /run/docker.pid ] && read -r pid </run/docker.pid 2>/dev/null; [ -n "${pid:-}" ] &&
  grep -qsz '^\(--add-runtime=\)\{0,1\}nvidia=' "/proc/$pid/cmdline"; then printf 'flag\n'; fi
if [ -f /etc/docker/daemon.json ]; then printf 'daemon %s\n' "$(base64 -w0 /etc/docker/daemon.json)"; fi
toolkit=
of_toolkit() { case "$1 $4" in 'installed nvidia-container-toolkit') toolkit=$6 ;; esac; }
each_package of_toolkit
printf 'toolkit %s\n' "$toolkit"
# apt reads no file with other characters in its name (sources.list(5)), and here none that is no file
set --
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  case ${f##*/} in *[!A-Za-z0-9_.-]*) continue ;; esac
  if [ -f "$f" ]; then set -- "$@" "$f"; fi
done
if [ $# -gt 0 ]; then
  # shellcheck disable=SC2046 # their names are words
  set -- $(LC_ALL=C grep -lsE '^[^#]*(libnvidia-container|nvidia-container-toolkit)' "$@")
fi
if [ $# -gt 0 ]; then
  # shellcheck disable=SC2013 # words, as said
  for f in $(grep -Lsi '^Enabled: *no' "$@"); do printf 'source %s\n' "$f"; done
fi
