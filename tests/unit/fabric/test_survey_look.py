"""The looks that have more than one question: a probe that waits, beside sections that are read meanwhile."""

from __future__ import annotations

import re

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.bandwidth.perftest_preflight import Users
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.bundle import looked, meanwhile, section
from sparkrig.facts.examination import Examination
from sparkrig.facts.spark import Spark
from sparkrig.facts.survey import Looked, Survey
from sparkrig.facts.together import Together
from sparkrig.resources.state import UNREAD, State
from tests.plan.conftest import recorded
from tests.unit.shells import sh

FABRIC = ("network", "rdma", "files", "nics", "gpu", "health")


def test_a_section_that_waits_is_read_beside_the_others_and_printed_last() -> None:
    """The other ones make the file that it waits for, and their programs read nothing of what it prints."""
    done = sh(
        'cd "$(mktemp -d)"; '
        + looked(
            meanwhile(
                section("slow", "until [ -e go ]; do sleep 0.01; done; echo waited"),
                section("one", "touch go; cat; echo first"),
                section("two", "exit 3"),
            )
        )
    )
    rows = [row for row in done.stdout.splitlines() if row]
    assert [row.rpartition(" ")[0] if row.startswith("#") else row for row in rows] == [
        *("#sparkrig:look", "first", "#sparkrig:end one 0", "#sparkrig:end two 3", "waited"),
        "#sparkrig:end slow 0",
    ]


def test_docker_and_a_server_are_asked_beside_the_rest_and_the_clock_is_read_last() -> None:
    """In one exec, of drift, deploy and doctor alike; a server that is slow to answer costs no time of its own."""
    serves, doctor = Spark().command("/var/lib/weights"), Examination().command()
    assert " | {" not in Spark().command(), "a host that serves nothing has nothing to wait for"
    for text, beside in ((serves, ["serving"]), (doctor, ["gpu", "board", "health", "nics", "serving"])):
        ends = re.findall(r"#sparkrig:end ([a-z_]+) ", text)
        slow, *rest = re.split(r"\n\} \| \{\n", text)
        assert len(rest) == 1, "one lane beside the others"
        assert ends[: len(beside)] == beside == re.findall(r"#sparkrig:end ([a-z_]+) ", slow)
        assert len({*ends}) == len(ends) and {*ends} >= {*Spark.nouns}
        assert rest[0].index("\nexec cat\n}") < rest[0].index("#sparkrig:end preflight"), (
            "after what was waited for"
        )


def test_a_survey_asks_what_is_not_known() -> None:
    whole = Survey(patience=1, port=(15, 18515)).command()
    assert all(f"#sparkrig:end {name} " in whole for name in (*FABRIC, "users", "heard"))
    less = Survey(("network", "rdma", "files")).command()
    assert [name for name in (*FABRIC, "users", "heard") if f"#sparkrig:end {name} " in less] == [*FABRIC[3:]]


def printed(heard: str, users: str = "") -> list[str]:
    ends = f"{users}\n#sparkrig:end users 0\n{heard}\n#sparkrig:end heard 0\n"
    return (recorded("fabric-a") + ends).splitlines()


def test_what_a_survey_saw() -> None:
    look = Survey(patience=1, port=(15, 18515))
    found = look.process(printed("sent enp1s0f0np0 20\nend", "other 77 ib_write_bw waits"))
    assert found.heard == Neighbours({"enp1s0f0np0": 20})
    assert found.users == Users(others=(("ib_write_bw", 77, True),))
    assert found.found.nics and found.found.network.links
    with pytest.raises(FactProcessError, match="perftest: cannot be understood"):
        look.process(printed("end", "other 77"))


@pytest.mark.parametrize("heard", ["sent enp1s0f0np0 20", "sent\nend", "trouble the probe ended with exit 1"])
def test_a_probe_that_broke_off_hides_nothing_of_the_host(heard: str) -> None:
    found = Survey(patience=1, port=(15, 18515)).process(printed(heard))
    assert found.heard and found.heard.trouble and found.found.nics


def test_what_a_run_has_seen_completes_a_look_and_replaces_nothing_of_it() -> None:
    new, old = State(nics={}), State(nics={"a": UNREAD}, files={})
    found = Looked(new).over(old).found
    assert (found.nics, found.files) == ({}, {})
    assert Looked(new).over(None).found is new


def test_what_one_half_cannot_say_hides_nothing_else_of_it() -> None:
    look = Together(patience=1, targets=[], journal=True)
    assert list(look.nouns) == ["neighbours", "journal"]
    found = look.process(["end", "#sparkrig:end neighbours 0", "#sparkrig:end journal 1"])
    assert found["neighbours"] == Neighbours()
    assert str(found["journal"]) == "journal: could not be read (exit 1)"
    found = look.process(["nonsense", "#sparkrig:end neighbours 0"])
    assert "broke off" in str(found["neighbours"]) and "no answer" in str(found["journal"])
