#!/bin/sh
# Sets $docker_about to what docker tells of itself, unless a look has done so for all that it asks: its folder, what
# drives its store, and JSON. A question to a stopped engine starts it where docker.socket listens, so a stopped one is
# not asked: $docker_stopped has its state.

# shellcheck disable=SC2034 # they are for the caller
. ./units.sh
if [ -z "${docker_about+set}" ]; then
  docker_about='' docker_stopped=''
  form='{{.DockerRootDir}} {{.DriverStatus}} '
  form="$form"'{"runtimes":{{json .Runtimes}},"running":{{json .ContainersRunning}},"paused":{{json .ContainersPaused}}}'
  case "$docker_load $docker_active " in
  'loaded inactive '* | 'loaded failed '* | 'masked '*) docker_stopped="$docker_load $docker_active" ;;
  *)
    if command -v docker >/dev/null; then
      docker_about=$(timeout -k 2 60 docker info --format "$form" 2>/dev/null) || docker_about=''
    fi
    ;;
  esac
fi
