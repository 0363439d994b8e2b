"""The desired and the observed state of each population, as the service keeps them in the league.

A request changes the desired state; the service compares it with what it observes, acts, and
records what it saw. Each function takes one short transaction.
"""

import json
import time
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.rows import from_row, to_json
from arena.league.schema import populations, supervised
from arena.league.service_events import tell
from pbt.errors import PbtError

Desired = Literal["running", "paused", "stopped", "deleted"]

ENDED = ("failed", "finished")
"""Observed states that only a new request ends."""


class ConflictError(PbtError):
    """A request does not fit the state of its population."""


class PreconditionError(PbtError):
    """A population was changed after the caller read it."""


@dataclass(frozen=True, slots=True)
class Supervised:
    """A population as the service sees it. Times are seconds since the epoch.

    name        name of the population
    created_at  when it was made
    desired     what was requested last; None when this service never got a request for it
    desired_at  when that was requested
    overrides   edits, "key=value", that are not part of its config yet, oldest first
    revision    counts the requests; 0 before the first
    state       the state that was observed last
    reason      why it is in that state, as a word for programs; None for a state without one
    message     the same for people
    since       when it came into that state
    restarts    starts in a row that ended by themselves before a new checkpoint
    trainer     identity of the process that trains it, None when the service started none
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
class ObservedState:
    """What the service observed of a population, and what follows from it.

    state     the state, as in `Supervised`
    reason    as in `Supervised`
    message   as in `Supervised`
    restarts  as in `Supervised`
    trainer   as in `Supervised`
    settle    what is desired from now on; None to leave it as it is
    in_force  how many of the oldest edits are part of its config now
    """

    state: str
    reason: str | None
    message: str
    restarts: int
    trainer: str | None
    settle: Desired | None = None
    in_force: int = 0


def record(league: League, name: str, observed: ObservedState, revision: int) -> bool:
    """Stores what was observed. Returns False, and stores nothing, after a newer request.

    revision  of the population when it was observed; a request in between has raised it
    """
    with league.write() as connection:
        before = find_supervised(connection, name)
        if before.revision != revision:
            return False
        shown: dict[str, Any] = {
            "state": observed.state,
            "reason": observed.reason,
            "message": observed.message,
            "restarts": observed.restarts,
        }
        values = dict(shown)
        changed = (before.state, before.reason, before.message) != (
            observed.state,
            observed.reason,
            observed.message,
        )
        if changed:
            values["since"] = time.time()
        if observed.settle is not None:
            values["desired"] = observed.settle
        if observed.in_force:
            values["overrides"] = to_json(before.overrides[observed.in_force :])
        mine = supervised.c.population_id == find_population(connection, name).id
        connection.execute(
            update(supervised).where(mine).values(**values, trainer=observed.trainer)
        )
        if changed:
            tell(connection, "population", name, shown)
        return True


def list_supervised(league: League) -> list[Supervised]:
    """Every population of the league, oldest first."""
    with league.read() as connection:
        rows = connection.execute(_EVERY)
        return [_to_supervised(row) for row in rows]


def get_supervised(league: League, name: str) -> Supervised:
    """One population. Raises: PlayerError when the league has none of this name."""
    with league.read() as connection:
        return find_supervised(connection, name)


# --- inside a transaction of the caller -----------------------------------------------------------


def _build() -> Any:
    columns = [column for column in supervised.c if column.name not in ("population_id", "state")]
    joined = populations.outerjoin(supervised, supervised.c.population_id == populations.c.id)
    named = (
        populations.c.id,
        populations.c.name,
        populations.c.created_at,
        populations.c.state.label("league_state"),
    )
    return select(*named, supervised.c.state.label("seen_state"), *columns).select_from(joined)


_EVERY = _build().order_by(populations.c.created_at, populations.c.id)
_NAMED = _build().where(populations.c.name == bindparam("name"))


def find_supervised(connection: Connection, name: str) -> Supervised:
    """One population. Raises: PlayerError that names the populations there are."""
    row = connection.execute(_NAMED, {"name": name}).first()
    if row is None:
        find_population(connection, name)  # raises the error
    return _to_supervised(row)


def _to_supervised(row: Any) -> Supervised:
    if row.desired is None:
        return from_row(
            Supervised,
            row,
            desired_at=row.created_at,
            overrides=(),
            revision=0,
            state=row.league_state,
            message="this service was never asked to start it",
            since=row.created_at,
            restarts=0,
        )
    overrides = tuple(json.loads(row.overrides))
    return from_row(Supervised, row, overrides=overrides, state=row.seen_state)


def refuse_revision(population: Supervised, expected: int | None) -> None:
    """Raises: PreconditionError when the population is not at the expected revision."""
    if expected is not None and expected != population.revision:
        raise PreconditionError(
            f"population {population.name!r} is at revision {population.revision}, If-Match "
            f"names {expected}; look again, then ask again"
        )


def put_supervised(
    connection: Connection,
    population_id: int,
    desired: Desired,
    state: str,
    message: str,
    *,
    desired_at: float | None = None,
    revision: int = 1,
) -> None:
    """Inserts a population's row, or changes what is desired and its state in the existing row.

    The existing row keeps its trainer.
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
    first = {"desired_at": now, "overrides": "[]", "since": now, "restarts": 0, "trainer": None}
    added = upsert(supervised).values(population_id=population_id, **{**first, **values})
    connection.execute(added.on_conflict_do_update(index_elements=["population_id"], set_=values))
