"""Hyperparameters: the values that PBT may change of a member while the member trains.

`pbt.population.mutation` moves them at PBT's rounds, `Member.scheduled` as frames go by.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pbt.config.learning import HYPERPARAMS, rows_of
from pbt.config.mutable import SHAPING, SHAPING_PREFIX, HyperparamSpec
from pbt.config.population import MemberOverride, PbtConfig, ScheduleStep
from pbt.config.schema import RunConfig
from pbt.seeding import stratified


@dataclass(frozen=True)
class Hyperparams:
    """The mutable values of one member.

    values   of its algorithm's rows of the table `pbt.config.learning.HYPERPARAMS`, by name and in
             the order of the table
    shaping  one weight per reward term of the game
    """

    values: Mapping[str, float]
    shaping: Mapping[str, float] = field(default_factory=dict)

    def flat(self) -> dict[str, float]:
        """Name -> value, with shaping weights as "shaping.TERM".

        This is the form that is stored, shown and mutated.
        """
        terms = {SHAPING_PREFIX + term: weight for term, weight in sorted(self.shaping.items())}
        return {**self.values, **terms}

    def in_section(self) -> dict[str, Any]:
        """The keys of a section of the member's own values."""
        return {**self.values, SHAPING.name: dict(self.shaping)}

    @classmethod
    def from_flat(cls, values: Mapping[str, float]) -> Self:
        """Read what `flat` returned, or what a database kept of it."""
        shaping = {term: values[SHAPING_PREFIX + term] for term in shaping_terms(values)}
        return cls({name: values[name] for name in HYPERPARAMS if name in values}, shaping)


def spec_of(name: str) -> HyperparamSpec:
    """The row of a flat name. Raises: KeyError for one that the table does not have."""
    return SHAPING if name.startswith(SHAPING_PREFIX) else HYPERPARAMS[name]


def shaping_terms(names: Iterable[str]) -> list[str]:
    """The game's reward terms among the names of flat hyperparameters."""
    shaping = (name for name in names if name.startswith(SHAPING_PREFIX))
    return [name.removeprefix(SHAPING_PREFIX) for name in shaping]


def initial_hyperparams(
    config: RunConfig, member: str, reward_terms: tuple[str, ...]
) -> Hyperparams:
    """The values that a member begins with.

    They are the config's, drawn around by `pbt.spread_start`, overridden by the member's own.
    """
    return scheduled_hyperparams(config, member, reward_terms, 0)


def scheduled_hyperparams(
    config: RunConfig, member: str, reward_terms: tuple[str, ...], frames: int
) -> Hyperparams:
    """The values that the config alone gives a member at a number of frames of its clock.

    These are its starting values, overridden by the steps of its schedule up to there.
    """
    learning = config.learning
    shaping = {term: learning.shaping.get(term, 1.0) for term in reward_terms}
    rows = rows_of(config.algorithm_of(member))
    chosen = {row.name: getattr(getattr(config, row.section), row.name) for row in rows}
    values = _spread(Hyperparams(chosen, shaping), config.pbt, config.seed, member)
    override = config.members.get(member)
    if override is None:
        return values
    steps: list[MemberOverride | ScheduleStep] = [
        override,
        *(step for step in override.schedule if step.at_frames <= frames),
    ]
    for step in steps:
        named = {name: value for name in chosen if (value := getattr(step, name)) is not None}
        values = Hyperparams({**values.values, **named}, {**values.shaping, **step.shaping})
    return values


def with_edits(config: RunConfig, values: Mapping[str, float]) -> RunConfig:
    """The config with other values for all members. values: flat."""
    edited: dict[str, dict[str, Any]] = {}
    for name in values:
        if name in HYPERPARAMS:
            edited.setdefault(HYPERPARAMS[name].section, {})[name] = values[name]
    shaping = {term: values[SHAPING_PREFIX + term] for term in shaping_terms(values)}
    learning = edited.setdefault(SHAPING.section, {})
    learning[SHAPING.name] = {**config.learning.shaping, **shaping}
    sections = {
        section: getattr(config, section).model_copy(update=named)
        for section, named in edited.items()
    }
    return config.model_copy(update=sections)


def _spread(values: Hyperparams, pbt: PbtConfig, seed: int, member: str) -> Hyperparams:
    """The values times factors that are log-uniform in [1 / spread_start, spread_start].

    Each is drawn by its own name, so it does not depend on which other values there are. The
    members' factors are stratified: of the first four, one lies in each quarter of the range. Of
    some the distance to 1 is drawn. Zero means "switched off" and stays zero. The first
    member keeps the config's values, so a search around good ones begins no worse than they are.
    """
    number = int(member.removeprefix("m"))
    if pbt.spread_start == 1.0 or number == 0:
        return values

    def drawn(name: str, value: float) -> float:
        if value == 0.0:
            return value
        row = spec_of(name)
        low, high = getattr(pbt, row.bounds_key)
        factor = pbt.spread_start ** (2.0 * stratified(seed, number, "spread", name) - 1.0)
        return row.of_size(min(max(row.size(value) * factor, low), high), value)

    return Hyperparams.from_flat({name: drawn(name, one) for name, one in values.flat().items()})
