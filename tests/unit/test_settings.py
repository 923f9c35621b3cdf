"""Every bad input is one sentence that names the host, the field and what was expected."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from sparkrig.fleet import Fleet
from sparkrig.settings import DEFAULTS, Settings, SettingsError
from tests.tables import each_row, table

Data = dict[str, dict[str, Any]]


def pair() -> Data:
    return {
        name: {
            "pair": "sparks",
            "fabric": {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"},
        }
        for name, last in (("spark-a", 11), ("spark-b", 12))
    }


def fabric(*addresses: str) -> Data:
    """A Spark on its own with those addresses."""
    return {"spark-a": {"fabric": {f"enp{number}": address for number, address in enumerate(addresses)}}}


def test_bad_input_is_one_sentence() -> None:
    def holds(data: Data, words: list[str]) -> None:
        with pytest.raises(SettingsError) as caught:
            Fleet.parse(data)
        sentence = str(caught.value)
        for word in words:
            assert word in sentence
        assert "\n" not in sentence
        assert "pydantic" not in sentence.casefold() and "Value error" not in sentence
        assert caught.value.__cause__ is None and (
            caught.value.__suppress_context__ or not caught.value.__context__
        )

    each_row(table(__file__, "bad"), holds)


# the words of pydantic's own messages, of any version
_PYDANTIC = ("input should", "valid ", "unable to", "ensure ", "field required", "http", "parse")
_WRONG: tuple[Any, ...] = (object(), "", " ", "x y", "\u00e9", -1, 0, 0.5, 10**9, 10**5000, True, None)
_WRONG += (float("nan"), float("inf"), [], ["a"], (1,), b"\xff", "-1e9", "1e9", "/a b", "z" * 500)
_WRONG += ({}, {"": ""}, {"a b": "c"}, {1: 2}, {"a": 1}, {"a": None}, {"a": []}, {"A": object()}, {"--a": 1})
_WRONG += ({"x" * 99: "y" * 500},)


def test_every_setting_with_any_wrong_value_is_told_in_our_words() -> None:
    """Wrong types, wrong ranges, wrong names and values within: none in pydantic's words."""
    refused: dict[str, int] = {}

    def holds(name: str, value: Any) -> None:
        try:
            Fleet.parse({"spark-a": {name: value}})
        except SettingsError as error:
            sentence = str(error)
            assert not [word for word in _PYDANTIC if word in sentence.casefold()], sentence
            assert name in sentence and "\n" not in sentence and sentence.isprintable(), sentence
            assert len(sentence) < 700, sentence
            refused[name] = refused.get(name, 0) + 1

    for name in Settings.model_fields:
        for value in _WRONG:
            holds(name, value)
    assert all(refused.get(name, 0) >= 5 for name in Settings.model_fields), refused


def test_a_value_that_fits_no_kind_of_flag_is_one_mistake() -> None:
    with pytest.raises(SettingsError) as caught:
        Fleet.parse({"spark-a": {"serve_flags": {"max-model-len": [1]}}})
    assert str(caught.value) == (
        "spark-a: setting serve_flags.max-model-len: a text, a whole number, a number, True or False is expected "
        "(found [1])"
    )


def test_a_new_configuration_has_a_port_of_its_own() -> None:
    with pytest.raises(SettingsError, match="serve_port and serve_trial_port are both 8000"):
        Fleet.parse({"spark-a": {"serve_port": 8000, "serve_trial_port": 8000}})


def test_more_than_one_mistake_is_counted() -> None:
    with pytest.raises(SettingsError, match=r"setting mtu: .* \(and 2 more\)$"):
        Fleet.parse({"spark-a": {"mtu": 1, "patience": 0, "colour": "green"}})


def test_every_host_is_checked_not_just_the_first() -> None:
    with pytest.raises(SettingsError, match=r"^spark-b: "):
        Fleet.parse({"spark-a": {}, "spark-b": {"mtu": "jumbo"}})


def test_keys_of_pyinfra_and_of_the_user_pass() -> None:
    def holds(key: str) -> None:
        assert Fleet.parse({"spark-a": {key: object()}})["spark-a"] == Settings()

    each_row(["_sudo", "_sudo_user", "ssh_user", "ssh_paramiko_connect_kwargs", "fake_facts", "x_rack"], holds)


@pytest.mark.parametrize("key", ["x", "sudo", "sshuser", "fabric_x_"])
def test_keys_that_only_look_foreign_do_not_pass(key: str) -> None:
    with pytest.raises(SettingsError, match=f"no setting {key}"):
        Fleet.parse({"spark-a": {key: 1}})


def test_unusual_addresses_that_a_link_can_have() -> None:
    def holds(address: str) -> None:
        assert len(Fleet.parse(fabric(address))["spark-a"].fabric) == 1

    each_row(
        ["10.0.0.1/30", "10.0.0.0/31", "10.0.0.1/31", "192.168.100.11/255.255.255.0", "169.254.1.1/16"], holds
    )


def test_numbers_may_come_as_text_from_the_command_line() -> None:
    """`--data mtu=4500` is text for pyinfra."""
    mine = Fleet.parse({"spark-a": {"mtu": "4500", "restart_docker": "True", "bandwidth_floor": "0.5"}})["spark-a"]
    assert (mine.mtu, mine.restart_docker, mine.bandwidth_floor) == (4500, True, 0.5)


