"""Why a host could not be read, said by the command itself: a real SSH server that goes wrong in each way."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import paramiko
import pytest
from paramiko import common

from tests import warm
from tests.looks import whole

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
RUNS = "now 1795230000\n\n#sparkrig:end runs 0\n"
LOOK = Path(__file__).resolve().parents[2] / "fixtures" / "spark" / "converged-a.txt"
RECORDED = RUNS + whole(LOOK.read_text())
KEY, OTHER = paramiko.ECDSAKey.generate(), paramiko.ECDSAKey.generate()

Exec = Callable[[paramiko.Channel], None]


def prints(out: str = "", err: str = "", status: int = 0) -> Exec:
    def answer(channel: paramiko.Channel) -> None:
        channel.sendall(out.encode())
        channel.sendall_stderr(err.encode())
        channel.send_exit_status(status)

    return answer


def hangs_up(channel: paramiko.Channel) -> None:
    channel.get_transport().close()


@dataclass
class Spark(paramiko.ServerInterface):
    """A host that lets everybody in, or nobody, and gives the one look this answer.

    booting: it hangs up in the middle of a login that is good, as pam_nologin has it.
    """

    answer: Exec
    friendly: bool = True
    booting: bool = False
    hang_up: Callable[[], None] = lambda: None

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        if self.booting:
            self.hang_up()
        return int(common.AUTH_SUCCESSFUL if self.friendly else common.AUTH_FAILED)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return int(common.OPEN_SUCCEEDED)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._run, args=(channel,), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel) -> None:
        channel.recv(1)  # the client ends its input once it knows that the command runs
        self.answer(channel)
        channel.close()


def serve(listener: socket.socket, spark: Spark) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        transport = paramiko.Transport(connection)
        transport.add_server_key(KEY)
        spark.hang_up = transport.close
        transport.start_server(event=threading.Event(), server=spark)


ANSWERS: dict[str, Spark] = {
    "well": Spark(prints(RECORDED)),
    "host key unknown": Spark(prints(RECORDED)),
    "host key changed": Spark(prints(RECORDED)),
    "user unknown": Spark(prints(RECORDED), friendly=False),
    "sudo asks": Spark(prints(err="sudo: a password is required\n", status=1)),
    "sudo refuses": Spark(prints(err="sudo: unknown user root\n", status=1)),
    "noun fails": Spark(prints(f"{RUNS}vendor\n#sparkrig:end identity 3\n")),
    "noun is nonsense": Spark(
        prints(RECORDED.replace("#sparkrig:end files", "what is this row\n#sparkrig:end files"))
    ),
    "says nothing": Spark(prints()),
    "hangs up": Spark(hangs_up),
}
REASONS = {
    "host key unknown": r"Its host key is not known here, and is not taken unseen\. "
    r"Try: ssh -o StrictHostKeyChecking=ask -o .+ -p \d+ nvidia@127\.0\.0\.1 true; .*",
    "host key changed": r"Its host key is not the one that is known here; .*: ssh-keygen -f .+ "
    r"-R '\[127\.0\.0\.1\]:\d+'; ssh .*",
    "user unknown": r"Authentication error \(username=nvidia, key=\S+\) \(Authentication failed.\)",
    "sudo asks": "sudo asks for a password, and is expected to work without one",
    "sudo refuses": "sudo: unknown user root",
    "noun fails": r"identity: could not be read \(exit 3\)",
    "noun is nonsense": r"files: cannot be understood \(.+\)",
    "says nothing": r"runs: could not be read \(no answer in time, or the connection broke off\)",
    "hangs up": r"it ended without a word after \d+ s; the connection may have broken off",
    "refused": r"Could not connect \(127.0.0.1 port 9: .*Connection refused\)",
    "no key": "No such private key file: /no/such/key",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What one look at all of them says, as JSON."""
    folder = tmp_path_factory.mktemp("hosts")
    key = folder / "key"
    OTHER.write_private_key_file(str(key))
    data: dict[str, Any] = {"ssh_hostname": "127.0.0.1", "ssh_user": "nvidia", "ssh_key": str(key), "_sudo": True}
    hosts = {"refused": {**data, "ssh_port": 9}, "no key": {**data, "ssh_port": 19, "ssh_key": "/no/such/key"}}
    listeners = []
    for name, spark in ANSWERS.items():
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, spark), daemon=True).start()
        port, known = listener.getsockname()[1], folder / name
        shows = {"host key unknown": None, "host key changed": OTHER}.get(name, KEY)
        known.write_text(f"[127.0.0.1]:{port} {shows.get_name()} {shows.get_base64()}\n" if shows else "")
        strict = {"ssh_known_hosts_file": str(known), "ssh_strict_host_key_checking": "yes"}
        hosts[name] = {**data, **strict, "ssh_port": port}
    file = folder / "sparks.py"
    file.write_text(f"sparks = {list(hosts.items())!r}\n")
    never, held_open = os.pipe()  # whoever asks waits for ever
    try:
        done = subprocess.run(
            [SPARKRIG, "status", "--json", str(file)],
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SPARKRIG_WAIT_S": "0"},
            stdin=never,
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 3 and done.stderr.startswith("Try: sparkrig doctor ")
        yield json.loads(done.stdout)["hosts"]
    finally:
        os.close(never)
        os.close(held_open)
        for listener in listeners:
            listener.close()


@pytest.mark.slow
@pytest.mark.parametrize("host", REASONS)
def test_the_reason_is_one_sentence(shown: dict[str, Any], host: str) -> None:
    assert set(shown) == {*ANSWERS, *REASONS}
    assert re.fullmatch(REASONS[host], shown[host].get("unread") or shown[host]["state"]["unread"])


# the command as it is, but for the pause between two tries, and the time after which it says what it is at
HASTY = """
import sys
from sparkrig.ssh import session  # first, since it patches what all others import
from sparkrig.terminal import progress
from sparkrig.cli.main import main
session._PAUSE_S, progress.WORTH_S, progress._TICK_S = 0.2, 0.3, 0.05
sys.argv[0] = "sparkrig"
main()
"""


@pytest.mark.slow  # waits for a host
@pytest.mark.parametrize("why", ["connection refused", "it takes no logins"])
def test_a_host_that_comes_back_is_waited_for(tmp_path: Path, why: str) -> None:
    key, known, file = (tmp_path / name for name in ("key", "known", "sparks.py"))
    OTHER.write_private_key_file(str(key))
    spark = Spark(prints(RECORDED), booting=True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # refuses, until it listens
        port = listener.getsockname()[1]
        known.write_text(f"[127.0.0.1]:{port} {KEY.get_name()} {KEY.get_base64()}\n")
        data = {"ssh_hostname": "127.0.0.1", "ssh_port": port, "ssh_user": "nvidia", "ssh_key": str(key)}
        strict = {"ssh_known_hosts_file": str(known), "ssh_strict_host_key_checking": "yes"}
        file.write_text(f"sparks = {[('spark-a', {**data, **strict})]!r}\n")
        serving = threading.Thread(target=serve, args=(listener, spark), daemon=True)
        if why != "connection refused":
            listener.listen()
            serving.start()
        looking = subprocess.Popen(
            [sys.executable, "-c", HASTY, "status", "--json", str(file)],
            env={**os.environ, "SPARKRIG_WAIT_S": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert looking.stderr
        assert re.fullmatch(
            rf"spark-a: may be rebooting \({why}\); (90|[78]\d) s left\n",
            next(line for line in looking.stderr if "connecting" not in line),
        )
        spark.booting = False
        if why == "connection refused":
            listener.listen()
            serving.start()
        out, _ = looking.communicate(timeout=60)
    assert looking.returncode == 0
    assert json.loads(out)["hosts"]["spark-a"]["state"]["spark"]["dgx_os"] == "7.5.0"


@pytest.mark.slow  # waits for a host
def test_ctrl_c_ends_the_waiting_with_one_word(tmp_path: Path) -> None:
    file = tmp_path / "sparks.py"
    file.write_text("sparks = [('spark-a', {'ssh_hostname': '127.0.0.1', 'ssh_port': 9, 'ssh_user': 'nobody'})]\n")
    looking = subprocess.Popen(
        [sys.executable, "-c", HASTY, "status", str(file)],
        env={**os.environ, "SPARKRIG_WAIT_S": ""},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert looking.stderr
    assert "may be rebooting" in next(line for line in looking.stderr if "connecting" not in line)
    looking.send_signal(signal.SIGINT)
    out, said = looking.communicate(timeout=60)
    assert (looking.returncode, out, said.split()) == (1, "", ["Aborted!"])


def test_the_others_are_shown_whole(shown: dict[str, Any]) -> None:
    assert shown["well"]["state"]["spark"]["dgx_os"] == "7.5.0"


@pytest.mark.slow  # waits for a host
@pytest.mark.parametrize(
    ("shows", "words"),
    [
        (None, "[spark] Its host key is not known here, and is not taken unseen. Try: ssh "),
        (OTHER, "[spark] Its host key is not the one that is known here; a factory re-install makes a new one"),
    ],
    ids=["unknown", "changed"],
)
def test_a_deploy_says_what_to_do_about_a_host_key(
    tmp_path: Path, shows: paramiko.ECDSAKey | None, words: str
) -> None:
    known, key = tmp_path / "known", tmp_path / "key"
    OTHER.write_private_key_file(str(key))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener, Spark(prints(RECORDED))), daemon=True).start()
        port = listener.getsockname()[1]
        before = f"[127.0.0.1]:{port} {shows.get_name()} {shows.get_base64()}\n" if shows else ""
        known.write_text(before)
        data = {"ssh_hostname": "127.0.0.1", "ssh_port": port, "ssh_user": "nvidia", "ssh_key": str(key)}
        strict = {"ssh_known_hosts_file": str(known), "ssh_strict_host_key_checking": "yes"}
        file = tmp_path / "sparks.py"
        file.write_text(
            "from sparkrig.inventory import checked as _checked\n"
            f"sparks = _checked([('spark', { ({**data, **strict})!r})], __file__)\n"
        )
        typed = ("-y", str(file), "deploys/cluster.py")
        done = warm.run("pyinfra", *typed, env={"PYINFRA_PROGRESS": "off", "NO_COLOR": "1"}, timeout=60)
    assert done.returncode == 1
    said, last = (line.strip() for line in done.stderr.splitlines() if "Its host key" in line)
    assert said.startswith(words) and last.startswith("--> Error: spark: Its host key"), "it is the last word, too"
    assert "Traceback" not in done.stderr and "Starting operation" not in done.stderr
    assert known.read_text() == before


def test_what_paramiko_needs_for_no_login_is_not_loaded_and_can_be_loaded_after() -> None:
    """pyinfra runs what `Match exec` of an ssh_config names."""
    program = """if True:
        import sys
        from sparkrig.ssh import session
        print([name for name in sys.modules if name.partition(".")[0] == "invoke"])
        from paramiko import config
        print(config.invoke.__module__)
        import invoke
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "pyinfra.connectors.sshuserclient.config", ""]


def test_rows_of_a_command_are_gathered_without_a_turn_of_the_hub_for_each() -> None:
    """Of pyinfra's queue each row took one: some 320 of a host, of a thousand hosts."""
    program = """if True:
        from pyinfra.connectors import util  # as an inventory loads it, before the standard library is patched
        from sparkrig.ssh import session
        import gevent
        turns = []
        def count():
            while True:
                turns.append(None)
                gevent.sleep(0)
        other = gevent.spawn(count)
        found = util.read_output_buffers([f"{number}\\n" for number in range(300)], ["why\\n"], 5, False, "")
        other.kill()
        print(len(found.stdout_lines), found.stdout_lines[-1], found.stderr, len(turns) < 30)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300", "299", "why", "True"]
