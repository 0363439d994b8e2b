"""What may be claimed of the best of many: walks along curves, and fresh games."""

from collections.abc import Sequence

import pytest

from arena.cli.best_text import best_lines
from arena.league.best_of_many import best_of_many, walks
from arena.league.database import League
from arena.league.fresh_matches import headline_matches
from arena.league.matches import MatchError, create_match, finish_match
from arena.league.populations import Incarnation
from arena.league.ratings import population_table
from arena.league.results import population_results
from arena.league.writer import LeagueWriter
from arena.matches.fresh import fresh_strength
from arena.matches.play import play_match
from arena.players.resolve import ResolvedPlayer
from pbt.records import PlayerRef, SnapshotRecord
from tests.arena.league.samples import RANDOM, game, snapshot, snapshot_player

Started = tuple[League, Incarnation]
ONEPLY = PlayerRef("scripted", "oneply")


def record(letter: str, member: str, frames: int, parent: str | None) -> SnapshotRecord:
    above = None if parent is None else parent * 64
    return SnapshotRecord(letter * 64, member, "player", 0, 0, frames, "schedule", above, 1)


def test_walks_follow_parents_past_snapshots_that_are_no_candidates() -> None:
    first = record("a", "m0", 1_000_000, None)
    between = record("b", "m0", 2_000_000, "a")
    last = record("c", "m0", 4_000_000, "b")
    other = record("d", "m1", 3_000_000, None)
    records = {one.snapshot_id: one for one in (first, between, last, other)}
    assert walks([first, other, last], records) == ([None, None, 0], [0.0, 0.0, 3.0])


def test_a_copy_branches_from_its_donor() -> None:
    donor = record("a", "m0", 5_000_000, None)
    copied = record("b", "m1", 5_500_000, "a")
    later = record("c", "m1", 6_000_000, "b")
    records = {one.snapshot_id: one for one in (donor, copied, later)}
    assert walks([donor, later], records) == ([None, 0], [0.0, 0.5])


def test_the_best_of_equal_players_claims_little(started: Started) -> None:
    league, source = started
    with LeagueWriter(league, source) as writer:
        for at, letter in enumerate("abcdef"):
            writer.snapshot(snapshot(letter, frames=1000 * at))
        for number in range(600):
            player = snapshot_player("abcdef"[number % 6])
            first = number // 6 % 2 == 0
            won = (number // 12 * 7 + number % 6) % 10 < 5
            seats = (player, RANDOM) if first else (RANDOM, player)
            places = (0, 1) if won == first else (1, 0)
            writer.game(game(number, seats, places, "evaluation"))
    table = population_table(league, "demo")
    claim = best_of_many(league, "demo", table)
    assert claim.candidates == 6 and claim.may_be_best == 6 and claim.may_be_random
    highest = max(row.low for row in table.rows if row.low is not None and row.player != RANDOM)
    assert claim.low is not None and claim.low < highest + 1e-6 < 0
    text = "\n".join(best_lines(league, "demo", table, ["player"]))
    assert (
        "chosen among 6" in text
        and "6 of 6 may be the best, an untrained one among them; so may" in text
    )


def test_fresh_games_count_in_no_rating(started: Started) -> None:
    league, _ = started
    players = [ResolvedPlayer(ref, ref.name, "connect_four", {}) for ref in (ONEPLY, RANDOM)]
    counted = play_match(*players, games=4, league=league)
    fresh = play_match(*players, games=4, league=league, fresh=True)
    assert population_results(league, "demo").matrix.games.sum() == 2 * 4
    assert {one.seed for one in fresh.records}.isdisjoint(one.seed for one in counted.records)
    assert any("a headline has 400 games or more, and this match 4" in one for one in fresh.notes)
    assert headline_matches(league, ONEPLY, "win") == []
    with pytest.raises(MatchError, match="leave --fresh or --greedy out"):
        play_match(*players, games=4, league=league, fresh=True, greedy=True)


def finished(
    league: League, players: Sequence[PlayerRef], games: int, seed: int, **settings: object
) -> int:
    match = create_match(league, "leduc", {}, players, games, seed, {"fresh": True, **settings})
    return finish_match(league, match, games).id


def test_no_choice_among_fresh_matches_makes_a_better_headline(started: Started) -> None:
    league, _ = started
    own, other = (ONEPLY, RANDOM), (RANDOM, ONEPLY)
    first = finished(league, own, 400, 1)
    finished(league, own, 12, 2)
    finished(league, own, 400, 3, greedy=True)
    finished(league, own, 400, 4, sprt={"games": 400, "elo0": 0, "elo1": 10})
    finished(league, own, 400, 5, objective="margin")
    finished(league, (ONEPLY, ONEPLY), 400, 6)
    finished(league, own, 400, 1)
    turned = finished(league, other, 600, 7)
    assert [match.id for match in headline_matches(league, ONEPLY, "win")] == [first, turned]


def test_fresh_matches_count_together_whichever_player_is_named_first(started: Started) -> None:
    league, _ = started
    players = [ResolvedPlayer(ref, ref.name, "connect_four", {}) for ref in (ONEPLY, RANDOM)]
    runs = [
        play_match(*named, games=40, seed=seed, league=league, fresh=True)
        for seed, named in enumerate((players, players[::-1]))
    ]
    found = fresh_strength(league, [run.match_id for run in runs if run.match_id is not None])
    assert found is not None and (found.units, found.matches) == (80, 2)
    # `oneply` wins nearly always, so half of the points turned round would give about 0.
    assert (found.low or 0) > 100
    assert fresh_strength(league, []) is None
