"""What the PBT rounds of one number did, for readers that show them side by side.

Each member has a clock of its own, and its rounds are counted from 1. The rounds of one number are
therefore made at about the same frames, but not at the same moment.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import bindparam, select

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.rows import to_directive
from arena.league.schema import incarnations, members, rounds
from arena.league.stored_snapshots import StoredSnapshot, named_snapshots
from pbt.objective import ObjectiveKind, as_objective
from pbt.population.told_verdict import ToldVerdict, read_verdict
from pbt.records import Directive

Did = Literal["copied", "mutated", "kept", "unchanged", "unranked"]
"""What a round did to its member.

"copied"     it took another one's weights and values, which may then have mutated
"mutated"    some of its values changed
"kept"       it was among the top and kept everything
"unchanged"  it might have mutated, and chance changed no value
"unranked"   it had too few games to be compared
"""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A hyperparameter that a round changed.

    name    its name
    before  the member's own value
    donor   the value of the member that it copied, None without a copy
    after   the value in force from then on
    """

    name: str
    before: float
    donor: float | None
    after: float


@dataclass(frozen=True, slots=True)
class MemberRound:
    """A member's round.

    member        whose round it is
    role          that it plays; ranks are of one role
    counts        what its rules ranked
    frames        of its clock
    created_at    seconds since the epoch
    did           what it did
    told          the numbers of its verdict
    verdict       the reasons, in words
    copied_from   the member that it copied, None without a copy
    donor_frames  the clock of that member when its weights were taken, None without a copy
    changes       the values that changed
    """

    member: str
    role: str
    counts: ObjectiveKind
    frames: int
    created_at: float
    did: Did
    told: ToldVerdict
    verdict: str
    copied_from: str | None
    donor_frames: int | None
    changes: tuple[ValueChange, ...]


def rounds_of_number(league: League, population: str, number: int) -> list[MemberRound]:
    """The rounds of one number that are not superseded: by role, of each by rank, then the others.

    It reads no scores, which are most of a round. Raises: PlayerError.
    """
    with league.read() as connection:
        of = find_population(connection, population).id
        rows = list(connection.execute(_ROUNDS, {"population_id": of, "number": number}))
    directives = [to_directive(row.directive) for row in rows]
    copied = sorted({one.copy_snapshot for one in directives if one.copy_snapshot})
    taken = named_snapshots(league, copied, population)
    found = [
        _member_round(row, directive, taken.get(directive.copy_snapshot or ""))
        for row, directive in zip(rows, directives, strict=True)
    ]
    return sorted(found, key=lambda one: (one.role, one.told.rank is None, one.told.rank or 0))


_ROUNDS = (
    select(
        members.c.role,
        rounds.c.directive,
        rounds.c.frames,
        rounds.c.hyperparams,
        rounds.c.rules,
        rounds.c.verdict,
        rounds.c.created_at,
    )
    .join(incarnations, incarnations.c.id == rounds.c.incarnation_id)
    .join(
        members,
        (members.c.population_id == incarnations.c.population_id)
        & (members.c.name == rounds.c.member),
    )
    .where(
        incarnations.c.population_id == bindparam("population_id"),
        rounds.c.round == bindparam("number"),
        rounds.c.superseded == 0,
    )
    .order_by(rounds.c.id)
)


def _member_round(row: Any, directive: Directive, donor: StoredSnapshot | None) -> MemberRound:
    """row: of `_ROUNDS`; donor: the snapshot that was copied"""
    told = read_verdict(row.verdict)
    return MemberRound(
        directive.member,
        row.role,
        as_objective(json.loads(row.rules)["objective"]),
        row.frames,
        row.created_at,
        what_it_did(directive, told),
        told,
        row.verdict,
        directive.copy_from,
        None if donor is None else donor.record.frames,
        _changes(directive, json.loads(row.hyperparams)),
    )


def what_it_did(directive: Directive, told: ToldVerdict) -> Did:
    """What a round did to its member. told: the numbers of its verdict."""
    if directive.copy_from is not None:
        return "copied"
    if directive.mutated:
        return "mutated"
    if told.reason.startswith("among the top"):
        return "kept"
    return "unranked" if told.reason.startswith("not ranked") else "unchanged"


def _changes(directive: Directive, before: dict[str, dict[str, float]]) -> tuple[ValueChange, ...]:
    """The changed values. before: member -> its hyperparameters before the round"""
    own, donor = before.get(directive.member, {}), before.get(directive.copy_from or "", {})
    return tuple(
        ValueChange(name, own[name], donor.get(name), after)
        for name, after in directive.hyperparams.items()
        if name in own and own[name] != after
    )
