"""Old training games are folded into counts; the newest and all evaluation games stay."""

import random
from contextlib import closing
from dataclasses import replace

from arena.league.chain import chain_of_population
from arena.league.chain_check import check_chain
from arena.league.compaction import Folding, Settled
from arena.league.database import League
from arena.league.game_choice import GameFilter
from arena.league.game_rows import folded_through, population_games
from arena.league.populations import Incarnation, open_incarnation
from arena.league.round_windows import RoundWindows
from arena.league.schema import folded_results, folds
from arena.league.writer import LeagueWriter
from pbt.records import GameRecord, MemberScore
from tests.arena.league.samples import RANDOM, game, member, round_record, snapshot_player

Started = tuple[League, Incarnation]
DEADLINE_S = 60.0


def record(number: int) -> GameRecord:
    """A game in which m0 wins two of three against m1.

    Every tenth is an evaluation game, every seventh is m0 against itself, every eleventh is voided.
    """
    if number % 10 == 0:
        return game(number, (snapshot_player("a"), RANDOM), (0, 1), "evaluation")
    players = (member("m0"), member("m0" if number % 7 == 0 else "m1"))
    places = (0, 1) if number % 3 else (1, 0)
    return game(number, players, places, end_reason="voided: test" if number % 11 == 0 else "won")


def write(
    league: League, incarnation: Incarnation, folding: Folding, first: int, last: int
) -> None:
    with LeagueWriter(league, incarnation, folding=folding) as writer:
        for number in range(first, last):
            writer.game(record(number))
            if number % 25 == 0:
                writer.drain(DEADLINE_S)


def counts(league: League) -> dict[tuple[int, int, int], tuple[int, int, int, int]]:
    with league.read() as connection:
        rows = connection.execute(folded_results.select()).all()
    return {
        (row.period, row.member_player_id, row.opponent_player_id): (
            row.games,
            row.wins,
            row.draws,
            row.losses,
        )
        for row in rows
    }


def test_counts_and_rows_together_are_everything(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 100, 50, 64), 0, 600)
    kept = [stored.record for stored in population_games(league, "demo")]
    training = [game for game in kept if game.kind == "training"]
    assert 100 <= len(training) <= 150 + 25
    assert training == [
        record(number)
        for number in range(training[0].number, 600)
        if record(number).kind == "training"
    ]
    assert sum(game.kind == "evaluation" for game in kept) == 60
    gone = [
        record(number) for number in range(training[0].number) if record(number).kind == "training"
    ]
    assert folded_through(league, "demo") == gone[-1].number
    scored = [game for game in gone if not game.end_reason.startswith("voided")]
    against = [game for game in scored if game.seats[1].player == member("m1")]
    wins = sum(game.seats[0].place == 0 for game in against)
    stored = counts(league)
    total = [sum(row[k] for key, row in stored.items() if key[2] != 0) for k in range(4)]
    assert total == [2 * len(against), len(against), 0, len(against)], (
        "both seats are members, one's win is the other's loss"
    )
    assert (
        sum(
            row[1]
            for key, row in stored.items()
            if key[2] != 0 and key[1] == min(key[1] for key in stored)
        )
        == wins
    )
    assert sum(row[0] for key, row in stored.items() if key[2] == 0) == len(scored) - len(against)
    assert {key[0] for key in stored} == {game.number // 64 for game in scored}
    with league.read() as connection:
        fold = connection.execute(folds.select()).one()
    assert (fold.games, fold.unscored_games) == (len(gone), len(gone) - len(scored))


def test_superseded_games_go_without_counting(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 10**6), 0, 300)
    again = open_incarnation(league, incarnation.population_id, 1, last_game=99)
    write(league, again, Folding(incarnation.population_id, 100, 50, 64), 100, 200)
    assert folded_through(league, "demo") == 99, "what was folded behind it had been superseded"
    assert sum(row[0] for key, row in counts(league).items() if key[2] != 0) == 2 * sum(
        record(n).kind == "training" and n % 11 != 0 and n % 7 != 0 for n in range(100)
    )
    left = population_games(league, "demo", GameFilter("training", superseded=True))
    assert all(not stored.superseded or stored.record.number > 99 for stored in left)


def test_nothing_is_folded_below_the_limit(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 1000), 0, 200)
    assert folded_through(league, "demo") == -1
    assert counts(league) == {}


def test_a_fold_waits_for_what_all_checkpoints_know(started: Started) -> None:
    league, incarnation = started
    folding = Folding(incarnation.population_id, 20, 20, 64, waits=True)
    write(league, incarnation, folding, 0, 200)

    def kept() -> set[int]:
        with closing(league.connect()) as connection:
            while folding.step(connection):
                pass
        games = population_games(league, "demo", GameFilter("training"))
        return {stored.record.number for stored in games}

    everything = {number for number in range(200) if number % 10}
    assert kept() == everything
    folding.settled = Settled(98, {})
    assert kept() == {number for number in everything if number > 75}, "a block ends with 99"
    # A block stays where one of its games may be in a window of m1; in none of them m9 sits.
    folding.settled = Settled(199, {"m1": 110, "m9": 0})
    assert kept() == {number for number in everything if number > 100}
    assert check_chain(league, chain_of_population(incarnation.population_id)).differences == ()


def test_folds_go_around_what_was_folded_before(started: Started) -> None:
    """A block stays for a window of m0, those behind it go; a later start folds the block."""
    league, incarnation = started
    never = Folding(incarnation.population_id, 10**6)
    with LeagueWriter(league, incarnation, folding=never) as writer:
        for number in range(200):
            other = member("m2" if number // 25 == 1 else "m0")
            writer.game(game(number, (member("m1"), other), (0, 1)))
            if number % 25 == 24:
                writer.drain(DEADLINE_S)
    for begins, left in ((10, {0, 2, 3, 4, 5, 6, 7}), (120, {4, 5, 6, 7})):
        folding = Folding(incarnation.population_id, 20, 80, 64, waits=True)
        folding.settled = Settled(199, {"m0": begins})
        with closing(league.connect()) as connection:
            while folding.step(connection):
                pass
        games = population_games(league, "demo", GameFilter("training"))
        assert {stored.record.number // 25 for stored in games} == left
        assert check_chain(league, chain_of_population(incarnation.population_id)).differences == ()


def test_ranges_of_rounds_are_joined(started: Started) -> None:
    league, incarnation = started
    rng = random.Random(3)
    ranges = [
        (first, first + rng.randrange(30)) for first in (rng.randrange(500) for _ in range(40))
    ]
    with LeagueWriter(league, incarnation) as writer:
        for place, (first, last) in enumerate(ranges):
            one = round_record(number=place)
            writer.round(replace(one, scores=(MemberScore("m0", 3, 0.5, first, last),)))
    windows = RoundWindows(incarnation.population_id)
    with league.read() as connection:
        windows.read(connection)
        windows.read(connection)
    for first in range(540):
        for last in (first, first + 1, first + 7):
            expected = any(low <= last and high >= first for low, high in ranges)
            assert windows.reach("m0", first, last) == expected
    assert not windows.reach("m1", 0, 1000)
