"""A match whose games are not those of its plan, with a chain that agrees with them."""

from pathlib import Path

import pytest

from arena.cli.app import run
from arena.league.chain import chain_of_match
from arena.verification.match import verify_match
from arena.verification.report import VerifyRequest
from tests.arena.verification.forging import execute, rechain


@pytest.fixture
def data(tmp_path: Path) -> Path:
    arguments = ["oneply", "random", "--env", "connect_four", "--games", "8", "--fresh"]
    assert run(["match", *arguments, "--data", str(tmp_path)]) == 0
    return tmp_path


def differences(data: Path) -> list[tuple[str, str]]:
    rechain(data, chain_of_match(1))
    report = verify_match(data, 1, VerifyRequest(), lambda what, done, total: None)
    return [(one.where, one.found) for one in report.differences]


def test_the_games_of_a_plan_are_no_difference(data: Path) -> None:
    assert differences(data) == []


def test_a_game_without_its_opening_is_found(data: Path) -> None:
    execute(data, "UPDATE games SET opening_plies = 0")
    assert differences(data) == [
        (f"game match:1:{number}, opening plies", "0") for number in range(8)
    ]


def test_an_opening_that_the_seed_does_not_draw_is_found(data: Path) -> None:
    """Connect four ignores its seed, so every game still comes out as stored.

    The games of the first pair take the seed of the second, as if its opening had been another.
    """
    ((seed,),) = execute(data, "SELECT DISTINCT seed FROM games WHERE pair = 1")
    execute(data, "UPDATE games SET seed = ? WHERE pair = 0", seed)
    found = differences(data)
    assert ("game match:1:0, seed", str(seed)) in found and (
        "game match:1:1, seed",
        str(seed),
    ) in found
    opened = [text for where, text in found if where in ("game match:1:0", "game match:1:1")]
    assert len(opened) == 2 and all("the seed draws" in text for text in opened)


def test_greedy_games_and_pairs_of_another_plan_are_found(data: Path) -> None:
    execute(data, "UPDATE games SET greedy = 1 WHERE pair = 2")
    execute(data, "UPDATE games SET pair = 9 WHERE pair = 3")
    assert {(where.split(", ")[1], text) for where, text in differences(data)} == {
        ("greedy", "True"),
        ("pair", "9"),
    }
