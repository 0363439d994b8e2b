"""Mutation, PBT's explore step: each hyperparameter moves by a factor, or stays as it is."""

from collections.abc import Iterable, Mapping

import numpy as np

from pbt.config.learning import HYPERPARAMS
from pbt.config.mutable import SHAPING_PREFIX
from pbt.errors import EngineError
from pbt.hyperparams import spec_of
from pbt.population.pbt_rules import PbtRules


def in_order(values: Mapping[str, float]) -> list[str]:
    """Return the names in the order in which random numbers are drawn for them.

    Raises: EngineError on a name without a mutation rule.
    """
    shaping = sorted(name for name in values if name.startswith(SHAPING_PREFIX))
    first = [name for name in HYPERPARAMS if name in values]
    if len(first) + len(shaping) != len(values):
        raise EngineError(
            f"hyperparams {sorted(values)}: expected {', '.join(HYPERPARAMS)} and "
            f"{SHAPING_PREFIX}TERM only"
        )
    return first + shaping


def changes(before: Mapping[str, float], after: Mapping[str, float], names: Iterable[str]) -> str:
    """Return in words how the values of these names change."""
    return ", ".join(f"{name} {before[name]:.6g} -> {after[name]:.6g}" for name in names)


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
    row = spec_of(name)
    size, (low, high) = row.size(value), rules.bounds[row.scaled_name]
    scaled = size * rules.mutation_factor if up else size / rules.mutation_factor
    return row.of_size(min(max(scaled, low), high), value)
