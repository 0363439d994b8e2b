"""The table of hyperparameters: a marked key is all that one takes."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from pydantic import Field, ValidationError

from pbt.config.learning import HYPERPARAMS
from pbt.config.mutable import HyperparamSpec, Mutable, marked, with_bounds, with_values
from pbt.config.population import MemberOverride, PbtConfig, ScheduleStep
from pbt.config.values import OneOrLess, Section
from pbt.errors import EngineError
from pbt.population.mutation import mutate
from pbt.population.pbt_rules import PbtRules

ROOT = Path(__file__).parents[3]
# Where a hyperparameter acts, is declared, or is advice in an error.
ALLOWED = {
    "pbt/algorithms/appo.py",
    "pbt/config/defaults.py",
    "pbt/config/learning.py",
    "pbt/config/schema.py",
    "pbt/learning/optimizer.py",
}


class Learning(Section):
    """A section.

    rate      of something
    distance  to something
    plain     not mutable
    """

    rate: Annotated[float, Field(ge=0.0), Mutable((0.1, 0.2), OneOrLess, annealed=True)] = 0.1
    distance: Annotated[float, Mutable((0.01, 0.5), OneOrLess, distance_to_one=True)] = 0.9
    plain: float = 1.0


def test_marked_keys_are_the_rows() -> None:
    rate, distance = marked(Learning)
    assert (rate.name, rate.bounds_key, rate.mark.annealed) == ("rate", "rate_bounds", True)
    assert (distance.bounds_key, distance.scaled_name) == (
        "one_minus_distance_bounds",
        "one_minus_distance",
    )
    assert distance.size(0.75) == 0.25 and distance.of_size(0.25, 0.1) == 0.75
    assert rate.size(-2.0) == 2.0 and rate.of_size(3.0, -2.0) == -3.0


def test_sections_have_every_row() -> None:
    rows = marked(Learning)

    @with_values(rows)
    class Values(Section):
        """Values.

        first    a key
        shaping  terms
        """

        first: int = 1
        shaping: dict[str, float] = {}

    @with_bounds(rows)
    class Bounds(Section):
        """Bounds.

        own  a key
        """

        own: int = 1

    assert list(Values.model_fields) == ["first", "rate", "distance", "shaping"]
    assert "rate      as in" in (Values.__doc__ or "")
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Values.model_validate({"rate": -1.0})
    assert Bounds().model_dump() == {
        "own": 1,
        "rate_bounds": (0.1, 0.2),
        "one_minus_distance_bounds": (0.01, 0.5),
    }


def test_every_row_can_be_overridden_scheduled_and_mutated() -> None:
    for section in (MemberOverride, ScheduleStep):
        assert {*HYPERPARAMS} <= {*section.model_fields}
    config = PbtConfig(mutation_probability=1.0)
    rules, values = PbtRules.from_config(config, "win"), dict.fromkeys(HYPERPARAMS, 0.25)
    mutated = mutate(values, rules, np.random.default_rng(0))
    for name, row in HYPERPARAMS.items():
        low, high = getattr(config, row.bounds_key)
        assert mutated[name] != values[name] and low <= row.size(mutated[name]) <= high


def test_rules_are_stored_flat_and_read_again() -> None:
    rules = PbtRules.from_config(PbtConfig(), "win")
    stored = rules.to_mapping()
    for row in HYPERPARAMS.values():
        assert (
            stored[f"{row.scaled_name}_low"],
            stored[f"{row.scaled_name}_high"],
        ) == row.mark.bounds
    assert PbtRules.from_mapping(stored) == rules


def named(path: Path, rows: dict[str, HyperparamSpec]) -> Iterator[str]:
    """Hyperparameters that a file names as a key, an attribute or a keyword."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.arg(arg=name):
                pass
            case ast.Constant(value=str(name)):
                pass
            case _:
                continue
        if name in rows or name in {row.bounds_key for row in rows.values()}:
            yield name


def test_nothing_else_names_a_hyperparameter() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for package in ("pbt", "arena", "api")
        for path in (ROOT / package).rglob("*.py")
        if (names := sorted(set(named(path, HYPERPARAMS))))
    }
    assert set(found) <= ALLOWED, found


def test_a_round_from_before_a_hyperparameter_has_the_bounds_of_its_row() -> None:
    rules = PbtRules.from_config(PbtConfig(), "win")
    name = next(iter(HYPERPARAMS))
    row = HYPERPARAMS[name]
    before = {key: rule for key, rule in rules.to_mapping().items() if not key.startswith(name)}
    assert PbtRules.from_mapping(before).bounds[row.scaled_name] == row.mark.bounds
    with pytest.raises(EngineError, match=f"missing .*{name}_high"):
        PbtRules.from_mapping({**before, f"{name}_low": 0.1})
