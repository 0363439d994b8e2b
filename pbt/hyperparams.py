"""Hyperparameters: the values that PBT may change of a member while the member trains.

`pbt.population.mutation` moves them at PBT's rounds, `pbt.population.schedules` as frames go by.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from pbt.config.population import MemberOverride, ScheduleStep
from pbt.config.schema import RunConfig

SHAPING_PREFIX = "shaping."


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
    """The config's values, overridden by the member's own starting values."""
    return scheduled_hyperparams(config, member, reward_terms, 0)


def scheduled_hyperparams(
    config: RunConfig, member: str, reward_terms: tuple[str, ...], frames: int
) -> Hyperparams:
    """The values that the config alone gives a member at a number of frames of its clock.

    These are its starting values, overridden by the steps of its schedule up to there.
    """
    learning = config.learning
    shaping = {term: learning.shaping.get(term, 1.0) for term in reward_terms}
    values = Hyperparams(
        learning.learning_rate, learning.entropy_coef, learning.adam_beta1, shaping
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
            name: value
            for name in ("learning_rate", "entropy_coef", "adam_beta1")
            if (value := getattr(step, name)) is not None
        }
        values = replace(values, **changed, shaping={**values.shaping, **step.shaping})
    return values
