"""Hyperparameters: the values that PBT may change of a member while the member trains.

`pbt.population.mutation` moves them at PBT's rounds, `pbt.population.schedules` as frames go by.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from pbt.config.population import MemberOverride, PbtConfig, ScheduleStep
from pbt.config.schema import RunConfig
from pbt.seeding import stratified

SHAPING_PREFIX = "shaping."
_OF_ALL_GAMES = ("learning_rate", "entropy_coef", "adam_beta1")


@dataclass(frozen=True)
class Hyperparams:
    """The mutable values of one member.

    shaping  one weight per reward term of the game
    """

    learning_rate: float
    entropy_coef: float
    adam_beta1: float
    shaping: Mapping[str, float] = field(default_factory=dict)

    def flat(self) -> dict[str, float]:
        """Name -> value, with shaping weights as "shaping.TERM".

        This is the form that is stored, shown and mutated.
        """
        terms = {SHAPING_PREFIX + term: weight for term, weight in sorted(self.shaping.items())}
        return {
            "learning_rate": self.learning_rate,
            "entropy_coef": self.entropy_coef,
            "adam_beta1": self.adam_beta1,
            **terms,
        }

    @classmethod
    def from_flat(cls, values: Mapping[str, float]) -> Self:
        shaping = {term: values[SHAPING_PREFIX + term] for term in shaping_terms(values)}
        return cls(values["learning_rate"], values["entropy_coef"], values["adam_beta1"], shaping)


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
    values = _spread(
        Hyperparams(learning.learning_rate, learning.entropy_coef, learning.adam_beta1, shaping),
        config.pbt,
        config.seed,
        member,
    )
    override = config.members.get(member)
    if override is None:
        return values
    steps: list[MemberOverride | ScheduleStep] = [
        override,
        *(step for step in override.schedule if step.at_frames <= frames),
    ]
    for step in steps:
        changed = {
            name: value for name in _OF_ALL_GAMES if (value := getattr(step, name)) is not None
        }
        values = replace(values, **changed, shaping={**values.shaping, **step.shaping})
    return values


def with_edits(config: RunConfig, values: Mapping[str, float]) -> RunConfig:
    """The config with other values for all members. values: flat."""
    edited = {name: value for name, value in values.items() if name in _OF_ALL_GAMES}
    shaping = {term: values[SHAPING_PREFIX + term] for term in shaping_terms(values)}
    learning = config.learning.model_copy(
        update={**edited, "shaping": {**config.learning.shaping, **shaping}}
    )
    return config.model_copy(update={"learning": learning})


def _spread(values: Hyperparams, pbt: PbtConfig, seed: int, member: str) -> Hyperparams:
    """The values times factors that are log-uniform in [1 / spread_start, spread_start].

    Each is drawn by its own name, so it does not depend on which other values there are. The
    members' factors are stratified: of the first four, one lies in each quarter of the range. Of
    Adam's beta1 the distance to 1 is drawn. Zero means "switched off" and stays zero. The first
    member keeps the config's values, so a search around good ones begins no worse than they are.
    """
    number = int(member.removeprefix("m"))
    if pbt.spread_start == 1.0 or number == 0:
        return values

    def drawn(name: str, value: float, bounds: tuple[float, float]) -> float:
        if value == 0.0:
            return value
        factor = pbt.spread_start ** (2.0 * stratified(seed, number, "spread", name) - 1.0)
        return math.copysign(min(max(abs(value) * factor, bounds[0]), bounds[1]), value)

    beta1 = values.adam_beta1
    return Hyperparams(
        drawn("learning_rate", values.learning_rate, pbt.learning_rate_bounds),
        drawn("entropy_coef", values.entropy_coef, pbt.entropy_coef_bounds),
        1.0 - drawn("adam_beta1", 1.0 - beta1, pbt.one_minus_adam_beta1_bounds) if beta1 else beta1,
        {
            term: drawn(SHAPING_PREFIX + term, weight, pbt.shaping_bounds)
            for term, weight in values.shaping.items()
        },
    )
