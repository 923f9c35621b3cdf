"""A secret is found in surroundings that a generator makes; behind an innocent name nothing is."""

from __future__ import annotations

from sparkrig.redaction import places
from sparkrig.redaction.credentials import masked
from sparkrig.redaction.redactor import Redactor
from tests.attacks import canaries
from tests.attacks.secrecy import HARMLESS, INNOCENT, SECRET, surroundings
from tests.tables import each_row


def test_a_secret_is_found_in_every_surrounding() -> None:
    def holds(text: str, values: list[str]) -> None:
        assert values
        for way in (masked, Redactor().redact):
            assert not canaries.left(way(text), values), way(text)

    each_row([*surroundings(600, SECRET, "any"), *surroundings(800, SECRET, "apart")], holds)


def test_behind_an_innocent_name_nothing_is_found() -> None:
    def holds(text: str, _: list[str]) -> None:
        found = [text[start:end] for start, end in places.spans(text)]
        assert not found, found

    each_row(surroundings(400, INNOCENT, "by_name"), holds)


def test_a_text_without_a_secret_stays() -> None:
    def stays(text: str) -> None:
        assert masked(text) == text

    each_row(HARMLESS, stays)


def test_a_pin_is_a_number_and_no_pin_of_apt_or_of_a_board() -> None:
    assert masked("PIN: 4711, sim_pin=0815, pin is 123456") == "PIN: ***, sim_pin=***, pin is ***"
    for stays in (
        "Package: *\nPin: version 580.*\nPin-Priority: 1001",
        "pin 34 (GPIO_9)",
        "Avg prompt token 123.4tokens/s, token 8192",
        "with password authentication, secret /etc/sparkrig/env2",
    ):
        assert masked(stays) == stays


def test_a_secret_that_one_text_tells_is_taken_out_of_the_others() -> None:
    redactor = Redactor()
    redactor.learn("non-default args: {'api_key': ['s3cret-of-a-host']}")
    assert redactor.redact("401 for s3cret-of-a-host from 10.0.0.1") == "401 for token-1 from 10.0.0.1"
