"""Results of groups, against a slow twin that goes through the games."""

from random import Random

import numpy as np
import pytest

from arena.stats.group_results import PairResults, group_results, grouped
from pbt.objective import ObjectiveKind
from tests.arena.stats.slow_groups import Seen, slow_groups, slow_mean, slow_score

PLAYERS = "abcdef"
OWNER = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": -1}


def drawn(seed: int, number: int = 400) -> list[Seen]:
    """Single games, as their first player saw them."""
    rng, games = Random(seed), []
    for _ in range(number):
        first, second = rng.sample(PLAYERS, 2)
        got = rng.gauss(0.3, 1)
        points = rng.choice((0.5, float(got > 0)))
        games.append(Seen(first, second, points, got))
    return games


def pairs_of(games: list[Seen]) -> PairResults:
    sums: dict[tuple[int, int], np.ndarray] = {}
    for game in games:
        ends, sign, points = (
            [PLAYERS.index(game.player), PLAYERS.index(game.opponent)],
            1,
            game.points,
        )
        if ends[0] > ends[1]:
            ends, sign, points = ends[::-1], -1, 1 - points
        own = sums.setdefault((ends[0], ends[1]), np.zeros(6))
        own += [points == 1, points == 0.5, points == 0, 1, sign * game.got, game.got**2]
    table = np.array(list(sums.values()))
    units = np.zeros((len(table), 2, 3))
    units[:, 1] = table[:, 3:]
    first, second = np.array(list(sums), dtype=np.intp).T
    return PairResults(first, second, table[:, :3], units)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("objective", ["win", "margin", "return"])
def test_groups_have_the_games_of_their_players(seed: int, objective: ObjectiveKind) -> None:
    games = drawn(seed)
    sides = pairs_of(games).both_sides()
    owner = np.array([OWNER[player] for player in PLAYERS])
    rows, columns = owner[sides.first], owner[sides.second]
    apart = rows < columns if objective == "margin" else rows != columns
    found = group_results(grouped(sides, np.where(apart, rows, -1), columns), objective)
    both = games + [Seen(one.opponent, one.player, 1 - one.points, -one.got) for one in games]

    def place(name: str) -> int | None:
        return None if OWNER[name] < 0 else OWNER[name]

    expected = {
        ends: seen
        for ends, seen in slow_groups(
            both, lambda game: place(game.player), lambda game: place(game.opponent)
        ).items()
        if ends[0] != ends[1] and (objective != "margin" or ends[0] < ends[1])  # type: ignore[operator]
    }
    assert [(one.row, one.column) for one in found] == sorted(expected)
    for one in found:
        told = (one.games, one.value, one.low, one.high)
        seen = expected[one.row, one.column]
        if objective == "win":
            assert told == pytest.approx(slow_score(seen))
            assert one.tally is not None and one.tally.draws == sum(
                game.points == 0.5 for game in seen
            )
        elif objective == "return":
            assert told == pytest.approx(slow_mean(seen)) and one.tally is None
        else:
            # Margins shrink their variances to those of all pairs.
            assert told[:2] == pytest.approx(slow_mean(seen)[:2])
            low, high = slow_mean(seen)[2:]
            assert one.low is not None and one.high is not None
            assert one.high - one.low == pytest.approx(high - low, rel=0.35)


def test_no_results_have_no_groups() -> None:
    none = np.zeros(0, dtype=np.intp)
    empty = PairResults(none, none, np.zeros((0, 3)), np.zeros((0, 2, 3)))
    for objective in ("win", "margin", "return"):
        assert group_results(grouped(empty, none, none), objective) == []  # type: ignore[arg-type]
    sides = pairs_of(drawn(1)).both_sides()
    out = np.full(len(sides), -1, dtype=np.intp)
    assert len(grouped(sides, out, out)) == 0


def test_returns_that_are_alike_have_no_interval() -> None:
    one = np.zeros(1, dtype=np.intp)
    units = np.array([[[0, 0, 0], [5, 2.5, 1.25]]], dtype=np.float64)
    (found,) = group_results(PairResults(one, one, np.zeros((1, 3)), units), "return")
    assert (found.games, found.value, found.low, found.error) == (5, 0.5, None, None)
