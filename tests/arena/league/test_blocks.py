"""Training games in blocks are those that were handed over, and what rows of them would be."""

import json
import random
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from math import fsum

import numpy as np
import pytest

from arena.league.block_bytes import BlockError, pack, unpack
from arena.league.block_games import digest_block, game_records, pair_totals, voided
from arena.league.blocks import columns_of
from arena.league.chain import chain_of_population
from arena.league.chain_check import check_chain
from arena.league.chain_rows import digest_games
from arena.league.database import League
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.paging import population_game_page
from arena.league.populations import Incarnation, open_incarnation
from arena.league.round_history import missing_games
from arena.league.rows import game_row, seat_row
from arena.league.schema import game_key
from arena.league.writer import LeagueWriter
from pbt.errors import EngineError
from pbt.records import GameRecord, PlayerRef, SeatRecord, is_voided
from tests.arena.league.altering import into_rows
from tests.arena.league.samples import game, member, write_games
from tests.league_rows import league_rows

Started = tuple[League, Incarnation]
KINDS = ("member", "snapshot", "scripted", "guest")
START = 3
TABLES = ("games", "game_seats")


def players(rng: random.Random) -> list[PlayerRef]:
    """Some players; several may have one name, and names may be any text."""
    names = ["m0", "m1", "", "é✓", "random", "f" * 64]
    return [PlayerRef(rng.choice(KINDS), rng.choice(names)) for _ in range(rng.randint(1, 9))]  # type: ignore[arg-type]


def records(rng: random.Random, most: int = 40) -> list[GameRecord]:
    """Training games with everything that a record may hold, by ascending number."""
    seated, odd = players(rng), rng.random() < 0.5
    number, made = rng.choice((0, 5, 2**36 - 40_000)), []
    reasons = ["four in a row", "", "voided: " + "x" * rng.randint(0, 900), "ü\n"]
    for place in range(rng.randint(1, most)):
        number += rng.choice((1, 1, 1, 2, 300)) if place else 0
        seats = tuple(
            SeatRecord(
                PlayerRef(player.kind, player.name) if odd else player,
                rng.choice((0, 1, 2**40)),
                rng.choice((None, 0, 7, 10**6)) if odd else 3,
                rng.randint(0, 10**6),
                rng.randint(0, 3),
                rng.choice((1.0, -1.0, 0.0, -0.0, 0.1, 1e300, float("inf"))) if odd else 1.0,
                rng.choice((None, 2.5, -3.0)) if odd else None,
            )
            for player in rng.choices(seated, k=rng.choice((1, 2, 2, 3)) if odd else 2)
        )
        made.append(
            GameRecord(
                number,
                place % 7,
                rng.choice((place, 2**31 + place)),
                "training",
                rng.choice((rng.getrandbits(63), -(2**63) + 1, 5)) if odd else rng.getrandbits(31),
                seats,
                rng.choice((0, 1, 12, 2**33)),
                rng.randint(0, 500),
                rng.choice(reasons),
                rng.randbytes(rng.choice((0, 1, 8)) if odd else 8).hex(),
                rng.choice((None, b"", b"\x00\xff")) if odd else None,
                rng.choice((0, 4)),
                rng.random() < 0.5,
                rng.choice((None, 0, 2**40)) if odd else None,
            )
        )
    return made


def id_of(player: PlayerRef) -> int:
    """Another id for every player."""
    return 1 + KINDS.index(player.kind) + 4 * int.from_bytes(player.name.encode()[:5])


@pytest.mark.parametrize("seed", range(60))
def test_a_block_holds_the_records_and_has_the_digest_of_their_rows(seed: int) -> None:
    given = records(random.Random(seed))
    known = {id_of(seat.player): seat.player for one in given for seat in one.seats}
    names = {key: f"{one.kind} {one.name}" for key, one in known.items()}
    packed = pack(columns_of(given, id_of))
    block = unpack(packed)
    found = list(game_records(block, range(len(given)), known))
    # By their texts, which tell 0.0 from -0.0.
    assert (found, repr(found)) == (given, repr(given))
    keys = [game_key(START, one.number) for one in given]
    rows = [game_row(key, START, None, one, 0) for key, one in zip(keys, given, strict=True)]
    seats = [
        seat_row(key, place, id_of(seat.player), seat)
        for key, one in zip(keys, given, strict=True)
        for place, seat in enumerate(one.seats)
    ]
    assert digest_block(START, block, names) == digest_games(rows, seats, names)
    assert pack(block) == packed


