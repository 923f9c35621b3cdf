"""The floor: floor.py HOSTS LOOK, in the environment of the benchmark's own tools.

One process that runs the script LOOK on every host of HOSTS (Ansible's inventory) at once, and does nothing with
what they print. Where a host does not run it the exit code is 1, and the error names the host.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path

import asyncssh


def main(inventory: Path, look: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    hosts = json.loads(inventory.read_text())["sparks"]["hosts"]
    failed = asyncio.run(on_all(hosts, look.read_bytes()))
    for name, error in failed.items():
        print(f"{name}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


async def on_all(hosts: dict, script: bytes) -> dict:
    """Why the script failed, by host."""
    keys = {file: asyncssh.read_private_key(file) for file in {each["ssh_key"] for each in hosts.values()}}
    known = {
        file: asyncssh.read_known_hosts(file) for file in {each["ssh_known_hosts_file"] for each in hosts.values()}
    }
    asked = (on_one(each, keys, known, script) for each in hosts.values())
    answers = await asyncio.gather(*asked, return_exceptions=True)
    return {name: answer for name, answer in zip(hosts, answers, strict=True) if isinstance(answer, Exception)}


async def on_one(host: dict, keys: dict, known: dict, script: bytes) -> None:
    options = asyncssh.SSHClientConnectionOptions(
        username=host["ssh_user"],
        client_keys=[keys[host["ssh_key"]]],
        known_hosts=known[host["ssh_known_hosts_file"]],
        config=None,
        agent_path=None,
        preferred_auth="publickey",
        compression_algs=None,
    )
    shell = "sudo sh -s" if host.get("_sudo") else "sh -s"
    async with asyncssh.connect(host["ssh_hostname"], host["ssh_port"], options=options) as at:
        await at.run(shell, input=script, encoding=None, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
