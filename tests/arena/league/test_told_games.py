"""Games that are told in columns make the block that records of the same games make."""

import random
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from arena.league.block_bytes import pack, unpack
from arena.league.blocks import BlockColumns, columns_of, joined
from arena.league.matches import create_match
from arena.league.told_games import ToldGames, columns_of_told
from arena.league.writer import LeagueWriter
from pbt.errors import EngineError
from pbt.records import GameRecord, PlayerRef
from pbt.transport.messages import UNKNOWN_VERSION, GamesOver, SeatPlan
from tests.arena.league.samples import RANDOM, new_league
from tests.arena.league.test_blocks import KINDS, id_of


def player(rng: random.Random) -> PlayerRef:
    return PlayerRef(rng.choice(KINDS), rng.choice("abc"))  # type: ignore[arg-type]


def told(rng: random.Random, seats: int, count: int, first: int) -> ToldGames:
    """A message about some games."""
    lineups = [
        tuple(SeatPlan(player(rng), 0, 0, True) for _ in range(seats))
        for _ in range(rng.randint(1, 3))
    ]
    of_seats = range(seats * count)
    pointless = rng.random() < 0.5
    games = GamesOver(
        tables=rng.sample(range(10**4), count),
        counts=rng.sample(range(10**6), count),
        seeds=[rng.getrandbits(31) for _ in range(count)],
        openings=[rng.randint(0, 8) for _ in range(count)],
        lineups=lineups,
        lineup=[rng.randrange(len(lineups)) for _ in range(count)],
        steps=[rng.randint(1, 42) for _ in range(count)],
        frames=[rng.randint(1, 99) for _ in range(count)],
        reasons=[rng.choice(("four in a row", "the board is full", "ü")) for _ in range(count)],
        hashes=[rng.randbytes(8).hex() for _ in range(count)],
        generations=[rng.randint(0, 3) for _ in of_seats],
        first_versions=[rng.choice((UNKNOWN_VERSION, 0, 7)) for _ in of_seats],
        last_versions=[rng.randint(0, 99) for _ in of_seats],
        places=[rng.randint(0, 1) for _ in of_seats],
        returns=[rng.choice((1.0, -1.0, -0.0, 0.3)) for _ in of_seats],
        points=[] if pointless else [rng.choice((nan, 2.0, -3.5)) for _ in of_seats],
        answers=[],
    )
    return ToldGames(first, games)


def records_of(one: ToldGames) -> list[GameRecord]:
    return one.games.records(one.first)


@pytest.mark.parametrize("seed", range(40))
def test_games_that_are_told_make_the_block_of_their_records(seed: int) -> None:
    rng, first, messages = random.Random(seed), 5, list[ToldGames]()
    seats = rng.randint(1, 4)
    for _ in range(rng.randint(1, 4)):
        messages.append(told(rng, seats, rng.randint(1, 9), first))
        first += messages[-1].size + rng.choice((0, 0, 3))
    records = [record for one in messages for record in records_of(one)]
    assert pack(columns_of_told(messages, id_of)) == pack(columns_of(records, id_of))


@pytest.mark.parametrize("seed", range(40))
def test_parts_are_joined_in_the_order_of_their_numbers(seed: int) -> None:
    """Some games come as records, between those that are told in columns."""
    rng, first = random.Random(seed), 0
    messages, alone = list[ToldGames](), list[GameRecord]()
    for _ in range(rng.randint(1, 6)):
        one = told(rng, 2, rng.randint(1, 5), first)
        first += one.size
        if rng.random() < 0.5:
            messages.append(one)
        else:
            odd = rng.choice((None, b"\1\2"))
            alone += [replace(record, actions=odd, greedy=True) for record in records_of(one)]
    parts = [columns_of_told(messages, id_of)] if messages else []
    parts += [columns_of(alone, id_of)] if alone else []
    every = [*alone, *(record for one in messages for record in records_of(one))]
    every.sort(key=lambda record: record.number)
    whole = joined(parts)
    assert pack(whole) == pack(columns_of(every, id_of))
    kept = sorted(rng.sample(range(len(every)), rng.randint(1, len(every))))
    part = whole.part(np.array(kept))
    assert pack(part) == pack(columns_of([every[place] for place in kept], id_of))
    assert isinstance(unpack(pack(part)), BlockColumns)


def test_what_cannot_be_stored_is_named() -> None:
    fine = told(random.Random(1), 2, 2, 2**36 - 2)
    columns_of_told([fine], id_of)
    with pytest.raises(EngineError, match="game number 68719476736: expected 0 to 68719476735"):
        columns_of_told([ToldGames(2**36 - 1, fine.games)], id_of)
    odd = fine.games._replace(returns=[1.0, 1.0, nan, 1.0])
    with pytest.raises(EngineError, match="game 8: a seat returned nan; expected a number"):
        columns_of_told([ToldGames(7, odd)], id_of)


def test_a_match_takes_no_games_of_a_training(tmp_path: Path) -> None:
    league, _ = new_league(tmp_path)
    match = create_match(league, "connect_four", {}, [RANDOM, RANDOM], 4, 7, {})
    with LeagueWriter(league, match) as writer:
        with pytest.raises(EngineError, match="only games of a match belong there"):
            writer.training_games(told(random.Random(1), 2, 3, 0).games, 0)
        assert writer.backlog == 0
    league.close()
