"""What the service is asked for and what became of it: desired states and operations. One short
transaction each.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from arena.league.answers import Answer, Keyed, answer_once
from arena.league.database import League
from arena.league.populations import find_population
from arena.league.rows import to_json
from arena.league.schema import members, operations, populations, snapshots, supervised
from arena.league.service_events import tell
from pbt.errors import PbtError, PlayerError

Desired = Literal["running", "paused", "stopped", "deleted"]
Kind = Literal["start", "stop", "pause", "resume", "delete"]
OperationState = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
OPEN: tuple[OperationState, ...] = ("PENDING", "RUNNING")
WANTED: Mapping[Kind, Desired] = {
    "start": "running",
    "resume": "running",
    "pause": "paused",
    "stop": "stopped",
    "delete": "deleted",
}


class ConflictError(PbtError):
    """Asked for something that does not fit the state a population is in."""


class PreconditionError(PbtError):
    """The population was changed since the caller looked."""


@dataclass(frozen=True, slots=True)
class Supervised:
    """A population as the service sees it.

    desired    what a person asked for last, None where nobody asked this service for anything;
               desired_at: when, seconds since 1970
    overrides  edits, "key=value", that are not part of its config yet, oldest first
    revision   counts what was asked for; 0: nothing
    state      as seen last;  reason: of a state that needs one;  message: the same for people;
               since: seconds since 1970
    restarts   starts in a row that ended by themselves before a new checkpoint
    trainer    identity of the process that trains it, None when the service started none
    """

    name: str
    created_at: float
    desired: Desired | None
    desired_at: float
    overrides: tuple[str, ...]
    revision: int
    state: str
    reason: str | None
    message: str
    since: float
    restarts: int
    trainer: str | None


@dataclass(frozen=True, slots=True)
class Operation:
    """grace_s: how long a stop waits before it kills, None for what is usual;  problem: why it
    failed
    """

    id: int
    population: str
    kind: Kind
    grace_s: float | None
    state: OperationState
    created_at: float
    finished_at: float | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class NewPopulation:
    """As `arena.league.populations.create_population` takes it."""

    name: str
    env: str
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    member_roles: Sequence[tuple[str, str]]


# --- asking ---------------------------------------------------------------------------------------


def create_supervised(
    league: League,
    new: NewPopulation,
    keyed: Keyed | None,
    render: Callable[[Supervised], Answer],
    *,
    start: bool = False,
) -> Answer:
    """start: it is wanted to run at once. Raises: ConflictError when the name is taken,
    ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        if connection.execute(
            select(populations.c.id).where(populations.c.name == new.name)
        ).first():
            raise ConflictError(f"population {new.name!r} exists already; choose another name")
        removing = (
            operations.c.population == new.name,
            operations.c.kind == "delete",
            operations.c.state.in_(OPEN),
        )
        if connection.execute(select(operations.c.id).where(*removing)).first():
            raise ConflictError(
                f"an earlier population {new.name!r} is still being removed; wait, or choose "
                "another name"
            )
        now, options = time.time(), to_json(new.config["env"]["options"])
        texts = {
            "env_options": options,
            "config": to_json(new.config),
            "versions": to_json(new.versions),
        }
        row = connection.execute(
            insert(populations).values(
                name=new.name, env_name=new.env, **texts, state="created", created_at=now
            )
        )
        assert row.inserted_primary_key is not None
        population_id = int(row.inserted_primary_key[0])
        roles = [
            {"population_id": population_id, "name": name, "role": role, "position": place}
            for place, (name, role) in enumerate(new.member_roles)
        ]
        connection.execute(insert(members), roles)
        _put(
            connection,
            population_id,
            "running" if start else "stopped",
            "created",
            "not started yet",
        )
        tell(connection, "population", new.name, {"state": "created"})
        return render(_supervised(connection, new.name))

    return answer_once(league, keyed, act)


def ask(
    league: League,
    name: str,
    kind: Kind,
    render: Callable[[Operation], Answer],
    *,
    grace_s: float | None = None,
    keyed: Keyed | None = None,
    if_revision: int | None = None,
) -> Answer:
    """Note what is wanted. Asked again for what is wanted already, the same operation is given, and
    at most its grace becomes shorter.

    Raises: PlayerError, ConflictError, ReusedKeyError; PreconditionError when its revision is not
    `if_revision`.
    """

    def act(connection: Connection) -> Answer:
        seen = _supervised(connection, name)
        _refuse_revision(seen, if_revision)
        _refuse_transition(seen, kind)
        newest = _newest_operation(connection, name)
        if (
            newest is not None
            and WANTED[newest.kind] == WANTED[kind] == seen.desired
            and (newest.state in OPEN or seen.state not in ENDED)
        ):
            return render(_shortened(connection, newest, grace_s))
        now = time.time()
        earlier = operations.c.population == name, operations.c.state.in_(OPEN)
        connection.execute(
            update(operations)
            .where(*earlier)
            .values(state="STOPPED", finished_at=now, problem=f"{kind} was asked for instead")
        )
        row = connection.execute(
            insert(operations).values(
                population=name, kind=kind, grace_s=grace_s, state="PENDING", created_at=now
            )
        )
        assert row.inserted_primary_key is not None
        state, message = (
            (seen.state, seen.message)
            if seen.state not in ENDED
            else ("stopped", f"{kind} asked for")
        )
        _put(
            connection,
            _population_id(connection, name),
            WANTED[kind],
            state,
            message,
            desired_at=now,
            revision=seen.revision + 1,
        )
        operation = _operation(connection, int(row.inserted_primary_key[0]))
        tell(
            connection,
            "operation",
            name,
            {"id": operation.id, "kind": kind, "state": operation.state},
        )
        return render(operation)

    return answer_once(league, keyed, act)


