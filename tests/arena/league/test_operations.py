"""Requests to the service take effect once per key, in one transaction with their answer.

What was observed never overwrites a newer request.
"""

import json
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, func, insert, select

from arena.league import idempotency as answers
from arena.league.database import League, _engine, open_league
from arena.league.deletion import delete_population
from arena.league.idempotency import Answer, Keyed, ReusedKeyError, answer_once
from arena.league.migrate import ensure_schema
from arena.league.operations import (
    Kind,
    Operation,
    ask,
    finish_operations,
    get_operation,
    open_operations,
)
from arena.league.population_requests import create_supervised, edit
from arena.league.populations import Incarnation, NewPopulation
from arena.league.schema import operations, populations, supervised
from arena.league.service_events import events_after
from arena.league.supervised import (
    ConflictError,
    ObservedState,
    PreconditionError,
    Supervised,
    get_supervised,
    list_supervised,
    record,
)
from pbt.errors import PlayerError
from tests.arena.league.samples import CONFIG, MEMBERS

Started = tuple[League, Incarnation]


def rendered(found: Operation | Supervised) -> Answer:
    return Answer(
        200, None, json.dumps({"id": found.id if isinstance(found, Operation) else found.name})
    )


def asked(league: League, kind: Kind, name: str = "demo", **more: object) -> int:
    """The number of the requested operation. more: keywords of `ask`."""
    answer = ask(league, name, kind, rendered, **more)  # type: ignore[arg-type]
    return int(json.loads(answer.body)["id"])


def count(league: League, table: Table) -> int:
    with league.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def new(name: str) -> NewPopulation:
    return NewPopulation(name, "connect_four", CONFIG, {}, MEMBERS)


def test_a_population_made_by_hand_is_known_and_asked_for_nothing(started: Started) -> None:
    league, _ = started
    row = get_supervised(league, "demo")
    assert (row.desired, row.revision, row.state, row.overrides, row.trainer) == (
        None,
        0,
        "running",
        (),
        None,
    )
    assert asked(league, "start") == 1
    row = get_supervised(league, "demo")
    assert (row.desired, row.revision) == ("running", 1)


@pytest.mark.parametrize(
    ("before", "kind", "fits"),
    [
        ((), "pause", False),
        ((), "resume", False),
        ((), "stop", True),
        (("start",), "pause", True),
        (("start",), "resume", True),
        (("start", "stop"), "pause", False),
        (("start", "pause"), "resume", True),
        (("start", "pause"), "stop", True),
        (("start", "stop"), "resume", False),
        (("delete",), "start", False),
        (("delete",), "stop", False),
        (("delete",), "delete", True),
    ],
)
def test_transitions(started: Started, before: tuple[Kind, ...], kind: Kind, fits: bool) -> None:
    league, _ = started
    for earlier in before:
        asked(league, earlier)
    if fits:
        asked(league, kind)
    else:
        with pytest.raises(ConflictError):
            asked(league, kind)


def test_asked_again_it_is_the_same_operation(started: Started) -> None:
    league, _ = started
    first = asked(league, "start")
    assert [asked(league, "start"), asked(league, "resume")] == [first, first]
    finish_operations(league, "demo", "SUCCEEDED")
    assert asked(league, "start") == first
    second = asked(league, "stop")
    assert second != first
    assert asked(league, "start") not in (first, second)
    assert [get_operation(league, number).state for number in (first, second)] == [
        "SUCCEEDED",
        "STOPPED",
    ]
    assert [operation.kind for operation in open_operations(league)] == ["start"]


def test_after_an_end_a_start_is_a_new_one(started: Started) -> None:
    league, _ = started
    first = asked(league, "start")
    assert record(league, "demo", ObservedState("failed", "crashed", "it broke", 6, None), 1)
    finish_operations(league, "demo", "FAILED", "it broke")
    assert (get_operation(league, first).problem, get_supervised(league, "demo").state) == (
        "it broke",
        "failed",
    )
    second = asked(league, "start")
    row = get_supervised(league, "demo")
    assert (second != first, row.state, row.reason) == (True, "stopped", None)


def test_what_was_seen_does_not_overwrite_what_was_asked_meanwhile(started: Started) -> None:
    league, _ = started
    asked(league, "start")
    asked(league, "stop")
    assert not record(league, "demo", ObservedState("running", None, "", 0, "1 boot 2"), 1)
    assert get_supervised(league, "demo").trainer is None
    assert record(league, "demo", ObservedState("stopping", None, "saves", 0, "1 boot 2"), 2)
    assert get_supervised(league, "demo").trainer == "1 boot 2"


