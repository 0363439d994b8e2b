"""Games that were counted once are not read again, and cached totals equal a fresh count."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import event as hook

from arena.league.database import League, open_league
from arena.league.deletion import _delete_some_games, delete_population
from arena.league.matches import create_match, finish_match
from arena.league.populations import Incarnation, create_population, open_incarnation, set_state
from arena.league.results import Results, game_results, population_results
from arena.league.writer import LeagueWriter
from pbt.records import GameRecord
from tests.arena.league.samples import CONFIG, RANDOM, game, snapshot, snapshot_player

Started = tuple[League, Incarnation]
PLAYERS = [RANDOM, *(snapshot_player(letter) for letter in "abcd")]


def evaluation(rng: random.Random, number: int) -> GameRecord:
    first, second = rng.sample(PLAYERS, 2)
    end_reason = rng.choice(["four in a row"] * 8 + ["voided: it hung"])
    return game(
        number,
        (first, second),
        rng.choice([(0, 1), (1, 0), (0, 0)]),
        "evaluation",
        end_reason=end_reason,
        greedy=rng.random() < 0.1,
    )


def write(league: League, source: Incarnation, rng: random.Random, first: int, games: int) -> None:
    with LeagueWriter(league, source) as writer:
        for number in range(first, first + games):
            writer.game(evaluation(rng, number) if rng.random() < 0.7 else game(number))


def same(found: Results, expected: Results) -> bool:
    return found.matrix.players == expected.matrix.players and all(
        np.array_equal(one, other)
        for one, other in (
            (found.matrix.wins, expected.matrix.wins),
            (found.matrix.draws, expected.matrix.draws),
        )
    )


def agree(league: League) -> None:
    """The results equal those of a league that was just opened, which has no cached totals."""
    with open_league(league.path, read_only=True) as fresh:
        assert same(population_results(league, "demo"), population_results(fresh, "demo"))
        assert same(
            population_results(league, "demo", everyone=True),
            population_results(fresh, "demo", everyone=True),
        )
        assert same(
            game_results(league, "connect_four", {}), game_results(fresh, "connect_four", {})
        )


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_totals_are_those_of_the_games(started: Started, seed: int) -> None:
    league, source = started
    rng, number = random.Random(seed), 0
    with LeagueWriter(league, source) as writer:
        for letter in "abcd":
            writer.snapshot(snapshot(letter))
    for step in range(25):
        match rng.choice(["play", "play", "play", "resume", "match", "other"]):
            case "play":
                write(league, source, rng, number, games := rng.randint(1, 30))
                number += games
            case "resume":  # what was played behind a checkpoint is played again
                number = rng.randint(0, number)
                source = open_incarnation(league, source.population_id, 1, last_game=number - 1)
            case "match":
                played = create_match(
                    league, "connect_four", {}, rng.sample(PLAYERS, 2), 6, step, {}
                )
                with LeagueWriter(league, played) as writer:
                    for each in range(6):
                        writer.game(game(each, played.players, (0, 1), "evaluation"))
                agree(league)
                finish_match(league, played, rng.randint(1, 6))
            case "other":
                other = create_population(league, f"other{step}", "connect_four", CONFIG, {})
                begun = open_incarnation(league, other, 1)
                write(league, begun, rng, 0, 20)
                agree(league)
                set_state(league, other, "deleting")
                _delete_some_games(league, begun.id)  # as a killed deletion leaves it
                agree(league)
                delete_population(league, f"other{step}")
        agree(league)
    assert len(population_results(league, "demo").matrix.players) > 2


def test_games_are_read_once(started: Started) -> None:
    league, source = started
    write(league, source, random.Random(0), 0, 100)
    read: list[str] = []

    def listen(
        connection: object, cursor: object, statement: str, parameters: object, *rest: object
    ) -> None:
        if "WITH met AS" in statement:
            read.append(str(parameters))

    hook.listen(league._engine, "before_cursor_execute", listen)
    population_results(league, "demo")
    population_results(league, "demo")
    assert len(read) == 1
    write(league, source, random.Random(1), 100, 30)
    agree(league)
    assert len(read) == 2 and read[0] != read[1]


def test_an_older_view_counts_what_it_sees(started: Started) -> None:
    league, source = started
    write(league, source, random.Random(0), 0, 30)
    with league.read():
        before = population_results(league, "demo")
        with ThreadPoolExecutor(1) as other:
            other.submit(write, league, source, random.Random(1), 30, 60).result()
            more = other.submit(population_results, league, "demo").result()
        assert more.matrix.wins.sum() > before.matrix.wins.sum()
        assert same(population_results(league, "demo"), before)
    agree(league)


def test_as_many_sources_are_remembered_as_fit(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.league.pair_totals.MAX_KEPT", 2)
    league, source = started
    for start in range(4):
        write(league, source, random.Random(start), 10 * start, 10)
        agree(league)
        source = open_incarnation(league, source.population_id, 1, last_game=10 * start + 9)
    assert len(league.pair_totals._kept) == 2
