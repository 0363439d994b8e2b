"""Mutation, PBT's explore step: each hyperparameter moves by a factor, or stays as it is."""

import math
from collections.abc import Mapping

import numpy as np

from pbt.errors import EngineError
from pbt.hyperparams import SHAPING_PREFIX
from pbt.population.pbt_rules import PbtRules

FIRST_VALUES = ("learning_rate", "entropy_coef", "adam_beta1")


def in_order(values: Mapping[str, float]) -> list[str]:
    """Return the names in the order in which random numbers are drawn for them.

    Raises: EngineError on a name without a mutation rule.
    """
    shaping = sorted(name for name in values if name.startswith(SHAPING_PREFIX))
    first = [name for name in FIRST_VALUES if name in values]
    if len(first) + len(shaping) != len(values):
        raise EngineError(
            f"hyperparams {sorted(values)}: expected {', '.join(FIRST_VALUES)} and "
            f"{SHAPING_PREFIX}TERM only"
        )
    return first + shaping


def mutate(
    values: Mapping[str, float], rules: PbtRules, rng: np.random.Generator
) -> dict[str, float]:
    """Return every value after the mutation, two random numbers for each, used or not."""
    after = {}
    for name in in_order(values):
        happens, direction = rng.random() < rules.mutation_probability, rng.random()
        after[name] = (
            _scaled(name, values[name], direction < 0.5, rules) if happens else values[name]
        )
    return after


def _scaled(name: str, value: float, up: bool, rules: PbtRules) -> float:
    """Return the value times or divided by the factor, inside its bounds.

    Zero means "switched off" and stays zero; a negative weight keeps its sign.
    """
    if value == 0.0:
        return value
    magnitude = 1.0 - value if name == "adam_beta1" else abs(value)
    scaled = magnitude * rules.mutation_factor if up else magnitude / rules.mutation_factor
    match name:
        case "learning_rate":
            return _clipped(scaled, rules.learning_rate_low, rules.learning_rate_high)
        case "entropy_coef":
            return _clipped(scaled, rules.entropy_coef_low, rules.entropy_coef_high)
        case "adam_beta1":
            return 1.0 - _clipped(
                scaled, rules.one_minus_adam_beta1_low, rules.one_minus_adam_beta1_high
            )
        case _:
            return math.copysign(_clipped(scaled, rules.shaping_low, rules.shaping_high), value)


def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
