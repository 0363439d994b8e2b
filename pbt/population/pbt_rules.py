"""The rules of a PBT round, as the configuration sets them and as a stored round keeps them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, get_args

from pbt.config.learning import HYPERPARAMS
from pbt.config.mutable import SHAPING
from pbt.config.population import Opponents, PbtConfig, SignificancePer
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind, as_objective
from pbt.population.scores import Detail

# Standard deviation of the gap in win rate between members that learn alike, beyond what their
# games make of it (DECISIONS 52, bench/pbt_gaps.py).
EQUALS_SD = 0.05
# The win rate by which a donor had to be ahead before copies were judged by significance: that of
# Petrenko et al. 2020, section A.3.1.
EARLIER_COPY_GAP = 0.35
# The probability that chance makes a copy.
COPY_SIGNIFICANCE = 0.01
_BOUNDED = (*HYPERPARAMS.values(), SHAPING)
# The rules of stored rounds that were decided before these could be chosen.
EARLIER_RULES: Mapping[str, float | str] = {
    "opponents": "all",
    "copy_significance": 1.0,
    "copy_significance_per": "comparison",
    "copy_ratio": 0.0,
    "equals_sd": 0.0,
    "copy_rounds": 0,
}


def _later_bounds(stored: Mapping[str, object]) -> dict[str, float]:
    """The bounds of hyperparameters that came after a round was stored: those of their rows."""
    return {
        f"{row.scaled_name}_{end}": float(bound)
        for row in _BOUNDED
        if not {f"{row.scaled_name}_low", f"{row.scaled_name}_high"} & stored.keys()
        for end, bound in zip(("low", "high"), row.mark.bounds, strict=True)
    }


def in_present_words(stored: Mapping[str, object]) -> dict[str, object]:
    """Return stored rules with what earlier versions left out, and in the words of this one."""
    rules = {**EARLIER_RULES, **_later_bounds(stored), **stored}
    if rules.get("objective") == "wins":
        rules["objective"] = "win"
    return rules


@dataclass(frozen=True)
class PbtRules:
    """The rules of one round, as they are stored beside it.

    They are those of `pbt.config.population.PbtConfig` with its open choices resolved, and besides:

    objective      what members are ranked by
    opponents      always "all" in games of one seat
    copy_rounds    0: the probability of a run is spread over all rounds, ever less
    bounds         (low, high) of what mutation may reach, by `HyperparamSpec.scaled_name`; stored
                   flat, as NAME_low and NAME_high
    """

    objective: ObjectiveKind
    opponents: Opponents
    copy_significance_per: SignificancePer
    min_games: int
    copy_rounds: int
    top_share: float
    copy_gap: float
    mutation_probability: float
    mutation_factor: float
    bounds: Mapping[str, tuple[float, float]]
    copy_significance: float
    copy_ratio: float
    equals_sd: float

    @property
    def detail(self) -> Detail:
        """What a score must hold besides its mean for these rules."""
        if self.opponents == "common":
            return "against" if self.objective == "win" else "against_squares"
        return "squares" if self.objective != "win" and self.copy_significance < 1.0 else "plain"

    @classmethod
    def from_config(
        cls, config: PbtConfig, objective: ObjectiveKind, *, alone: bool = False
    ) -> Self:
        """Return the rules of a configuration, its open choices resolved for the objective.

        alone: a game has one seat, so there are no opponents.
        """
        gap, significance, equals_sd = _open_choices(config, objective)
        # Where any gap is enough, there is no probability to share out over the run.
        per: SignificancePer = "comparison" if significance == 1.0 else config.copy_significance_per
        ends = {row.scaled_name: getattr(config, row.bounds_key) for row in _BOUNDED}
        bounds = {name: (float(low), float(high)) for name, (low, high) in ends.items()}
        opponents: Opponents = "all" if alone else config.opponents
        return cls(
            objective,
            opponents,
            per,
            config.min_games,
            config.copy_rounds or 0,
            float(config.top_share),
            float(gap),
            float(config.mutation_probability),
            float(config.mutation_factor),
            bounds,
            float(significance),
            float(config.copy_ratio),
            float(equals_sd),
        )

    def to_mapping(self) -> dict[str, float | int | str | bool | list[str]]:
        """Return the rules as `RoundRecord.rules` stores them, flat."""
        flat: dict[str, float | int | str | bool | list[str]] = {}
        for field in fields(self):
            if field.name != "bounds":
                flat[field.name] = getattr(self, field.name)
                continue
            for name, (low, high) in self.bounds.items():
                flat |= {f"{name}_low": low, f"{name}_high": high}
        return flat

    @classmethod
    def from_mapping(cls, stored: Mapping[str, object]) -> Self:
        """Read stored rules. Raises: EngineError naming what is missing, unknown or no number."""
        stored = in_present_words(stored)
        ends = {f"{row.scaled_name}_{end}" for row in _BOUNDED for end in ("low", "high")}
        own = {field.name for field in fields(cls)} - {"bounds"}
        if set(stored) != own | ends:
            raise EngineError(
                f"rules: missing {sorted((own | ends) - set(stored))}, unknown "
                f"{sorted(set(stored) - own - ends)}"
            )
        read = {name: _read(name, value) for name, value in stored.items()}
        names = (row.scaled_name for row in _BOUNDED)
        bounds = {name: (read[f"{name}_low"], read[f"{name}_high"]) for name in names}
        return cls(bounds=bounds, **{name: read[name] for name in own})


_WORDS = {"opponents": get_args(Opponents), "copy_significance_per": get_args(SignificancePer)}


def _read(name: str, value: object) -> Any:
    """Return the value of a stored rule. Raises: EngineError for one that the rule cannot have."""
    if name == "objective":
        return as_objective(value)
    if name in _WORDS:
        first, second = _WORDS[name]
        if value not in (first, second):
            raise EngineError(f'rules.{name} = {value!r}: expected "{first}" or "{second}"')
        return value
    if name in ("min_games", "copy_rounds"):
        if isinstance(value, bool) or not isinstance(value, int):
            raise EngineError(f"rules.{name} = {value!r}: expected an integer")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EngineError(f"rules.{name} = {value!r}: expected a finite number")
    return float(value)


def _open_choices(config: PbtConfig, objective: ObjectiveKind) -> tuple[float, float, float]:
    """Return gap, significance and `equals_sd`; where a configuration leaves them open, by default.

    A win rate by which a donor must be ahead is the whole rule where a person sets it, as in the
    papers. An earlier population goes on with what it began with.
    """
    gap, significance, equals_sd = 0.0, COPY_SIGNIFICANCE, 0.0
    if objective == "win":
        if config.copy_significance_per == "comparison":
            gap, significance = EARLIER_COPY_GAP, 1.0
        else:
            equals_sd = EQUALS_SD
            significance = COPY_SIGNIFICANCE if config.copy_gap is None else 1.0
    return (
        gap if config.copy_gap is None else config.copy_gap,
        significance if config.copy_significance is None else config.copy_significance,
        equals_sd if config.equals_sd is None else config.equals_sd,
    )
