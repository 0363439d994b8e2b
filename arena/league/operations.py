"""Operations of the service: requests that start, stop, pause, resume or delete a population.

An operation stands in the league from its request to its end. Each function takes one short
transaction.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select, update

from arena.league.database import League, insert_row
from arena.league.idempotency import Answer, Keyed, answer_once
from arena.league.populations import find_population
from arena.league.schema import operations
from arena.league.service_events import tell
from arena.league.supervised import (
    ENDED,
    ConflictError,
    Desired,
    Supervised,
    find_supervised,
    put_supervised,
    refuse_revision,
)
from pbt.errors import PlayerError

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


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a population. Times are seconds since the epoch.

    id           number of the operation
    population   name of the population
    kind         what was requested
    grace_s      how long a stop waits before it kills; None for the default
    state        how far the operation is
    created_at   when it was requested
    finished_at  when it ended, None while it is open
    problem      why it failed, None otherwise
    """

    id: int
    population: str
    kind: Kind
    grace_s: float | None
    state: OperationState
    created_at: float
    finished_at: float | None
    problem: str | None


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
    """Stores a request and answers with its operation.

    A request for what is desired already gets the same operation; at most its grace gets shorter.

    Raises: PlayerError, ConflictError, ReusedKeyError; PreconditionError when the population is not
    at revision `if_revision`.
    """

    def act(connection: Connection) -> Answer:
        before = find_supervised(connection, name)
        refuse_revision(before, if_revision)
        _refuse_transition(before, kind)
        newest = _newest_operation(connection, name)
        if (
            newest is not None
            and WANTED[newest.kind] == WANTED[kind] == before.desired
            and (newest.state in OPEN or before.state not in ENDED)
        ):
            return render(_shortened(connection, newest, grace_s))
        operation = _begin(connection, before, kind, grace_s)
        shown = {"id": operation.id, "kind": kind, "state": operation.state}
        tell(connection, "operation", name, shown)
        return render(operation)

    return answer_once(league, keyed, act)


def _begin(
    connection: Connection, before: Supervised, kind: Kind, grace_s: float | None
) -> Operation:
    """Adds an operation and changes what is desired. It ends the operations that are open."""
    now = time.time()
    earlier = operations.c.population == before.name, operations.c.state.in_(OPEN)
    connection.execute(
        update(operations)
        .where(*earlier)
        .values(state="STOPPED", finished_at=now, problem=f"{kind} was asked for instead")
    )
    operation_id = insert_row(
        connection,
        operations,
        population=before.name,
        kind=kind,
        grace_s=grace_s,
        state="PENDING",
        created_at=now,
    )
    state, message = (
        (before.state, before.message)
        if before.state not in ENDED
        else ("stopped", f"{kind} asked for")
    )
    put_supervised(
        connection,
        find_population(connection, before.name).id,
        WANTED[kind],
        state,
        message,
        desired_at=now,
        revision=before.revision + 1,
    )
    return _operation(connection, operation_id)


def _shortened(connection: Connection, operation: Operation, grace_s: float | None) -> Operation:
    """The operation with the shorter of both graces: a repeated request may be more urgent."""
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


def _refuse_transition(before: Supervised, kind: Kind) -> None:
    if before.desired == "deleted" and kind != "delete":
        raise ConflictError(f"population {before.name!r} is being deleted")
    if kind == "pause" and before.desired not in ("running", "paused"):
        raise ConflictError(
            f"population {before.name!r} is not meant to run "
            f"({before.desired or 'never started'}); only what runs can be paused"
        )
    if kind == "resume" and before.desired not in ("running", "paused"):
        raise ConflictError(
            f"population {before.name!r} is not paused "
            f"({before.desired or 'never started'}); start it"
        )


def finish_operations(
    league: League,
    name: str,
    state: OperationState,
    problem: str | None = None,
    kinds: Sequence[Kind] = tuple(WANTED),
) -> None:
    """Gives this state to all open operations of a population that have one of these kinds.

    RUNNING leaves them open; every other state ends them.
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


def get_operation(league: League, operation_id: int) -> Operation:
    """One operation. Raises: PlayerError when the league has none of this number."""
    with league.read() as connection:
        return _operation(connection, operation_id)


def open_operations(league: League) -> list[Operation]:
    """The open operations of all populations, oldest first."""
    with league.read() as connection:
        rows = connection.execute(
            select(operations).where(operations.c.state.in_(OPEN)).order_by(operations.c.id)
        )
        return [Operation(**row._mapping) for row in rows]


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