ENDED = ("failed", "finished")
"""Seen states that nothing leaves but a new request."""


def edit(
    league: League,
    name: str,
    overrides: Sequence[str],
    render: Callable[[Supervised], Answer],
    *,
    keyed: Keyed | None,
    if_revision: int | None,
    anchor: str | None = None,
) -> Answer:
    """Add edits that its trainer takes; the caller has checked them. anchor: a snapshot they need,
    never thinned out from now on.

    Raises: PlayerError, PreconditionError, ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        seen = _supervised(connection, name)
        _refuse_revision(seen, if_revision)
        if seen.desired == "deleted":
            raise ConflictError(f"population {name!r} is being deleted")
        _put(
            connection,
            _population_id(connection, name),
            seen.desired or "stopped",
            seen.state,
            seen.message,
            revision=seen.revision + 1,
        )
        mine = supervised.c.population_id == _population_id(connection, name)
        connection.execute(
            update(supervised).where(mine).values(overrides=to_json([*seen.overrides, *overrides]))
        )
        if anchor is not None:
            connection.execute(
                update(snapshots).where(snapshots.c.snapshot_id == anchor).values(is_anchor=1)
            )
        tell(connection, "population", name, {"edits": list(overrides)})
        return render(_supervised(connection, name))

    return answer_once(league, keyed, act)


def _shortened(connection: Connection, operation: Operation, grace_s: float | None) -> Operation:
    """Who asks again in more of a hurry need not wait for what was said before."""
    if (
        grace_s is None
        or operation.state not in OPEN
        or (operation.grace_s is not None and operation.grace_s <= grace_s)
    ):
        return operation
    connection.execute(
        update(operations).where(operations.c.id == operation.id).values(grace_s=grace_s)
    )
    return _operation(connection, operation.id)


def _refuse_revision(seen: Supervised, wanted: int | None) -> None:
    if wanted is not None and wanted != seen.revision:
        raise PreconditionError(
            f"population {seen.name!r} is at revision {seen.revision}, If-Match names "
            f"{wanted}; look again, then ask again"
        )


def _refuse_transition(seen: Supervised, kind: Kind) -> None:
    if seen.desired == "deleted" and kind != "delete":
        raise ConflictError(f"population {seen.name!r} is being deleted")
    if kind == "pause" and seen.desired not in ("running", "paused"):
        raise ConflictError(
            f"population {seen.name!r} is not meant to run "
            f"({seen.desired or 'never started'}); only what runs can be paused"
        )
    if kind == "resume" and seen.desired not in ("running", "paused"):
        raise ConflictError(
            f"population {seen.name!r} is not paused ({seen.desired or 'never started'}); start it"
        )


# --- telling what became of it --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObservedState:
    """What the supervisor found. settle: what is desired from now on, None to leave it;
    in_force: so many of the oldest edits are in its config.
    """

    state: str
    reason: str | None
    message: str
    restarts: int
    trainer: str | None
    settle: Desired | None = None
    in_force: int = 0


def record(league: League, name: str, seen: ObservedState, revision: int) -> bool:
    """Keep what was found, unless something else was asked for meanwhile (another revision):
    then False. Finishes operations that it answers.
    """
    with league.write() as connection:
        before = _supervised(connection, name)
        if before.revision != revision:
            return False
        values: dict[str, Any] = {
            "state": seen.state,
            "reason": seen.reason,
            "message": seen.message,
            "restarts": seen.restarts,
        }
        changed = (before.state, before.reason, before.message) != (
            seen.state,
            seen.reason,
            seen.message,
        )
        if changed:
            values["since"] = time.time()
        if seen.settle is not None:
            values["desired"] = seen.settle
        if seen.in_force:
            values["overrides"] = to_json(before.overrides[seen.in_force :])
        mine = supervised.c.population_id == _population_id(connection, name)
        connection.execute(update(supervised).where(mine).values(**values, trainer=seen.trainer))
        if changed:
            tell(
                connection,
                "population",
                name,
                {
                    "state": seen.state,
                    "reason": seen.reason,
                    "message": seen.message,
                    "restarts": seen.restarts,
                },
            )
        return True


def finish_operations(
    league: League,
    name: str,
    state: OperationState,
    problem: str | None = None,
    kinds: Sequence[Kind] = tuple(WANTED),
) -> None:
    """All open operations of a population, of these kinds, come to this; RUNNING leaves them
    open.
    """
    with league.write() as connection:
        mine = (
            operations.c.population == name,
            operations.c.state.in_(OPEN),
            operations.c.kind.in_(kinds),
            operations.c.state != state,
        )
        for row in connection.execute(select(operations).where(*mine)).all():
            ended = None if state in OPEN else time.time()
            connection.execute(
                update(operations)
                .where(operations.c.id == row.id)
                .values(state=state, finished_at=ended, problem=problem)
            )
            tell(
                connection,
                "operation",
                name,
                {"id": row.id, "kind": row.kind, "state": state, "problem": problem},
            )


# --- reading --------------------------------------------------------------------------------------


def list_supervised(league: League) -> list[Supervised]:
    """Every population of the league, oldest first."""
    with league.read() as connection:
        rows = connection.execute(_EVERY)
        return [_to_supervised(row) for row in rows]


def get_supervised(league: League, name: str) -> Supervised:
    """Raises: PlayerError."""
    with league.read() as connection:
        return _supervised(connection, name)


def get_operation(league: League, operation_id: int) -> Operation:
    """Raises: PlayerError."""
    with league.read() as connection:
        return _operation(connection, operation_id)


def open_operations(league: League) -> list[Operation]:
    """Oldest first."""
    with league.read() as connection:
        rows = connection.execute(
            select(operations).where(operations.c.state.in_(OPEN)).order_by(operations.c.id)
        )
        return [Operation(**row._mapping) for row in rows]


def _build() -> Any:
    wanted = [column for column in supervised.c if column.name not in ("population_id", "state")]
    joined = populations.outerjoin(supervised, supervised.c.population_id == populations.c.id)
    named = (
        populations.c.id,
        populations.c.name,
        populations.c.created_at,
        populations.c.state.label("league_state"),
    )
    return select(*named, supervised.c.state.label("seen_state"), *wanted).select_from(joined)


_EVERY = _build().order_by(populations.c.created_at, populations.c.id)
_NAMED = _build().where(populations.c.name == bindparam("name"))


def _supervised(connection: Connection, name: str) -> Supervised:
    found = connection.execute(_NAMED, {"name": name}).first()
    if found is None:
        find_population(connection, name)  # raises, naming what there is
    return _to_supervised(found)


def _to_supervised(row: Any) -> Supervised:
    if row.desired is None:
        state = row.league_state
        return Supervised(
            row.name,
            row.created_at,
            None,
            row.created_at,
            (),
            0,
            state,
            None,
            "never asked of this service",
            row.created_at,
            0,
            None,
        )
    return Supervised(
        row.name,
        row.created_at,
        row.desired,
        row.desired_at,
        tuple(json.loads(row.overrides)),
        row.revision,
        row.seen_state,
        row.reason,
        row.message,
        row.since,
        row.restarts,
        row.trainer,
    )


def _population_id(connection: Connection, name: str) -> int:
    return int(
        connection.execute(select(populations.c.id).where(populations.c.name == name)).scalar_one()
    )


def _put(
    connection: Connection,
    population_id: int,
    desired: Desired,
    state: str,
    message: str,
    *,
    desired_at: float | None = None,
    revision: int = 1,
) -> None:
    """Insert what a population has no row for yet; else what is wanted, and the state, change,
    and its trainer stays known.
    """
    now = time.time()
    values: dict[str, Any] = {
        "desired": desired,
        "state": state,
        "reason": None,
        "message": message,
        "revision": revision,
    }
    if desired_at is not None:
        values["desired_at"] = desired_at
    kept = {"desired_at": now, "overrides": "[]", "since": now, "restarts": 0, "trainer": None}
    added = upsert(supervised).values(population_id=population_id, **{**kept, **values})
    connection.execute(added.on_conflict_do_update(index_elements=["population_id"], set_=values))


def _operation(connection: Connection, operation_id: int) -> Operation:
    row = connection.execute(select(operations).where(operations.c.id == operation_id)).first()
    if row is None:
        raise PlayerError(f"no operation {operation_id}")
    return Operation(**row._mapping)


def _newest_operation(connection: Connection, name: str) -> Operation | None:
    row = connection.execute(
        select(operations)
        .where(operations.c.population == name)
        .order_by(operations.c.id.desc())
        .limit(1)
    ).first()
    return None if row is None else Operation(**row._mapping)
