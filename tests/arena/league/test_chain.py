"""The chain of digests: its encoding, its links, and what is recorded when."""

import hashlib
import struct
from contextlib import closing
from dataclasses import replace

import pytest

from arena.league.chain import (
    BEFORE_FIRST,
    ChainContent,
    ChainRecord,
    append,
    chain_head,
    chain_of_match,
    chain_of_population,
    next_head,
    read_records,
    said,
)
from arena.league.chain_check import check_chain
from arena.league.chain_columns import HEADER, NO_ROWS, NamedColumn, digest_columns
from arena.league.chain_rows import parse_runs, runs_of
from arena.league.chain_state import ChainState
from arena.league.compaction import Folding
from arena.league.database import League
from arena.league.matches import create_match, fail_match, finish_match
from arena.league.populations import (
    Incarnation,
    add_members,
    open_incarnation,
)
from arena.league.retention import mark_anchor, mark_weights_removed
from arena.league.schema import chain, games
from arena.league.store import RowStore
from arena.league.superseding import NOTHING_KNOWN, CheckpointRows
from arena.league.writer import LeagueWriter
from tests.arena.league.altering import alter_game
from tests.arena.league.samples import (
    RANDOM,
    event,
    game,
    round_record,
    snapshot,
    snapshot_player,
    write_games,
)

Started = tuple[League, Incarnation]


def kinds(league: League, source: Incarnation) -> list[str]:
    with league.read() as connection:
        records = read_records(connection, chain_of_population(source.population_id), 0)
    return [record.content.kind for record in records]


def agrees(league: League, population_id: int) -> None:
    assert check_chain(league, chain_of_population(population_id)).differences == ()


# --- encoding -------------------------------------------------------------------------------------


def test_columns_are_encoded_as_the_page_says() -> None:
    columns = (
        NamedColumn("n", "i", (1, -2)),
        NamedColumn("same", "i", (7, 7, 7)),
        NamedColumn("x", "f", (0.5, -0.0)),
        NamedColumn("t", "t", ("ä", None, "")),
        NamedColumn("nothing", "b", (None, None)),
    )
    expected = HEADER + struct.pack("<I", 4)
    expected += struct.pack("<H1sc", 1, b"n", b"i") + struct.pack("<BQ2q", 0, 2, 1, -2)
    expected += struct.pack("<H4sc", 4, b"same", b"i") + struct.pack("<BQq", 1, 3, 7)
    expected += struct.pack("<H1sc", 1, b"x", b"f") + struct.pack("<BQ2d", 0, 2, 0.5, -0.0)
    expected += struct.pack("<H1sc", 1, b"t", b"t") + struct.pack("<BQB2q", 2, 3, 2, 2, 0)
    expected += "ä".encode()
    assert digest_columns(columns) == hashlib.sha256(expected).digest()


@pytest.mark.parametrize(
    ("values", "others"),
    [
        ((1, 2), (2, 1)),
        ((1, None), (1, 0)),
        ((1, 1), (1,)),
        ((), (0,)),
    ],
)
def test_other_values_have_another_digest(
    values: tuple[int | None, ...], others: tuple[int | None, ...]
) -> None:
    first, second = (NamedColumn("n", "i", column) for column in (values, others))
    assert digest_columns([first]) != digest_columns([second])


def test_floats_differ_by_their_bits_and_texts_by_their_bounds() -> None:
    zeros = [digest_columns([NamedColumn("x", "f", (zero, zero))]) for zero in (0.0, -0.0)]
    texts = [digest_columns([NamedColumn("t", "t", text)]) for text in (("ab", "c"), ("a", "bc"))]
    assert len({*zeros, *texts}) == 4


def test_a_column_that_is_added_later_changes_no_digest() -> None:
    columns = [NamedColumn("n", "i", (1, 2))]
    assert digest_columns(columns) == digest_columns([*columns, NamedColumn("m", "f", (None,) * 2)])


