"""Expected scores against snapshots equal slow references, and are the same after a resume."""

import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.matchmaking.payoffs import EloRatings, PayoffSource, RecentWinRates, payoff_source
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import GameRecord, PlayerRef, SeatRecord

SOURCES = (RecentWinRates, EloRatings)


def live(name: str, place: int, generation: int = 0) -> SeatRecord:
    return SeatRecord(PlayerRef("member", name), generation, 0, 0, place, 0.0)


def old(name: str, place: int) -> SeatRecord:
    return SeatRecord(PlayerRef("snapshot", name), 0, 0, 0, place, 0.0)


def game(*seats: SeatRecord, **changes: Any) -> GameRecord:
    return GameRecord(
        **{
            "number": 0,
            "environment": 0,
            "count": 0,
            "kind": "training",
            "seed": 1,
            "seats": seats,
            "steps": 9,
            "frames": 9,
            "end_reason": "rules",
            "trajectory_hash": "00",
            **changes,
        }
    )


def known(source: PayoffSource, *ids: str) -> PayoffSource:
    for name in ids:
        source.add_snapshot(SnapshotEntry(name, name.split(".")[0], "p"))
    return source


def random_games(seed: int, count: int) -> list[GameRecord]:
    """Random games of two to four seats, some of them without a snapshot."""
    rng = random.Random(seed)
    players = [
        live("m0", 0),
        live("m1", 0),
        old("m0.1", 0),
        old("m1.1", 0),
        old("m1.2", 0),
        old("m9.9", 0),
    ]
    return [
        game(
            *(
                SeatRecord(one.player, 0, 0, 0, rng.randint(0, 1), 0.0)
                for one in rng.sample(players, rng.randint(2, 4))
            )
        )
        for _ in range(count)
    ]


@given(st.integers(0, 10**6), st.integers(0, 60))
def test_counts_are_those_of_every_game_each_older_one_weighing_less(seed: int, count: int) -> None:
    source = known(RecentWinRates(10), "m0.1", "m1.1", "m1.2")
    results = defaultdict[tuple[str, str], list[float]](list)
    for record in random_games(seed, count):
        source.add(record)
        for own in record.seats:
            for other in record.seats:
                if (
                    own.player.kind == "member"
                    and other.player.kind == "snapshot"
                    and other.player.name != "m9.9"
                ):
                    score = (
                        1.0 if own.place < other.place else 0.0 if own.place > other.place else 0.5
                    )
                    results[other.player.name, own.player.name].append(score)
    found = source.win_rates()
    assert {(snapshot, member) for snapshot, row in found.items() for member in row} == set(results)
    for (snapshot, member), scores in results.items():
        weights = [0.99 ** (len(scores) - 1 - index) for index in range(len(scores))]
        expected = (
            1 + sum(weight * score for weight, score in zip(weights, scores, strict=True))
        ) / (2 + sum(weights))
        assert found[snapshot][member] == pytest.approx(expected, abs=1e-9)
        assert 0 < found[snapshot][member] < 1


@given(st.integers(0, 10**6), st.integers(0, 60))
def test_ratings_move_by_what_was_not_expected(seed: int, count: int) -> None:
    source = known(EloRatings(10), "m0.1", "m1.1", "m1.2")
    ratings = dict.fromkeys(["m0", "m1", "m0.1", "m1.1", "m1.2"], 0.0)
    for record in random_games(seed, count):
        source.add(record)
        before = dict(ratings)
        for first, own in enumerate(record.seats):
            for other in record.seats[first + 1 :]:
                a, b = own.player.name, other.player.name
                if {own.player.kind, other.player.kind} == {"snapshot"} or "m9.9" in (a, b):
                    continue
                score = 0.5 + 0.5 * (own.place < other.place) - 0.5 * (own.place > other.place)
                step = 8 * (score - 1 / (1 + 10 ** ((before[b] - before[a]) / 400)))
                ratings[a] += step
                ratings[b] -= step
    for snapshot, row in source.win_rates().items():
        for member, p in row.items():
            assert p == pytest.approx(
                1 / (1 + 10 ** ((ratings[snapshot] - ratings[member]) / 400)), abs=1e-9
            )


