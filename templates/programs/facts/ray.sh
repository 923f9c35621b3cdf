#!/bin/sh
# What sparkrig/resources/ray.py reads: the unit of this host's node of Ray, its container, whether the declared image is
# there and the token is the one that the container was started with, and on the head what Ray says of nodes, memory, placement groups and jobs, each as one line of JSON.

. ./ray_ask.sh

[ -f "$ray_unit" ] || [ -d /sys/fs/cgroup/system.slice/sparkrig-ray.service ] || exit 0
systemctl show -p ActiveState,UnitFileState,NRestarts sparkrig-ray.service | sed 's/^/unit /'
[ -f "$ray_unit" ] || exit 0
timeout -k 2 20 docker image inspect -f 'image {{.Id}}' "$(ray_told Image)" 2>/dev/null | grep .
timeout -k 2 20 docker container inspect -f 'container {{.Image}}' sparkrig-ray 2>/dev/null | grep .
runs=$(timeout -k 2 20 docker container inspect -f '{{range .Config.Env}}{{println .}}{{end}}' sparkrig-ray 2>/dev/null |
  sed -n 's/^RAY_AUTH_TOKEN=//p')
if [ -n "$runs" ] && [ "$runs" != "$(ray_token)" ]; then echo 'token stale'; fi
[ -n "$(ray_told Dashboard)" ] || exit 0
for row in version:/api/version "nodes:/api/v0/nodes?limit=64&detail=1&$ray_alive" usage:/api/cluster_status \
  'groups:/api/v0/placement_groups?limit=64&filter_keys=state&filter_predicates=%21%3D&filter_values=REMOVED' 'jobs:/api/v0/jobs?limit=256'; do
  told=$(ray_asks "${row#*:}")
  [ -n "$told" ] || break # it does not answer
  printf '%s %s\n' "${row%%:*}" "$told"
done
exit 0