def test_the_bytes_are_as_they_are_described(started: Started) -> None:
    """Read by another reader, which follows the description."""
    league, source = started
    played(league, source)
    for seed in range(1, 5):
        odd = enumerate(records(random.Random(seed)), 10**6 * seed)
        write_games(league, source, *(at(one, number) for number, one in odd))
    with closing(league_rows(league.path)) as connection:
        tables = [
            sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES
        ]
    into_rows(league)
    with closing(sqlite3.connect(league.path)) as connection:
        for table, rows in zip(TABLES, tables, strict=True):
            assert sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) == rows


def at(record: GameRecord, number: int) -> GameRecord:
    """The game with another number, at a table of its own."""
    return replace(record, number=number, environment=number)


def slow_totals(given: Sequence[GameRecord]) -> dict[tuple[str, str], list[float]]:
    """As `pair_totals`, game by game; without another player, of the opponent ""."""
    totals: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 6)
    for one in given:
        here = dict.fromkeys(repr(seat.player) for seat in one.seats)
        own = {name: [s for s in one.seats if repr(s.player) == name] for name in here}
        best = {name: min(seat.place for seat in seats) for name, seats in own.items()}
        for name, seats in own.items():
            mean = fsum(seat.returns for seat in seats) / len(seats)
            for other in [one for one in own if one != name] or [""]:
                place, its = best[name], best.get(other)
                ahead = [0, 0, 0] if its is None else [place < its, place == its, place > its]
                sums = totals[name, other]
                sums[:] = [a + b for a, b in zip(sums, [1, *ahead, mean, mean**2], strict=True)]
    return {key: sums for key, sums in totals.items() if key[0].startswith("PlayerRef(kind='memb")}


@pytest.mark.parametrize("seed", range(40))
def test_totals_are_those_of_its_games_one_by_one(seed: int) -> None:
    given = [
        replace(one, seats=tuple(replace(seat, returns=seat.place / 3) for seat in one.seats))
        for one in records(random.Random(seed))
    ]
    block = columns_of(given, id_of)
    known = {id_of(seat.player): repr(seat.player) for one in given for seat in one.seats}
    live = [key for key, name in known.items() if "'member'" in name]
    assert voided(block).tolist() == [is_voided(one.end_reason) for one in given]
    totals = pair_totals(block, ~voided(block), live)
    found = {(known[one.player], known.get(one.opponent, "")): list(one[2:]) for one in totals}
    expected = slow_totals([one for one in given if not is_voided(one.end_reason)])
    assert found.keys() == expected.keys() and len(found) == len(totals)
    for key, sums in expected.items():
        assert found[key] == pytest.approx(sums, rel=1e-12)


def test_what_cannot_be_stored_is_named() -> None:
    bad = replace(game(4).seats[0], returns=float("nan"))
    for wrong, said in (
        (replace(game(4), number=-1), "game number -1: expected 0 to 68719476735"),
        (replace(game(4), number=2**36), "game number 68719476736: expected 0 to 68719476735"),
        (replace(game(4), trajectory_hash="xy"), "game 4: trajectory_hash = 'xy'; expected hexa"),
        (replace(game(4), seats=(bad, game(4).seats[1])), "game 4: a seat returned nan"),
    ):
        with pytest.raises(EngineError, match=said):
            columns_of([wrong], id_of)
    with pytest.raises(OverflowError):
        columns_of([replace(game(4), seed=2**63)], id_of)


@pytest.mark.parametrize("seed", range(300))
def test_damaged_bytes_are_refused(seed: int) -> None:
    rng = random.Random(seed)
    whole = pack(columns_of(records(random.Random(seed % 20), 12), id_of))
    packed = bytearray(whole)
    end = 5 + int.from_bytes(packed[1:5], "little")
    at = rng.randrange(end)
    packed[at] ^= 1 << rng.randrange(8)
    with suppress(BlockError):
        assert pack(unpack(bytes(packed))) == whole, "only a bit that says nothing may be turned"
    with pytest.raises(BlockError, match="a block that cannot be read"):
        unpack(whole[: rng.randrange(len(packed))])


