"""The files that a deploy leaves on a host: hosts have them, and runs of before are undone, so paths stay."""

from __future__ import annotations

from sparkrig.runs import lock
from sparkrig.runs.managed_files import WRITTEN

PATHS = """
/etc/NetworkManager/dispatcher.d/90-sparkrig-gid
/etc/apt/apt.conf.d/52sparkrig-nvidia
/etc/apt/keyrings/sparkrig-nvidia-container-toolkit.gpg
/etc/apt/preferences.d/00-sparkrig-nvidia.pref
/etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources
/etc/chrony/sources.d/sparkrig.sources
/etc/docker/daemon.json
/etc/nccl.conf
/etc/sparkrig/container.env
/etc/sparkrig/known_hosts
/etc/sparkrig/rails.json
/etc/sparkrig/secrets.env
/etc/sparkrig/serve/serve.env
/etc/sparkrig/serve/serve.json
/etc/ssh/ssh_config.d/60-sparkrig.conf
/etc/systemd/system/sparkrig-blackbox.service
/etc/systemd/system/sparkrig-serve-memory.service
/etc/systemd/system/sparkrig-serve-port.service
/etc/systemd/system/sparkrig-serve-port.socket
/etc/systemd/system/sparkrig-serve-watch.service
/etc/systemd/system/sparkrig-serve.service
/etc/systemd/timesyncd.conf.d/60-sparkrig.conf
/usr/local/lib/sparkrig/blackbox.py
/usr/local/lib/sparkrig/gid.py
/usr/local/lib/sparkrig/metrics.py
/usr/local/lib/sparkrig/node-exporter
/usr/local/lib/sparkrig/refresh_gid.py
/usr/local/lib/sparkrig/serve/brake.sh
/usr/local/lib/sparkrig/serve/memory.sh
/usr/local/lib/sparkrig/serve/start.sh
/usr/local/lib/sparkrig/serve/steps.py
/usr/local/lib/sparkrig/serve/watch.py
/var/lib/sparkrig/bandwidth.json
/var/lib/sparkrig/declared.json
"""


def test_the_files_on_hosts_stay_where_they_are() -> None:
    assert {*PATHS.split()} <= {*WRITTEN}
    assert (lock.FOLDER, lock.RUNS) == ("/run/sparkrig", "/var/lib/sparkrig/runs")
