"""A connection that notices when the other side is gone.

Neither pyinfra nor paramiko notices: with the link down an operation waits for ever, for paramiko's own keepalive
asks for no answer (seen on virtual machines with pyinfra 3.10 and paramiko 4.0). Only an answer of the SSH server
proves anything, since what lies between may keep the TCP connection alive by itself.
"""

from __future__ import annotations

import threading

from paramiko import Transport

EVERY_S = 10
DEAD_S = 30  # without an answer; so a lost link is noticed within 40 s


class WatchedTransport(Transport):
    """A paramiko transport that asks the server for a sign of life, and closes itself where none comes.

    Whatever waits on one of its channels then ends, without an exit status.
    """

    def run(self) -> None:
        over = threading.Event()
        threading.Thread(target=_watch, args=(self, over), daemon=True).start()
        try:
            super().run()
        finally:
            over.set()


def _watch(transport: Transport, over: threading.Event) -> None:
    while not over.wait(EVERY_S):
        if transport.is_authenticated():
            _ask(transport)


def _ask(transport: Transport) -> None:
    """Any answer will do, and a server must give one (RFC 4254, section 4); OpenSSH's client asks by this name."""
    alarm = threading.Timer(DEAD_S, transport.close)
    alarm.daemon = True
    alarm.start()
    try:
        transport.global_request("keepalive@openssh.com")
    finally:
        alarm.cancel()
