"""Requests to the service that make a population, or edit its config.

Each takes effect in one short transaction, together with its answer.
"""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, select, update

from arena.league.database import League
from arena.league.idempotency import Answer, Keyed, answer_once
from arena.league.operations import OPEN
from arena.league.populations import NewPopulation, find_population, insert_population, is_taken
from arena.league.retention import set_anchor
from arena.league.rows import to_json
from arena.league.schema import operations, supervised
from arena.league.service_events import tell
from arena.league.supervised import (
    ConflictError,
    Supervised,
    find_supervised,
    put_supervised,
    refuse_revision,
)


def create_supervised(
    league: League,
    new: NewPopulation,
    keyed: Keyed | None,
    render: Callable[[Supervised], Answer],
    *,
    start: bool = False,
) -> Answer:
    """Makes a population. start: whether it is desired to run at once.

    Raises: ConflictError when the name is taken, ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        _refuse_taken(connection, new.name)
        population_id = insert_population(connection, new)
        put_supervised(
            connection,
            population_id,
            "running" if start else "stopped",
            "created",
            "not started yet",
        )
        tell(connection, "population", new.name, {"state": "created"})
        return render(find_supervised(connection, new.name))

    return answer_once(league, keyed, act)


def _refuse_taken(connection: Connection, name: str) -> None:
    if is_taken(connection, name):
        raise ConflictError(f"population {name!r} exists already; choose another name")
    removing = (
        operations.c.population == name,
        operations.c.kind == "delete",
        operations.c.state.in_(OPEN),
    )
    if connection.execute(select(operations.c.id).where(*removing)).first():
        raise ConflictError(
            f"an earlier population {name!r} is still being removed; wait, or choose another name"
        )


def refuse_edit(before: Supervised, if_revision: int | None) -> None:
    """Raises: ConflictError, PreconditionError for a population that takes no edits now."""
    refuse_revision(before, if_revision)
    if before.desired == "deleted":
        raise ConflictError(f"population {before.name!r} is being deleted")


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
    """Adds edits, "key=value", that the trainer is to take. The caller has checked them.

    anchor: id of a snapshot that the edits need; retention keeps its weights from now on.
    Raises: PlayerError, ConflictError, PreconditionError, ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        before = find_supervised(connection, name)
        refuse_edit(before, if_revision)
        population_id = find_population(connection, name).id
        put_supervised(
            connection,
            population_id,
            before.desired or "stopped",
            before.state,
            before.message,
            revision=before.revision + 1,
        )
        mine = supervised.c.population_id == population_id
        all_edits = to_json([*before.overrides, *overrides])
        connection.execute(update(supervised).where(mine).values(overrides=all_edits))
        if anchor is not None:
            set_anchor(connection, anchor)
        tell(connection, "population", name, {"edits": list(overrides)})
        return render(find_supervised(connection, name))

    return answer_once(league, keyed, act)
