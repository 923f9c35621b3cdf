#!/bin/sh
# Sets $manager_load and $manager_active to the states of NetworkManager's unit, $docker_load and $docker_active to
# those of docker's, unless a look has done so for all that it asks. They are told apart by their order, for a unit
# may have another name besides. docker does not start without its socket, so a socket that is masked masks it.

# shellcheck disable=SC2034 # they are for the caller
if [ -z "${manager_load+set}" ]; then
  manager_load='' manager_active='' docker_load='' docker_active='' unit=''
  ifs=$IFS IFS='
'
  for row in $(systemctl show -p Id,LoadState,ActiveState NetworkManager.service docker.service \
    docker.socket 2>/dev/null); do
    case $unit$row in
    Id=*) unit=manager ;;
    managerId=*) unit=docker ;;
    managerLoadState=*) manager_load=${row#*=} ;;
    managerActiveState=*) manager_active=${row#*=} ;;
    dockerLoadState=*) docker_load=${row#*=} ;;
    dockerActiveState=*) docker_active=${row#*=} ;;
    dockerId=*) unit=socket ;;
    socketLoadState=masked) docker_load=masked ;;
    esac
  done
  IFS=$ifs
fi