def test_a_value_of_another_type_is_refused() -> None:
    for column in (NamedColumn("n", "i", (1, "x")), NamedColumn("t", "t", ("x", 1))):
        with pytest.raises((TypeError, AttributeError)):
            digest_columns([column])


def test_runs_are_read_as_they_are_written() -> None:
    assert runs_of([3, 4, 5, 9, 11, 12]) == "3-5,9,11-12"
    assert parse_runs("3-5,9,11-12") == [(3, 5), (9, 9), (11, 12)]
    assert (runs_of([]), parse_runs("")) == ("", [])


# --- links ----------------------------------------------------------------------------------------


def linked(*contents: ChainContent) -> list[ChainRecord]:
    head, records = BEFORE_FIRST, []
    for position, content in enumerate(contents, start=1):
        head = next_head(head, position, content, 10.0)
        records.append(ChainRecord(position, content, 10.0, head))
    return records


CONTENTS = [ChainContent("rounds", k, k + 1, 2, bytes([k]) * 32) for k in (1, 3, 5)]


def test_every_field_of_a_record_is_in_its_head() -> None:
    records = linked(*CONTENTS)
    content = records[1].content
    altered = [
        replace(records[1], content=replace(content, **{name: value}))
        for name, value in {
            "kind": "events",
            "first": 2,
            "last": 9,
            "count": 3,
            "digest": bytes(32),
            "note": "{}",
        }.items()
    ]
    altered += [replace(records[1], created_at=11.0), replace(records[1], head=bytes(32))]
    for record in altered:
        state = ChainState()
        wrong = [one for part in (records[0], record, records[2]) for one in state.take(part)]
        assert wrong, record


def test_a_missing_record_and_another_order_are_named() -> None:
    first, second, third = linked(*CONTENTS)
    for order in ((first, third), (second, first, third), (second, third)):
        state = ChainState()
        assert [one.text for record in order for one in state.take(record)]
    state = ChainState(("ab" * 8, second.head.hex()[:20]))
    assert not [one for record in (first, second, third) for one in state.take(record)]
    assert state.seen == {second.head.hex()[:20]: 2}


# --- what is recorded -----------------------------------------------------------------------------


def test_every_commit_adds_the_records_of_its_rows(started: Started) -> None:
    league, source = started
    assert kinds(league, source) == ["population", "members", "starts"]
    with LeagueWriter(league, source) as writer:
        writer.game(game(0))
        writer.game(game(1, (snapshot_player("a"), RANDOM), (0, 1), "evaluation"))
        writer.snapshot(snapshot("a"))
        writer.round(round_record())
        writer.event(event())
        writer.drain(60.0)
        head = writer.head()
    assert set(kinds(league, source)[3:]) == {
        "training games",
        "evaluation games",
        "snapshots",
        "rounds",
        "events",
    }
    assert head == chain_head(league, chain_of_population(source.population_id))[1]
    agrees(league, source.population_id)


def test_a_batch_that_is_stored_again_is_recorded_once(started: Started) -> None:
    league, source = started
    for _ in range(2):
        with LeagueWriter(league, source) as writer:
            writer.game(game(0))
            writer.event(event())
    assert len(kinds(league, source)) == 5
    write_games(league, source, game(0), game(1), game(1))
    assert len(kinds(league, source)) == 6
    agrees(league, source.population_id)


def test_a_batch_that_is_rolled_back_leaves_no_record(started: Started) -> None:
    league, source = started
    store = RowStore(source)
    with closing(league.connect()) as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        store.write(connection, [game(0)])
        connection.exec_driver_sql("ROLLBACK")
    store.rolled_back()
    assert len(kinds(league, source)) == 3
    agrees(league, source.population_id)