def test_edits_wait_until_they_are_in_force(started: Started) -> None:
    league, _ = started
    asked(league, "start")
    edit(league, "demo", ["a=1"], rendered, keyed=None, if_revision=1)
    with pytest.raises(PreconditionError, match="is at revision 2, If-Match names 1"):
        edit(league, "demo", ["b=2"], rendered, keyed=None, if_revision=1)
    edit(league, "demo", ["b=2", "c=3"], rendered, keyed=None, if_revision=None)
    assert get_supervised(league, "demo").overrides == ("a=1", "b=2", "c=3")
    assert record(league, "demo", ObservedState("running", None, "", 0, None, in_force=2), 3)
    row = get_supervised(league, "demo")
    assert (row.overrides, row.desired) == (("c=3",), "running")


def test_every_change_is_told_once(started: Started) -> None:
    league, _ = started
    asked(league, "start")
    for _ in range(3):
        record(league, "demo", ObservedState("running", None, "", 0, "1 b 2"), 1)
        finish_operations(league, "demo", "SUCCEEDED")
    told = [(event.topic, event.payload["state"]) for event in events_after(league, 0, 10)[0]]
    assert told == [("operation", "PENDING"), ("population", "running"), ("operation", "SUCCEEDED")]


def test_one_key_one_effect(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    league, _ = started
    calls: list[int] = []

    def act(connection: Connection) -> Answer:
        calls.append(1)
        return Answer(201, "/x", f'"{len(calls)}"')

    key = Keyed("POST /x k", b"body")
    assert (
        answer_once(league, key, act) == answer_once(league, key, act) == Answer(201, "/x", '"1"')
    )
    with pytest.raises(ReusedKeyError):
        answer_once(league, Keyed("POST /x k", b"other"), act)
    assert len(calls) == 1
    monkeypatch.setattr(answers, "KEPT_S", 0.0)
    assert answer_once(league, Keyed("POST /x k", b"other"), act).body == '"2"'


def test_an_effect_that_fails_leaves_no_answer(started: Started) -> None:
    league, _ = started

    def act(connection: Connection) -> Answer:
        connection.execute(
            insert(operations).values(population="x", kind="start", state="PENDING", created_at=0.0)
        )
        raise ConflictError("no")

    with pytest.raises(ConflictError):
        answer_once(league, Keyed("k", b""), act)
    assert count(league, operations) == 0
    assert (
        answer_once(league, Keyed("k", b""), lambda connection: Answer(200, None, "1")).body == "1"
    )


def test_names_are_unique_and_wait_for_the_end_of_a_deletion(started: Started) -> None:
    league, _ = started
    with pytest.raises(ConflictError, match="exists already"):
        create_supervised(league, new("demo"), None, rendered)
    create_supervised(league, new("second"), None, rendered, start=True)
    assert [(row.name, row.desired) for row in list_supervised(league)] == [
        ("demo", None),
        ("second", "running"),
    ]
    asked(league, "delete", "second")
    delete_population(league, "second")
    with pytest.raises(ConflictError, match="still being removed"):
        create_supervised(league, new("second"), None, rendered)
    finish_operations(league, "second", "SUCCEEDED")
    create_supervised(league, new("second"), None, rendered)
    assert get_supervised(league, "second").revision == 1


def test_a_deleted_population_takes_its_row_along_and_leaves_its_operations(
    started: Started,
) -> None:
    league, _ = started
    number = asked(league, "start")
    delete_population(league, "demo")
    assert (count(league, populations), count(league, supervised)) == (0, 0)
    assert get_operation(league, number).population == "demo"
    with pytest.raises(PlayerError, match="there are none yet"):
        get_supervised(league, "demo")
    with pytest.raises(PlayerError, match="no operation 77"):
        get_operation(league, 77)


def test_a_league_of_before_gets_the_tables_and_keeps_its_rows(
    tmp_path: Path, started: Started
) -> None:
    path = tmp_path / "old" / "league.db"
    path.parent.mkdir()
    path.touch()
    engine = _engine(path, False)
    ensure_schema(engine, path, revision="0001")
    with engine.begin() as connection:
        row = (
            "'old', 'connect_four', '{}', "
            '\'{"env":{"name":"connect_four","options":{}}}\', \'{}\', \'stopped\', 1.0'
        )
        connection.exec_driver_sql(
            "INSERT INTO populations (name, env_name, env_options, config, versions, state, "
            f"created_at) VALUES ({row})"
        )
    engine.dispose()
    with open_league(path) as league:
        assert [(found.name, found.state, found.desired) for found in list_supervised(league)] == [
            ("old", "stopped", None)
        ]
        ask(league, "old", "start", rendered)
    assert path.with_name("league.db.schema-0001.backup").exists()