@pytest.mark.parametrize("seed", range(100))
def test_a_forged_head_never_gives_anything_but_games_or_a_block_error(seed: int) -> None:
    rng = random.Random(seed)
    packed = pack(columns_of(records(rng, 12), id_of))
    end = 5 + int.from_bytes(packed[1:5], "little")
    content = zlib.decompress(packed[5:end])
    size = 4 + int.from_bytes(content[:4], "little")
    head = json.loads(content[4:size])
    key = rng.choice(list(head))
    if key == "columns":
        column = rng.choice(head["columns"])
        column[rng.randrange(3)] = rng.choice(("0", "1", "8", "f", "seed", 5, -1, 2**70, None))
    else:
        head[key] = rng.choice((0, -1, 1, 2**40, None, [], "x", [None]))
    text = json.dumps(head).encode()
    forged = zlib.compress(len(text).to_bytes(4, "little") + text + content[size:])
    bytes_of = packed[:1] + len(forged).to_bytes(4, "little") + forged + packed[end:]
    try:
        block = unpack(bytes_of)
    except BlockError:
        return
    known = defaultdict(lambda: member("m0"))
    assert len(list(game_records(block, range(len(block.numbers)), known))) == len(block.numbers)


def played(league: League, source: Incarnation) -> None:
    """Two starts; the second takes back what came after game 57, in the midst of a block."""
    rng = random.Random(1)
    seated = [member("m0"), member("m1"), PlayerRef("snapshot", "a" * 64)]

    def write(start: Incarnation, first: int, last: int) -> None:
        with LeagueWriter(league, start) as writer:
            for number in range(first, last):
                pair, kind = rng.sample(seated, 2), "evaluation" if number % 9 == 0 else "training"
                reason = "voided: x" if number % 13 == 0 else "won"
                places = rng.choice(((0, 1), (1, 0), (0, 0)))
                record = game(number, pair, places, kind, end_reason=reason)  # type: ignore[arg-type]
                writer.game(replace(record, steps=rng.randint(1, 30)))
                if number % 20 == 0:
                    writer.drain(60.0)

    write(source, 0, 100)
    write(open_incarnation(league, source.population_id, 1, last_game=57), 58, 130)


def test_readers_tell_the_same_of_blocks_as_of_rows(started: Started) -> None:
    league, source = started
    played(league, source)
    filters = [
        GameFilter(kind, seats, first, last, off, gone, against, result, shortest, longest)
        for kind in (None, "training", "evaluation")
        for seats, against, result in (
            ((), (), None), (("m0",), (), "won"), ((), (), "drawn"), (("m0",), ("m1",), "lost"),
        )
        for first, last, off, gone, shortest, longest in (
            (0, None, True, False, 0, None), (17, 93, False, True, 5, 20),
            (0, None, True, True, 0, 9),
        )
    ]  # fmt: skip

    def told() -> list[object]:
        pages = []
        for wanted in filters[::4]:
            before = None
            while True:
                page = population_game_page(league, "demo", wanted, before, 7)
                pages.append(page)
                if (before := page.next) is None:
                    break
        report = check_chain(league, chain_of_population(source.population_id))
        return [
            *(list(population_games(league, "demo", wanted)) for wanted in filters),
            pages, missing_games(league, "demo"), report.differences, dict(report.rows),
        ]  # fmt: skip

    of_blocks = told()
    assert of_blocks[-3:-1] == [None, ()] and len(of_blocks[0]) > 100  # type: ignore[arg-type]
    into_rows(league)
    assert told() == of_blocks


def test_numbers_stay_what_they_were() -> None:
    """Steps between numbers are stored, and the number of the first."""
    numbers = [7, 8, 300, 70_000, 2**35]
    block = unpack(pack(columns_of([replace(game(n), count=n) for n in numbers], id_of)))
    assert block.numbers.tolist() == numbers and block.numbers.dtype == np.int64