@pytest.mark.parametrize("make", SOURCES)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 40))
def test_a_resume_goes_on_bit_for_bit(
    make: type[RecentWinRates | EloRatings], seed: int, count: int
) -> None:
    games = random_games(seed, count)
    whole, first, second = (known(make(2), "m0.1", "m1.1", "m1.2") for _ in range(3))
    for record in games:
        whole.add(record)
    for record in games[: count // 2]:
        first.add(record)
    assert second.load(first.state())
    for record in games[count // 2 :]:
        second.add(record)
    assert second.state() == whole.state() and second.win_rates() == whole.win_rates()


@pytest.mark.parametrize("make", SOURCES)
def test_winning_or_losing_for_ever_leaves_a_number_between(
    make: type[RecentWinRates | EloRatings],
) -> None:
    source = known(make(10), "m0.1")
    for _ in range(3000):
        assert source.add(game(live("m0", 0), old("m0.1", 1)))
        assert source.add(game(live("m1", 1), old("m0.1", 0)))
    row = source.win_rates()["m0.1"]
    assert 0.9 < row["m0"] < 1 and 0 < row["m1"] < 0.1


@pytest.mark.parametrize("make", SOURCES)
def test_what_does_not_count(make: type[RecentWinRates | EloRatings]) -> None:
    source = known(make(10), "m0.1")
    before = source.state()
    for record in (
        game(live("m0", 0), old("m0.1", 1), kind="evaluation"),
        game(live("m0", 0), old("m0.1", 1), end_reason="voided: the engine died"),
        game(live("m0", 0, generation=1), old("m0.1", 1)),
        game(live("m0", 0), live("m0", 1)),
        game(live("m0", 0), old("m5.5", 1)),
    ):
        assert not source.add(record)
    assert source.state() == before


@pytest.mark.parametrize("make", SOURCES)
def test_a_copy_expects_what_the_winner_does(make: type[RecentWinRates | EloRatings]) -> None:
    source = known(make(10), "m0.1", "m1.1")
    for _ in range(20):
        source.add(game(live("m0", 0), old("m1.1", 1)))
        source.add(game(live("m1", 1), old("m0.1", 0)))
    assert source.win_rates()["m1.1"].get("m1", 0.5) < source.win_rates()["m1.1"]["m0"]
    source.copied("m1", "m0", 1)
    rates = source.win_rates()
    assert all(row.get("m1") == row.get("m0") for row in rates.values())
    assert not source.add(game(live("m1", 0), old("m0.1", 1))), "the replaced weights began it"
    assert source.add(game(live("m1", 0, generation=1), old("m0.1", 1)))


@pytest.mark.parametrize("make", SOURCES)
def test_snapshots_that_left_the_window_are_forgotten(
    make: type[RecentWinRates | EloRatings],
) -> None:
    source = known(make(2), "m0.1")
    source.add(game(live("m0", 0), old("m0.1", 1)))
    assert "m0.1" in source.win_rates()
    known(source, "m0.2", "m1.1")
    assert "m0.1" not in source.win_rates() and "m0.1" not in str(source.state())


def test_a_snapshot_begins_as_strong_as_its_member() -> None:
    source = known(EloRatings(10), "m0.1", "m1.1")
    for _ in range(50):
        source.add(game(live("m0", 0), live("m1", 1)))
    known(source, "m0.2")
    row = source.win_rates()["m0.2"]
    assert row["m0"] == 0.5 and row["m1"] < 0.3


def test_modes_that_ask_for_nothing_count_nothing() -> None:
    asked: dict[PastMode, type[PayoffSource] | None] = {
        "uniform": None,
        "latest": None,
        "pfsp_hard": RecentWinRates,
        "pfsp_variance": RecentWinRates,
        "elo_gaussian": EloRatings,
    }
    for mode, kind in asked.items():
        source = payoff_source(MatchmakingConfig(past_mode=mode))
        assert source is None if kind is None else isinstance(source, kind)
