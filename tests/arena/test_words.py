"""Sentences with a number: one thing is told in the singular."""

import re
from dataclasses import dataclass

from arena.data.status import refusals
from arena.league.chain_check import ChainReport
from arena.verification.report import ReplayReport, VerifyReport, report_lines
from arena.words import number_of

CHAIN = ChainReport(1, "ab", 1.0, {"rounds": 1}, {"population": 1, "starts": 1}, 0, {}, (), {}, 1)


@dataclass
class Member:
    name: str = "m0"
    updates: int = 0
    refused_updates: int = 1


def test_numbers_of_things() -> None:
    assert number_of(1, "seed pair") == "1 seed pair"
    assert [number_of(count, "match", "matches") for count in (0, 1, 2)] == [
        "0 matches",
        "1 match",
        "2 matches",
    ]


def test_a_verification_of_one_of_everything() -> None:
    text = "\n".join(
        report_lines(VerifyReport("population", "demo", CHAIN, (), replays=ReplayReport(1, 1)))
    )
    assert "chain: 1 record of 1 population, 1 start; head ab" in text
    assert "when the chain began: 1 round\n" in text
    assert "played again: 1 of 1 game that stores its actions" in text
    assert re.search(r"\b1 \w+s\b", text) is None


def test_one_update_was_refused() -> None:
    assert refusals([Member()])[0].startswith("m0: 1 of 1 updates was refused")
