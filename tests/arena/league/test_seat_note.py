"""What the line below the ratings says of the first seat."""

import numpy as np
import pytest

from arena.league.rating_models import rate
from arena.league.results import Results
from arena.stats.meetings import Meetings
from arena.stats.win_matrix import WinMatrix
from bench.simulated_leagues import Cell, cells, drawn
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM

CELLS = {cell.name: cell for cell in cells()}
PAIR = Cell("pair", (0.0, 100.0), ((0, 1),), 100, 0, seat=50.0)


def results(games: Meetings, players: int) -> Results:
    names = [RANDOM, *(PlayerRef("scripted", f"p{i}") for i in range(1, players))]
    none = np.zeros((players, players))
    return Results(WinMatrix(tuple(names), none, none), games, (), ())


@pytest.mark.parametrize(
    ("cell", "seed", "said"),
    [
        (CELLS["rising-0-dense"], 1, "at the strength of the best; it grows by 0."),
        (CELLS["0-0-sparse"], 1, "in the mean over the games; at the strength of the best "),
        (PAIR, 1, "in the mean over the games; the games do not tell it at the strength of the"),
    ],
)
def test_the_advantage_is_said_with_what_it_is_an_advantage_of(
    cell: Cell, seed: int, said: str
) -> None:
    games = drawn(cell, np.random.default_rng(seed))
    rated = rate(results(games, len(cell.strength)), "win")
    (note,) = rated.notes
    assert note.startswith("the first seat is worth ")
    assert said in note
    facts = rated.facts["seat_advantage"]
    assert (facts["slope"] is None) == ("which is not shown" in note or "do not tell" in note)
    assert (facts["overall"] is None) == (facts["slope"] is not None)
    assert (facts["at_best"] is None) == (cell is PAIR)
    if facts["at_best"] is not None:
        value, low, high = (facts["at_best"][end] for end in ("value", "low", "high"))
        assert f"{value:+.0f} [{low:+.0f}, {high:+.0f}]" in note


def test_one_order_of_seats_has_no_advantage() -> None:
    single = np.zeros((1, 2, 3))
    single[0, 0] = 5, 0, 4
    games = Meetings(np.array([0]), np.array([1]), np.zeros((1, 3, 3)), single)
    rated = rate(results(games, 2), "win")
    assert rated.facts["seat_advantage"] is None
    assert "one order of seats only" in rated.notes[0]
