"""Who logs in by ssh is as declared, by what sshd itself says."""

from __future__ import annotations

import pytest

from tests.state.conftest import Said, Spark


@pytest.mark.asks(
    sshd="sshd -T -C user=${SUDO_USER:-root},host=localhost,addr=127.0.0.1",
    keys="cat /etc/ssh/sparkrig_authorized_keys",
)
def test_sshd_takes_what_is_declared(said: Said, spark: Spark) -> None:
    told = said.sshd.good.lower().splitlines()
    if not spark.settings.login_passwords:
        assert "passwordauthentication no" in told and "kbdinteractiveauthentication no" in told
    for key in spark.settings.login_keys:
        assert key.split(" ")[1] in said.keys.good
        assert any(row.endswith(" /etc/ssh/sparkrig_authorized_keys") for row in told)