def test_what_happens_to_rows_later_is_recorded(started: Started) -> None:
    league, source = started
    population = source.population_id
    with LeagueWriter(league, source) as writer:
        for number in range(30):
            writer.game(game(number))
        for letter in "abc":
            writer.snapshot(snapshot(letter))
        writer.round(round_record())
        writer.event(event())
        writer.drain(60.0)
        known = CheckpointRows(*writer.position, frozenset({"a" * 64}))
    mark_anchor(league, "a" * 64)
    mark_anchor(league, "a" * 64)
    mark_weights_removed(league, ["b" * 64], "demo")
    add_members(league, "demo", [("m9", "player")], ["m0"])
    again = open_incarnation(league, population, 2, last_game=19, known=known)
    with LeagueWriter(league, again) as writer:
        writer.snapshot(snapshot("b"))
        for number in range(20, 60):
            writer.game(game(number))
    open_incarnation(league, population, 3, known=NOTHING_KNOWN)
    told = kinds(league, source)
    assert told[told.index("anchor") :] == [
        "anchor",
        "weights removed",
        "members",
        "left",
        "superseded",
        "starts",
        "training games",
        "made again",
        "superseded",
        "starts",
    ]
    agrees(league, population)


def test_a_fold_takes_whole_batches_and_keeps_their_digest(started: Started) -> None:
    league, source = started
    folding = Folding(source.population_id, 40, 30, 50)
    with LeagueWriter(league, source, folding=folding) as writer:
        for number in range(200):
            writer.game(game(number))
            if number % 20 == 19:
                writer.drain(60.0)
    assert kinds(league, source).count("fold") >= 3
    report = check_chain(league, chain_of_population(source.population_id))
    assert (report.differences, report.folded) == ((), 140)
    with league.write() as connection:
        connection.execute(chain.update().where(chain.c.kind == "fold").values(digest=bytes(32)))
    texts = [one.text for one in check_chain(league, chain_of_population(1)).differences]
    assert any("games that differed from what was committed" in text for text in texts)


def test_games_that_were_altered_before_their_fold_are_found_behind_it(started: Started) -> None:
    league, source = started
    write_games(league, source, *(game(number) for number in range(100)))
    write_games(league, source, *(game(number) for number in range(100, 200)))
    alter_game(league, 5, steps=99)
    folding, connection = Folding(source.population_id, 100, 50), league.connect()
    assert folding.step(connection) and not folding.step(connection)
    connection.close()
    differences = check_chain(league, chain_of_population(source.population_id)).differences
    assert ["games that differed from what was committed" in one.found for one in differences] == [
        True
    ]


def test_a_match_has_a_chain_of_its_own(started: Started) -> None:
    league, _ = started
    players = [snapshot_player("a"), RANDOM]
    match = create_match(league, "connect_four", {}, players, 8, 7, {"greedy": False})
    match = fail_match(league, match, "it fell over")
    match = fail_match(league, match, None)
    with LeagueWriter(league, match) as writer:
        for number in (0, 1, 6, 7, 2, 3):
            writer.game(game(number, players, (0, 1), "evaluation", pair=number // 2))
    finish_match(league, match, 6)
    report = check_chain(league, chain_of_match(match.id))
    assert (report.differences, report.rows["match games"]) == ((), 6)
    with league.write() as connection:
        connection.execute(games.update().where(games.c.number == 6).values(seed=1))
    texts = [one.text for one in check_chain(league, chain_of_match(match.id)).differences]
    assert len(texts) == 1 and texts[0].startswith("game match:1:6: found")


def test_an_unreadable_note_is_a_difference(started: Started) -> None:
    league, source = started
    with league.write() as connection:
        append(connection, chain_of_population(source.population_id), [said("left", members=[])])
        append(
            connection,
            chain_of_population(source.population_id),
            [ChainContent("fold", 1, 2, 3, NO_ROWS, "[1]")],
        )
    texts = [one.text for one in check_chain(league, chain_of_population(1)).differences]
    assert any("a note that cannot be read" in text for text in texts)
