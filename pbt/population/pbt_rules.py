"""The rules of a PBT round, as the configuration sets them and as a stored round keeps them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

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
# The rules of stored rounds that were decided before these could be chosen.
EARLIER_RULES: Mapping[str, float | str] = {
    "opponents": "all",
    "copy_significance": 1.0,
    "copy_significance_per": "comparison",
    "copy_ratio": 0.0,
    "equals_sd": 0.0,
    "copy_rounds": 0,
}


def in_present_words(stored: Mapping[str, object]) -> dict[str, object]:
    """Return stored rules with what earlier versions left out, and in the words of this one."""
    rules = {**EARLIER_RULES, **stored}
    if rules.get("objective") == "wins":
        rules["objective"] = "win"
    return rules


@dataclass(frozen=True)
class PbtRules:
    """The rules of one round, flat so that they can be stored beside it.

    objective              what members are ranked by
    opponents              whose games are compared: "all", or those against "common" opponents;
                           always "all" in games of one seat
    min_games              games that a member needs to be ranked
    copy_rounds            the rounds of a member over which the probability of a run is spread
                           evenly; 0: over all rounds, ever less
    top_share              share of the ranked members that nothing changes, and of those that copy
    copy_gap               the least difference of objectives at which a member copies
    mutation_probability   of each value
    mutation_factor        a value is multiplied or divided by it
    *_low, *_high          bounds of what mutation may reach
    copy_significance      the probability that chance makes a copy; 1.0: any gap is enough
    copy_significance_per  whose probability that is: of any copy in the "run", or of each
                           "comparison"
    copy_ratio             the least lead as a share of the donor's own objective
    equals_sd              standard deviation of the gap between members that learn alike
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
    learning_rate_low: float
    learning_rate_high: float
    entropy_coef_low: float
    entropy_coef_high: float
    one_minus_adam_beta1_low: float
    one_minus_adam_beta1_high: float
    shaping_low: float
    shaping_high: float
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
        bounds = (
            config.learning_rate_bounds,
            config.entropy_coef_bounds,
            config.one_minus_adam_beta1_bounds,
            config.shaping_bounds,
        )
        opponents: Opponents = "all" if alone else config.opponents
        plain = (
            config.top_share,
            gap,
            config.mutation_probability,
            config.mutation_factor,
            *(end for pair in bounds for end in pair),
            significance,
            config.copy_ratio,
            equals_sd,
        )
        counts = (config.min_games, config.copy_rounds or 0)
        return cls(objective, opponents, per, *counts, *map(float, plain))

    def to_mapping(self) -> dict[str, float | int | str | bool | list[str]]:
        """Return the rules as `RoundRecord.rules` stores them."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, stored: Mapping[str, object]) -> Self:
        """Read stored rules. Raises: EngineError naming what is missing, unknown or no number."""
        stored = in_present_words(stored)
        names = [field.name for field in fields(cls)]
        if set(stored) != set(names):
            raise EngineError(
                f"rules: missing {sorted(set(names) - set(stored))}, unknown "
                f"{sorted(set(stored) - set(names))}"
            )
        # The first five are no plain numbers.
        numbers: list[float] = []
        for name in names[5:]:
            value = stored[name]
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
            ):
                raise EngineError(f"rules.{name} = {value!r}: expected a finite number")
            numbers.append(float(value))
        games, copy_rounds = (_integer(stored, name) for name in ("min_games", "copy_rounds"))
        opponents = stored["opponents"]
        if opponents != "all" and opponents != "common":
            raise EngineError(f'rules.opponents = {opponents!r}: expected "all" or "common"')
        per = stored["copy_significance_per"]
        if per != "run" and per != "comparison":
            raise EngineError(
                f'rules.copy_significance_per = {per!r}: expected "run" or "comparison"'
            )
        kind = as_objective(stored["objective"])
        return cls(kind, opponents, per, games, copy_rounds, *numbers)


def _integer(stored: Mapping[str, object], name: str) -> int:
    value = stored[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise EngineError(f"rules.{name} = {value!r}: expected an integer")
    return value


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
