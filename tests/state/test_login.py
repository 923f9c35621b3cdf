"""Who logs in by ssh is as declared, by what sshd itself says."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_sshd_takes_what_is_declared(host: Host, spark: Spark) -> None:
    user = host.check_output("printf %s ${SUDO_USER:-root}")
    told = host.check_output(f"sshd -T -C user={user},host=localhost,addr=127.0.0.1").lower().splitlines()
    if not spark.settings.login_passwords:
        assert "passwordauthentication no" in told and "kbdinteractiveauthentication no" in told
    for key in spark.settings.login_keys:
        assert key.split(" ")[1] in host.check_output("cat /etc/ssh/sparkrig_authorized_keys")