def test_the_defaults_are_settings_and_name_every_field() -> None:
    assert Fleet.parse({"spark-a": DEFAULTS})["spark-a"] == Settings()
    assert set(DEFAULTS) == set(Settings.model_fields)
    assert DEFAULTS["pair"] is None and DEFAULTS["mtu"] == 9000 and DEFAULTS["driver_branch"] == 580


def test_every_setting_says_what_it_is_for() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description and field.description.endswith("."), name


def test_settings_do_not_change_under_a_run() -> None:
    with pytest.raises(ValidationError):
        setattr(Settings(), "mtu", 1500)  # noqa: B010 - mypy forbids the plain way already


def rails(fleet: Fleet, name: str) -> list[tuple[int, str, str, str, str]]:
    return [
        (rail.number, rail.netdev, str(rail.address.ip), rail.far.netdev, str(rail.far.address.ip))
        for rail in fleet.rails(name)
    ]


def test_rails_of_a_pair() -> None:
    fleet = Fleet.parse(pair())
    assert rails(fleet, "spark-a") == [
        (0, "enp1s0f0np0", "192.168.100.11", "enp1s0f0np0", "192.168.100.12"),
        (1, "enP2p1s0f0np0", "192.168.101.11", "enP2p1s0f0np0", "192.168.101.12"),
    ]


def test_rails_join_subnets_not_names_or_positions() -> None:
    """The cable may sit in another cage at the other end, and the peer may list its rails the other way."""
    data = pair()
    data["spark-b"]["fabric"] = {"enP2p1s0f1np1": "192.168.101.12/24", "enp1s0f1np1": "192.168.100.12/24"}
    fleet = Fleet.parse(data)
    assert rails(fleet, "spark-a") == [
        (0, "enp1s0f0np0", "192.168.100.11", "enp1s0f1np1", "192.168.100.12"),
        (1, "enP2p1s0f0np0", "192.168.101.11", "enP2p1s0f1np1", "192.168.101.12"),
    ]
    assert rails(fleet, "spark-b") == [
        (1, "enP2p1s0f1np1", "192.168.101.12", "enP2p1s0f0np0", "192.168.101.11"),
        (0, "enp1s0f1np1", "192.168.100.12", "enp1s0f0np0", "192.168.100.11"),
    ], "a rail has one number, from whichever end"


def test_roles_in_a_fleet_of_a_pair_and_a_solo() -> None:
    fleet = Fleet.parse({"solo": {}, **pair()})
    assert list(fleet) == ["solo", "spark-a", "spark-b"] and len(fleet) == 3
    assert {name: fleet.peers(name) for name in fleet} == {
        "solo": (),
        "spark-a": ("spark-b",),
        "spark-b": ("spark-a",),
    }
    assert [name for name in fleet if fleet.leads(name)] == ["solo", "spark-a"]
    assert fleet.groups() == [("solo",), ("spark-a", "spark-b")] and fleet.group("spark-b") == fleet.groups()[1]
    assert fleet.rails("solo") == []


def test_a_spark_on_its_own_has_no_rail_even_with_a_fabric() -> None:
    assert Fleet.parse(fabric("10.0.0.1/24")).rails("spark-a") == []


def test_two_pairs_may_use_the_same_subnets() -> None:
    """They are two cables; only an address may not stand twice."""
    others: Data = {
        name: {"pair": "others", "fabric": {"enp1s0f0np0": f"192.168.100.{last}/24"}}
        for name, last in (("spark-c", 13), ("spark-d", 14))
    }
    assert Fleet.parse({**pair(), **others}).peers("spark-c") == ("spark-d",)


def test_an_mtu_without_room_for_the_path_mtu_is_said_before_anything_connects() -> None:
    with pytest.raises(
        SettingsError, match=r"^spark-a: mtu 1500 has no room for bandwidth_path_mtu 4096; 4200 or more"
    ):
        Fleet.parse({"spark-a": {"mtu": 1500}})
    assert Fleet.parse({"spark-a": {"mtu": 1500, "bandwidth_path_mtu": 1024}})["spark-a"].mtu == 1500


def test_a_draft_and_a_place_to_listen_are_what_they_look_like() -> None:
    def holds(data: dict[str, Any], said: str) -> None:
        with pytest.raises(SettingsError, match=re.escape(said)):
            Fleet.parse({"spark-a": data})

    each_row(
        [
            (
                {"serve_draft": True},
                "none, OWNER/NAME, the folder of a draft model or None is expected (found True)",
            ),
            ({"serve_draft": "../../etc"}, "none, OWNER/NAME, the folder of a draft model or None is expected"),
            (
                {"serve_draft": "/srv/../etc/a"},
                "none, OWNER/NAME, the folder of a draft model or None is expected",
            ),
            ({"serve_draft": "a/../b"}, "none, OWNER/NAME, the folder of a draft model or None is expected"),
            ({"serve_listen": "0.0.0.0"}, "local, management, all, an IPv4 address or None is expected"),
            ({"serve_listen": "10.0.0.256"}, "local, management, all, an IPv4 address or None is expected"),
            ({"serve_listen": "lan"}, "local, management, all, an IPv4 address or None is expected"),
        ],
        holds,
    )
    given = Fleet.parse({"spark-a": {"serve_draft": False, "serve_listen": "10.0.0.250"}})["spark-a"]
    assert (given.serve_draft, given.serve_listen) == ("none", "10.0.0.250")
