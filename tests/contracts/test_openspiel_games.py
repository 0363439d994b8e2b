"""OpenSpiel's games keep the contract.

They come with and without chance, with hidden cards, with a third seat, and turned from
simultaneous games.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pbt.envs.registry import spec
from pbt.envs.testing.check import check_game

GAMES: dict[str, tuple[str, dict[str, Any], int]] = {
    "tic_tac_toe": ("tic_tac_toe", {}, 2),
    "connect_four": ("connect_four", {}, 2),
    "kuhn_poker": ("kuhn_poker", {}, 2),
    "kuhn_poker for three": ("kuhn_poker", {"players": 3}, 3),
    "leduc_poker": ("leduc_poker", {}, 2),
    "leduc_poker, not in C": ("leduc_poker", {"players": 2}, 2),
    "othello": ("othello", {}, 2),
    "hex": ("hex", {}, 2),
    "rewards on the way, one seat": ("2048", {}, 1),
    "equal returns": ("hanabi", {}, 2),
    "turned from a simultaneous one": ("goofspiel", {"turn_based": True}, 2),
}


@pytest.mark.parametrize(("name", "options", "seats"), GAMES.values(), ids=GAMES.keys())
def test_an_openspiel_game_keeps_the_contract(
    name: str, options: dict[str, Any], seats: int
) -> None:
    registered = spec(f"openspiel:{name}")
    assert registered.name == f"openspiel:{name}"
    report = check_game(replace(registered, make=partial(registered.make, **options)))
    assert report.problems == ()
    assert (report.games, len(report.seats)) == (20, seats)
    assert (report.replayable, report.seed_matters) == (True, registered.chance)
