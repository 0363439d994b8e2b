"""The table of hyperparameters: the values that PBT may change of a member while it trains.

A key of [learning], or of an algorithm's own section, becomes one of them by a mark at its field.
Overrides, schedules, bounds, mutations, lineages and certificates loop over the table; none of them
names a hyperparameter.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import cleandoc
from itertools import chain
from types import GenericAlias
from typing import Annotated, Any, Optional, TypeVar, cast

from pydantic import create_model

from pbt.config.values import RewardScale, RewardWeight, Section

SHAPING_PREFIX = "shaping."
S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Mutable:
    """The mark of a value that PBT may change.

    bounds           between which the start or a mutation draws it by default
    within           type of these bounds, with the limits of what they may be
    annealed         it shrinks with the frames to come (`learning.anneal_to`), unless
                     `learning.not_annealed` has its name
    distance_to_one  mutations scale its distance to 1 instead of itself
    algorithm        whose members alone have it, None: all members
    optimizer        which alone reads it, None: all do. Others ask for 0
    told             a training that leaves it to the default says which value that is
    """

    bounds: tuple[float, float]
    within: Any
    annealed: bool = False
    distance_to_one: bool = False
    algorithm: str | None = None
    optimizer: str | None = None
    told: bool = True


@dataclass(frozen=True)
class HyperparamSpec:
    """One row of the table.

    section  of the config that has its key
    name     of the key
    kind     type of its value, with its limits
    mark     how PBT changes it
    """

    section: str
    name: str
    kind: Any
    mark: Mutable

    @property
    def key(self) -> str:
        """Its dotted key in the config."""
        return f"{self.section}.{self.name}"

    @property
    def bounds_key(self) -> str:
        """The key of its bounds in [pbt]; the rules of stored rounds are named after it."""
        return f"{self.scaled_name}_bounds"

    @property
    def scaled_name(self) -> str:
        """The name of what mutations scale."""
        return f"one_minus_{self.name}" if self.mark.distance_to_one else self.name

    def size(self, value: float) -> float:
        """What mutations scale, at least 0."""
        return 1.0 - value if self.mark.distance_to_one else abs(value)

    def of_size(self, size: float, value: float) -> float:
        """The value with another size, and the sign of `value`."""
        return 1.0 - size if self.mark.distance_to_one else math.copysign(size, value)


SHAPING = HyperparamSpec("learning", "shaping", RewardWeight, Mutable((1e-4, 1e4), RewardScale))
"""The row of the weights of reward terms, of which each game has its own."""


def marked(section: str, keys: type[Section]) -> tuple[HyperparamSpec, ...]:
    """The hyperparameters of a section, in the order in which random numbers are drawn for them.

    section  its name in the config
    """
    rows = []
    for name, field in keys.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Mutable):
                limits = [one for one in field.metadata if one is not mark]
                kind = Annotated[(field.annotation, *limits)] if limits else field.annotation
                rows.append(HyperparamSpec(section, name, kind, mark))
    return tuple(rows)


def table(*sections: tuple[HyperparamSpec, ...]) -> dict[str, HyperparamSpec]:
    """The table of hyperparameters by name. Raises: ValueError for two rows of one name."""
    rows: dict[str, HyperparamSpec] = {}
    for row in chain.from_iterable(sections):
        if (other := rows.setdefault(row.name, row)) is not row:
            raise ValueError(
                f"{row.key} and {other.key} are hyperparameters of one name; expected another name "
                "for one of them, since members, bounds and lineages have them by name"
            )
    return rows


def _width(names: Iterable[str]) -> int:
    return max(map(len, names))


def with_values(rows: Iterable[HyperparamSpec]) -> Callable[[type[S]], type[S]]:
    """Return a decorator that gives a section every value of the table, in front of `shaping`.

    A value that is not named is None. Of the section it keeps the fields alone, no validators.
    """

    rows = tuple(rows)

    def decorated(section: type[S]) -> type[S]:
        fields: dict[str, Any] = {}
        values = {row.name: (Optional[row.kind], None) for row in rows}  # noqa: UP045  kinds vary
        for name, field in section.model_fields.items():
            if name == SHAPING.name:
                fields |= values
            fields[name] = (field.annotation, field)
        lines = "".join(f"{row.name:<{_width(fields)}}  as in [{row.section}]\n" for row in rows)
        text = cleandoc(section.__doc__ or "").replace("\nshaping ", f"\n{lines}shaping ", 1)
        made = create_model(section.__name__, __base__=Section, __doc__=text, **fields)
        made.__module__ = section.__module__
        return cast(type[S], made)

    return decorated


def with_bounds(rows: Iterable[HyperparamSpec]) -> Callable[[type[S]], type[S]]:
    """Return a decorator that gives a section the bounds of every row behind its own fields."""

    def decorated(section: type[S]) -> type[S]:
        bounds: dict[str, Any] = {
            row.bounds_key: (GenericAlias(tuple, (row.mark.within,) * 2), row.mark.bounds)
            for row in rows
        }
        says = "smallest and largest size that the start or a mutation may draw; both equal: fixed"
        lines = "".join(f"{key:<{_width(bounds)}}  {says}\n" for key in bounds)
        text = f"{cleandoc(section.__doc__ or '')}\n\n{lines}"
        made = create_model(section.__name__, __base__=section, __doc__=text, **bounds)
        made.__module__ = section.__module__
        return made

    return decorated
