"""What a settled pair holds, read from one that our deploy has made: the other contenders reach the same state."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from typing import Any

from benchmarks.shell import Ssh
from sparkrig import files
from sparkrig.fleet import Fleet
from sparkrig.network.environment import CONTAINER_ENV, NCCL_CONF
from sparkrig.runs.managed_files import OWNED

# the journal's and the measurement's own; and the toolkit's source, which is where the others want it
_OWN = ("/var/lib/sparkrig/", "/etc/apt/sources.list.d/")
_READ = r"""
for f; do [ ! -f "$f" ] || printf '%s %s %s\n' "$f" "$(stat -c '%a %U:%G' "$f")" "$(base64 -w0 "$f")"; done
"""


def host_vars(name: str, fleet: Fleet, data: Mapping[str, Any], ssh: Ssh) -> dict[str, Any]:
    """The variables of one host, for Ansible's inventory and stock pyinfra's: login, files, rails.

    name: a host that deploys/cluster.py has settled; data: its inventory data.
    """
    rails = fleet.rails(name)
    profiles = {
        rail.netdev: f"/etc/NetworkManager/system-connections/sparkrig-{rail.netdev}.nmconnection"
        for rail in rails
    }
    found = _files(ssh, name, [*(path for path in OWNED if not path.startswith(_OWN)), *profiles.values()])
    with_index = [_tokens(found.pop(path)) for path in (NCCL_CONF, CONTAINER_ENV)]
    fabric = {
        rail.netdev: {
            "address": str(rail.address.ip),
            "peer": str(rail.far.address.ip),
            "profile": found.pop(profiles[rail.netdev])["content"],
        }
        for rail in rails
    }
    key = ssh.output(name, f"sudo cat {shlex.quote(data['toolkit_key_url'].removeprefix('file://'))}")
    leading = min(fleet.group(name))
    return {
        **login(data),
        "fabric": fabric,
        "files": list(found.values()),
        "files_with_index": with_index,
        "toolkit_url": data["toolkit_url"],
        "toolkit_key_url": data["toolkit_key_url"],
        "toolkit_key_sha256": hashlib.sha256(key.encode()).hexdigest(),
        "seconds": fleet[name].bandwidth_seconds,
        "leading": leading,
        "leads": name == leading,
    }


def login(data: Mapping[str, Any]) -> dict[str, Any]:
    """pyinfra's words for how to get in, and Ansible's for the same."""
    known = data["ssh_known_hosts_file"]
    words = {
        "ansible_host": data["ssh_hostname"],
        "ansible_port": data["ssh_port"],
        "ansible_user": data["ssh_user"],
        "ansible_ssh_private_key_file": str(data["ssh_key"]),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes",
        "ansible_python_interpreter": "/usr/bin/python3",
        "become_root": bool(data["_sudo"]),
    }
    ours = {
        key: value if isinstance(value, (int, bool)) else str(value)
        for key, value in data.items()
        if _logs_in(key)
    }
    return {**words, **ours}


def _logs_in(key: str) -> bool:
    return key == "_sudo" or (key.startswith("ssh_") and not key.startswith(("ssh_paramiko", "ssh_connect")))


def _files(ssh: Ssh, name: str, paths: list[str]) -> dict[str, dict[str, str]]:
    said = ssh.output(name, f"sudo sh -c {shlex.quote(_READ)} sh {shlex.join(paths)}")
    found = files.parse(said.splitlines())
    return {path: {"path": path, "mode": file.mode, "content": file.content} for path, file in found.items()}


def _tokens(file: dict[str, str]) -> dict[str, str]:
    """The file with what is only known on the host (devices and index) left to be filled in."""
    lines = []
    for line in file["content"].splitlines(keepends=True):
        name, _, _ = line.partition("=")
        token = {"NCCL_IB_HCA": "@DEVICES@", "NCCL_IB_GID_INDEX": "@INDEX@"}.get(name)
        lines.append(f"{name}={token}\n" if token else line)
    return {**file, "content": "".join(lines)}


def dump(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """An inventory that both Ansible and stock.py's inventory read."""
    return json.dumps({"sparks": {"hosts": hosts}}, indent=1)
