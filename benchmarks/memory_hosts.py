"""Hosts that answer from memory: memory_hosts.py FOLDER COUNT, in the environment of the benchmark's own tools.

One process is the SSH server of them all, each at an address of loopback of its own. FOLDER holds `host` (their
key), `user.pub` (who may log in) and `answers/0`, `answers/1`, ...: what that host prints, whatever it is asked,
with the clock of now. Once all listen it prints the address and port of each, one a line. It ends with its
standard input.
"""

import asyncio
import re
import resource
import socket
import sys
import time
from pathlib import Path

import asyncssh

_BACKLOG = 128
_CLOCK = re.compile(rb"^clock .*$", re.MULTILINE)


def main(folder: Path, count: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # each host listens, and has a connection
    asyncio.run(serve(folder, count))


async def serve(folder: Path, count: int) -> None:
    answers = {}

    async def answer(process: asyncssh.SSHServerProcess) -> None:
        await (
            process.stdin.read()
        )  # the script, where it comes that way: a client that still sends it is no broken one
        said = answers[process.get_extra_info("sockname")]
        process.stdout.write(_CLOCK.sub(b"clock %.6f" % time.time(), said, count=1))
        process.exit(0)

    options = asyncssh.SSHServerConnectionOptions(
        server_host_keys=[str(folder / "host")],
        authorized_client_keys=str(folder / "user.pub"),
        process_factory=answer,
        encoding=None,
        compression_algs=None,
    )
    for number in range(count):
        sock = socket.create_server((f"127.1.{number // 250}.{number % 250 + 1}", 0), backlog=_BACKLOG)
        answers[sock.getsockname()] = (folder / "answers" / str(number)).read_bytes()
        await asyncssh.listen(sock=sock, options=options)
    for address, port in answers:
        print(address, port)
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
