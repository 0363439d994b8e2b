"""The strengths that the display shows are those that the league computes from the same games."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arena.data.metrics import MetricsWriter
from arena.league.populations import create_population, open_incarnation
from arena.league.ratings import population_table
from arena.league.returns import return_standings
from arena.league.writer import LeagueWriter
from arena.training.sink import TrainingSink
from arena.training.strengths import CountedGames, Strength
from pbt.objective import ObjectiveKind
from pbt.records import GameRecord
from tests.arena.league.samples import (
    MEMBERS,
    RANDOM,
    game,
    new_league,
    snapshot,
    snapshot_player,
)

A, B, C = (snapshot_player(letter) for letter in "abc")


def hands(count: int) -> Iterator[GameRecord]:
    """Hands of three snapshots and `random`; "a" wins chips, "c" loses some, sizes vary."""
    rng = np.random.default_rng(1)
    worth = {A: 2.0, B: 0.0, C: -1.0, RANDOM: 0.0}
    for number in range(count):
        players = [list(worth)[at] for at in rng.choice(4, 2, replace=False)]
        first, second = players
        chips = float(worth[first] - worth[second] + rng.normal(0, 3))
        places = (0, 1) if chips > 0 else (1, 0)
        yield game(number, players, places, "evaluation", returns=[chips, -chips])


def written(tmp_path: Path, objective: str, games: list[GameRecord]) -> dict[str, Strength]:
    """Snapshot's letter -> the row of the league's table of these games."""
    league, _ = new_league(tmp_path)
    config = {"env": {"name": "leduc", "options": {}, "objective": objective}}
    source = open_incarnation(
        league, create_population(league, "own", "leduc", config, {}, MEMBERS), 1
    )
    with LeagueWriter(league, source) as writer:
        for letter in "abc":
            writer.snapshot(snapshot(letter))
        for one in games:
            writer.game(one)
    with league:
        if objective == "return":
            return {
                row.snapshot.record.snapshot_id[0]: Strength(row.mean, row.low, row.high, row.games)
                for row in return_standings(league, "own")
            }
        return {
            row.player.name[0]: Strength(row.rating or 0.0, row.low, row.high, row.total.games)
            for row in population_table(league, "own").rows
            if row.player != RANDOM
        }


def close(one: float | None, other: float | None) -> bool:
    return one == other or one == pytest.approx(other, abs=0.1, rel=1e-6)


@pytest.mark.parametrize("objective", ["win", "margin", "return"])
def test_they_are_those_of_the_leagues_table(tmp_path: Path, objective: ObjectiveKind) -> None:
    games = list(hands(240))
    if objective == "return":
        games += [
            game(240 + k, (A, A), (0, 0), "evaluation", returns=[float(k), float(k + 1)])
            for k in range(9)
        ]
    expected = written(tmp_path, objective, games)
    counted = CountedGames()
    for one in games:
        counted.count(one)
    found = counted.strengths(objective, {letter: [letter * 64] for letter in "abc"})
    assert found.keys() == expected.keys() == set("abc")
    for letter, strength in found.items():
        row = expected[letter]
        assert strength.games == row.games
        assert close(strength.value, row.value), (strength, row)
        assert close(strength.low, row.low) and close(strength.high, row.high), (strength, row)
    assert found["a"].value > found["c"].value


def test_the_advantage_of_the_first_seat_moves_no_strength() -> None:
    """Of four equals "a" always sits first and "b" always second, which is worth 300 Elo."""
    rng, counted, number = np.random.default_rng(3), CountedGames(), 0
    for seats in ((A, C), (C, B), (A, RANDOM), (RANDOM, B), (C, RANDOM), (RANDOM, C)):
        for _ in range(300):
            places = (0, 1) if rng.random() < 1 / (1 + 10**-0.75) else (1, 0)
            counted.count(game(number, seats, places, "evaluation"))
            number += 1
    found = counted.strengths("win", {letter: [letter * 64] for letter in "abc"})
    assert found.keys() == set("abc")
    for strength in found.values():
        assert abs(strength.value) < 50, found
        assert strength.low is not None and strength.high is not None
        assert strength.low < 0 < strength.high, found


def test_a_member_has_the_strength_of_its_newest_snapshot_that_has_one(tmp_path: Path) -> None:
    league, source = new_league(tmp_path)
    with (
        LeagueWriter(league, source) as writer,
        MetricsWriter(tmp_path / "metrics", 2, tensorboard=False) as metrics,
    ):
        sink = TrainingSink(writer, metrics)
        for letter, of in (("a", "m0"), ("b", "m0"), ("c", "m0"), ("d", "m1")):
            sink.snapshot(snapshot(letter, of))
        for number in range(40):
            seats = (A, RANDOM) if number < 20 else (RANDOM, B)
            sink.game(game(number, seats, (number % 2, 1 - number % 2), "evaluation"))
        sink.game(game(40, (C, RANDOM), kind="evaluation", greedy=True))
        sink.game(game(41, (C, RANDOM), kind="evaluation", end_reason="voided: x"))
        sink.game(game(42, (C, RANDOM)))
        sink.game(game(43, (C, A, RANDOM), (0, 1, 2), "evaluation"))
        assert sink.strengths("win").keys() == {"m0"}
        assert sink.strengths("win")["m0"].games == 20
        assert sink.strengths("return")["m0"] == Strength(1.0, None, None, 1)
        sink.game(game(44, (C, RANDOM), (1, 0), "evaluation"))
        assert sink.strengths("win")["m0"].games == 1
        assert sink.strengths("return")["m0"].games == 2
        sink.snapshot(snapshot("e", "m0"))
        sink.game(game(45, (snapshot_player("e"), RANDOM), (0, 1), "evaluation"))
        assert sink.strengths("margin")["m0"].value > 0.5
    league.close()


def test_without_games_nothing_is_known() -> None:
    for objective in ("win", "margin", "return"):
        assert CountedGames().strengths(objective, {"m0": ["a" * 64]}) == {}
