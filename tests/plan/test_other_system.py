"""The verbs with what only Linux has taken away: the answer is the same.

No Mac was at hand. What is missing on macOS is taken from the modules before the verb is loaded; /proc and /sys
cannot be opened; and of other programs only those start that macOS has, too. None of the names stands in mypy's
stubs for macOS, but three of fcntl's, which are taken, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan import fleet
from tests.plan.desk import write
from tests.unit.sshd import free_ports

pytestmark = pytest.mark.slow  # each verb twice, in a process of its own

WITHOUT = '''
import fcntl, os, resource, select, signal, socket, subprocess, sys, sysconfig, time

import gevent.monkey, gevent.socket, gevent.subprocess  # which is built for its system: here for this one

sysconfig.get_config_vars()  # of the Python that runs here, under the name that it has

NOT_ON_MACOS = {
    os: """O_PATH O_TMPFILE O_DIRECT O_NOATIME O_LARGEFILE O_RSYNC copy_file_range eventfd fdatasync getresgid
        getresuid getxattr listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate removexattr
        sched_getaffinity sched_setaffinity setns setresgid setresuid setxattr splice unshare""",
    socket: """AF_ALG AF_NETLINK AF_PACKET AF_VSOCK SO_BINDTODEVICE SO_DOMAIN SO_MARK SO_PEERCRED SO_PROTOCOL
        SOCK_CLOEXEC SOCK_NONBLOCK TCP_CONGESTION TCP_CORK TCP_DEFER_ACCEPT TCP_KEEPIDLE TCP_LINGER2 TCP_QUICKACK
        TCP_SYNCNT TCP_USER_TIMEOUT TCP_WINDOW_CLAMP""",
    select: "epoll EPOLLIN EPOLLOUT EPOLLERR EPOLLHUP",
    signal: "SIGPWR SIGSTKFLT SIGRTMIN SIGRTMAX pidfd_send_signal sigtimedwait sigwaitinfo",
    resource: "prlimit RLIMIT_SIGPENDING RLIMIT_MSGQUEUE RLIMIT_RTPRIO",
    time: "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid",
    fcntl: "F_GETPIPE_SZ F_SETPIPE_SZ F_OFD_SETLK F_OFD_GETLK F_ADD_SEALS F_NOTIFY F_SETLEASE F_SETSIG",
}
for module, names in NOT_ON_MACOS.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

def judge(event, given):
    if event == "open" and str(given[0]).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", given[0])
    if event == "subprocess.Popen" and os.path.basename(os.fsdecode(given[0])) not in PROGRAMS:
        raise FileNotFoundError(2, "No such file or directory", given[0])

PROGRAMS = {"ssh", "ssh-keygen", "git", os.path.basename(sys.executable), "pyinfra", "sparkrig"}
sys.addaudithook(judge)
sys.platform = "darwin"
'''
SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
VERBS = [
    *(["doctor"], ["drift"], ["plan"], ["status"], ["topology"], ["bandwidth"], ["undo", "--yes"]),
    *(["apply", "--yes"], ["unlock", "--yes"], ["startup"], ["support", "--yes"], ["storage"]),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an inventory of a pair that refuses connections, and Python as it is on another system."""
    folder = tmp_path_factory.mktemp("other")
    login = {"ssh_hostname": "127.0.0.1", "ssh_user": "nvidia", "ssh_known_hosts_file": str(folder / "known")}
    names = zip(fleet.names(2), free_ports(2), strict=True)
    write(folder, [(name, {**fleet.settings(0, at), **login, "ssh_port": port}) for (name, _, at), port in names])
    (folder / "other").mkdir()
    (folder / "other" / "sitecustomize.py").write_text(WITHOUT)
    return folder


def typed(place: Path, words: list[str], *, other: bool) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SPARKRIG_WAIT_S": "0", "NO_COLOR": "1", "XDG_STATE_HOME": str(place / f"state-{other}")}
    env |= {"PYTHONPATH": str(place / "other")} if other else {}
    desk = place / ("there" if other else "here")
    desk.mkdir(exist_ok=True)
    return subprocess.run(
        words, cwd=desk, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )


def test_it_is_taken_away(place: Path) -> None:
    tried = (
        "import os, socket, sys; print(sys.platform, hasattr(socket, 'TCP_USER_TIMEOUT'), os.path.exists('/proc'))"
    )
    assert typed(place, [sys.executable, "-c", tried], other=True).stdout.split() == ["darwin", "False", "True"]
    read = typed(place, [sys.executable, "-c", "open('/proc/self/stat')"], other=True)
    assert "FileNotFoundError" in read.stderr
    started = typed(place, [sys.executable, "-c", "import subprocess; subprocess.run(['findmnt'])"], other=True)
    assert "FileNotFoundError" in started.stderr


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_a_verb_answers_as_on_linux(place: Path, words: list[str]) -> None:
    verb, *options = words
    here, there = (
        typed(place, [SPARKRIG, verb, str(place / "sparks.py"), *options], other=other) for other in (False, True)
    )
    assert "Traceback" not in there.stderr, there.stderr
    assert there.returncode == here.returncode
    assert len(there.stdout.splitlines()) == len(here.stdout.splitlines())
