#!/bin/sh
# A question to a stopped engine starts it where docker.socket listens, so a stopped one is not asked.


if command -v docker >/dev/null; then
  printf 'docker\n'
  { read -r load; read -r active; } <<EOF
$(systemctl show -p LoadState,ActiveState --value docker.service 2>/dev/null)
EOF
  form='{"runtimes":{{json .Runtimes}},"running":{{json .ContainersRunning}},"paused":{{json .ContainersPaused}}}'
  if case "$load $active " in 'loaded inactive '* | 'loaded failed '* | 'masked '*) true ;; *) false ;; esac; then
    printf 'trouble docker.service is %s\n' "$load $active"
  elif info=$(timeout -k 2 60 docker info --format "$form" 2>/dev/null) &&
    case $info in *'"runtimes":null'*) false ;; esac; then
    printf 'info %s\n' "$info"
  else
    printf 'trouble %s\n' "$(timeout -k 2 60 docker info 2>&1 >/dev/null | tail -n 1)"
  fi
fi
if [ -f /run/docker.pid ] && read -r pid </run/docker.pid 2>/dev/null; [ -n "${pid:-}" ] &&
  grep -qsz '^\(--add-runtime=\)\{0,1\}nvidia=' "/proc/$pid/cmdline"; then printf 'flag\n'; fi
if [ -f /etc/docker/daemon.json ]; then printf 'daemon %s\n' "$(base64 -w0 /etc/docker/daemon.json)"; fi
toolkit=$(dpkg-query -W -f='${db:Status-Status} ${Version}' nvidia-container-toolkit 2>/dev/null)
case $toolkit in 'installed '*) toolkit=${toolkit#* } ;; *) toolkit= ;; esac
printf 'toolkit %s\n' "$toolkit"
# apt reads no file with other characters in its name (sources.list(5)); no name holds a slash
LC_ALL=C grep -lsZE -D skip '^[^#]*(libnvidia-container|nvidia-container-toolkit)' \
  /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources | tr '\n\0' '/\n' |
  while IFS= read -r f; do
    case ${f#/etc/apt/sources.list.d/} in /etc/apt/sources.list) ;; *[!A-Za-z0-9_.-]*) continue ;; esac
    grep -qi '^Enabled: *no' "$f" || printf 'source %s\n' "$f"
  done
