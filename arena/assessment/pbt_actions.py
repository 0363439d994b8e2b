"""What PBT did with a population so far: counts, and the newest action of each member."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from arena.assessment.answer import PbtAction
from arena.league.round_words import verdict_for_people
from arena.league.rows import to_directive
from pbt.records import Directive

_MINE = """
FROM rounds r JOIN incarnations i ON i.id = r.incarnation_id
WHERE i.population_id = :population_id AND r.superseded = 0
"""
_COUNTS = text(f"""
SELECT COUNT(json_extract(r.directive, '$.copy_from')) AS copies,
    COUNT(CASE WHEN json_array_length(r.directive, '$.mutated') > 0 THEN 1 END) AS mutations
{_MINE}
""")  # no part comes from outside
# A round that kept a member as it was is the newest action only where there is no other.
_NEWEST = text(f"""
SELECT member, frames, verdict, directive, created_at FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.member ORDER BY
        json_extract(r.directive, '$.copy_from') IS NULL
            AND json_array_length(r.directive, '$.mutated') = 0,
        r.id DESC) AS place
    {_MINE}
) WHERE place = 1
""")  # noqa: S608
_STAMP = text(f"SELECT COUNT(*), MAX(r.id) {_MINE}")


@dataclass(frozen=True, slots=True)
class PbtActions:
    """What PBT did.

    copies     how often a member took over the weights of another
    mutations  in how many rounds hyperparameters were mutated
    newest     member -> its newest action
    """

    copies: int
    mutations: int
    newest: Mapping[str, PbtAction]


def read_actions(connection: Connection, population_id: int) -> PbtActions:
    """What PBT did with a population, without what a resume took back."""
    mine = {"population_id": population_id}
    counts = connection.execute(_COUNTS, mine).one()
    newest = {row.member: _action(row) for row in connection.execute(_NEWEST, mine)}
    return PbtActions(counts.copies, counts.mutations, newest)


def actions_stamp(connection: Connection, population_id: int) -> tuple[Any, ...]:
    """Values that change with every round."""
    return tuple(connection.execute(_STAMP, {"population_id": population_id}).one())


def _action(row: Any) -> PbtAction:
    return PbtAction(
        row.member,
        action_text(to_directive(row.directive)),
        verdict_for_people(row.verdict),
        row.frames,
        row.created_at,
    )


def action_text(directive: Directive) -> str:
    """`copied m3, changed learning_rate`."""
    parts = [f"copied {directive.copy_from}"] if directive.copy_from is not None else []
    if directive.mutated:
        parts.append(f"changed {', '.join(directive.mutated)}")
    return ", ".join(parts) or "kept as it was"
