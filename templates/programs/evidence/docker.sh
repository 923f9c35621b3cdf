#!/bin/sh
# How containers run. Of a stopped docker nothing is asked: that would start it. `docker info` as a whole names
# mirrors, proxies with their logins, labels, the swarm and the host [@moby-26115]; `docker version` the context;
# `docker ps` how a command line begins.

. ./run.sh
VERSION='client {{.Client.Version}} server {{.Server.Version}} api {{.Server.APIVersion}} {{.Server.Arch}}'
# shellcheck disable=SC2016 # $name is docker's
INFO='Server Version: {{.ServerVersion}}
Storage Driver: {{.Driver}}
Logging Driver: {{.LoggingDriver}}
Cgroup Driver: {{.CgroupDriver}}
Cgroup Version: {{.CgroupVersion}}
Swarm: {{.Swarm.LocalNodeState}}
Runtimes:{{range $name, $_ := .Runtimes}} {{$name}}{{end}}
Default Runtime: {{.DefaultRuntime}}
Security Options:{{range .SecurityOptions}} {{.}}{{end}}
Kernel Version: {{.KernelVersion}}
Architecture: {{.Architecture}}
CPUs: {{.NCPU}}
Total Memory: {{.MemTotal}}
Containers: {{.Containers}} running {{.ContainersRunning}} stopped {{.ContainersStopped}} images {{.Images}}
Docker Root Dir: {{.DockerRootDir}}
Live Restore Enabled: {{.LiveRestoreEnabled}}'
CONTAINERS='{{.Image}}	{{.Status}}	{{.Names}}	{{.Ports}}'
IMAGES='{{.Repository}}	{{.Tag}}	{{.ID}}	{{.CreatedSince}}	{{.Size}}'
if systemctl -q is-active docker; then
  run docker version --format "$VERSION"; run docker info --format "$INFO"
  run docker ps -a --format "$CONTAINERS"; run docker images --format "$IMAGES"
else run systemctl is-active docker
fi
