"""The table of hyperparameters: a marked key is all that one takes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field, ValidationError

from pbt.algorithms.registry import KINDS
from pbt.config.learning import HYPERPARAMS, LearningConfig, rows_of
from pbt.config.mutable import HyperparamSpec, Mutable, marked, table, with_bounds, with_values
from pbt.config.population import MemberOverride, PbtConfig, ScheduleStep
from pbt.config.resume import hyperparameter_keys, hyperparameter_of, is_editable
from pbt.config.schema import RunConfig
from pbt.config.start_values import start_problems
from pbt.config.values import OneOrLess, Section
from pbt.errors import EngineError
from pbt.hyperparams import initial_hyperparams, scheduled_hyperparams, with_edits
from pbt.population.mutation import mutate
from pbt.population.pbt_rules import PbtRules

ROOT = Path(__file__).parents[3]
# Where a hyperparameter acts, or is declared.
ALLOWED = {
    "pbt/algorithms/appo.py",
    "pbt/algorithms/dqn.py",
    "pbt/config/learning.py",
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
    rate, distance = marked("learning", Learning)
    assert (rate.name, rate.bounds_key, rate.mark.annealed) == ("rate", "rate_bounds", True)
    assert (distance.bounds_key, distance.scaled_name) == (
        "one_minus_distance_bounds",
        "one_minus_distance",
    )
    assert distance.size(0.75) == 0.25 and distance.of_size(0.25, 0.1) == 0.75
    assert rate.size(-2.0) == 2.0 and rate.of_size(3.0, -2.0) == -3.0


def test_sections_have_every_row() -> None:
    rows = marked("learning", Learning)

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
    assert "rate      as in [learning]" in (Values.__doc__ or "")
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
    rules = PbtRules.from_config(config, "win")
    for algorithm in KINDS:
        values = {row.name: 0.25 for row in rows_of(algorithm)}
        mutated = mutate(values, rules, np.random.default_rng(0))
        for row in rows_of(algorithm):
            low, high = getattr(config, row.bounds_key)
            assert mutated[row.name] != 0.25 and low <= row.size(mutated[row.name]) <= high
    assert {row.name for algorithm in KINDS for row in rows_of(algorithm)} == {*HYPERPARAMS}


MIXED = {
    "env": {"name": "x"},
    "learning": {"entropy_coef": 0.02},
    "dqn": {"epsilon_end": 0.1},
    "pbt": {"enabled": False},
}


def mixed(**own: Any) -> RunConfig:
    members = {"m1": {"algorithm": "dqn", **own}}
    return RunConfig.model_validate({**MIXED, "members": members})


def test_a_member_has_the_values_of_its_algorithm() -> None:
    config = mixed(epsilon_end=0.2, schedule=[{"at_frames": 100, "epsilon_end": 0.3}])
    actor_critic, q_learner = (
        initial_hyperparams(config, name, ()).flat() for name in ("m0", "m1")
    )
    assert actor_critic["entropy_coef"] == 0.02 and "epsilon_end" not in actor_critic
    assert q_learner["epsilon_end"] == 0.2 and "entropy_coef" not in q_learner
    assert scheduled_hyperparams(config, "m1", (), 100).values["epsilon_end"] == 0.3
    edited = with_edits(mixed(), {"epsilon_end": 0.4, "entropy_coef": 0.5})
    assert initial_hyperparams(edited, "m1", ()).values["epsilon_end"] == 0.4
    assert initial_hyperparams(edited, "m0", ()).values["entropy_coef"] == 0.5


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ({"entropy_coef": 0.1}, "members.m1.entropy_coef"),
        (
            {"schedule": [{"at_frames": 5, "entropy_coef": 0.1}]},
            r"members.m1.schedule\[0\].entropy_coef",
        ),
    ],
)
def test_a_value_of_another_algorithm_is_refused(own: dict[str, Any], place: str) -> None:
    says = rf'{place} = 0.1: m1 learns by "dqn", which has no such value \("appo" has\); remove it'
    with pytest.raises(ValidationError, match=says):
        mixed(**own)


def test_bounds_matter_to_the_algorithms_in_use() -> None:
    table = {"env": {"name": "x"}, "dqn": {"epsilon_end": 0.9}, "learning": {"entropy_coef": 5.0}}
    assert set(start_problems(RunConfig.model_validate(table))) == {"learning.entropy_coef"}
    table["learning"] |= {"algorithm": "dqn"}
    assert set(start_problems(RunConfig.model_validate(table))) == {"dqn.epsilon_end"}


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


def test_the_dashboard_names_hyperparameters_in_words_for_people_alone() -> None:
    names = re.compile(rf"\b({'|'.join(HYPERPARAMS)})\b")
    source = ROOT / "web/src"
    found = {
        str(path.relative_to(source)): names.findall(path.read_text(encoding="utf-8"))
        for path in source.rglob("*.ts*")
    }
    assert {path for path, named in found.items() if named} == {"metrics.ts"}


def test_a_population_has_the_hyperparameters_of_its_algorithms() -> None:
    def keys(**table: object) -> list[str]:
        return hyperparameter_keys(RunConfig.model_validate({"env": {"name": "x"}, **table}))

    appo = ["learning.learning_rate", "learning.entropy_coef", "learning.adam_beta1"]
    own = ["learning.learning_rate", "learning.adam_beta1", "dqn.epsilon_end"]
    assert keys() == appo
    assert keys(learning={"algorithm": "dqn", "shaping": {"win": 2.0}}) == [
        *own,
        "learning.shaping.win",
    ]
    assert keys(members={"m1": {"algorithm": "dqn"}}) == [*appo, "dqn.epsilon_end"]
    assert all(is_editable(key) and hyperparameter_of(key) for key in (*appo, *own))


def test_a_round_from_before_a_hyperparameter_has_the_bounds_of_its_row() -> None:
    rules = PbtRules.from_config(PbtConfig(), "win")
    name = next(iter(HYPERPARAMS))
    row = HYPERPARAMS[name]
    before = {key: rule for key, rule in rules.to_mapping().items() if not key.startswith(name)}
    assert PbtRules.from_mapping(before).bounds[row.scaled_name] == row.mark.bounds
    with pytest.raises(EngineError, match=f"missing .*{name}_high"):
        PbtRules.from_mapping({**before, f"{name}_low": 0.1})


def test_two_hyperparameters_of_one_name_are_refused() -> None:
    rows = marked("learning", Learning)
    with pytest.raises(ValueError, match=r"learning\.\w+ and learning\.\w+ are .* of one name"):
        table(rows, marked("learning", Learning))
    assert list(table(rows)) == [row.name for row in rows]


def test_only_what_is_annealed_can_be_left_out_of_it() -> None:
    annealed = [row.name for row in HYPERPARAMS.values() if row.mark.annealed]
    assert LearningConfig(not_annealed=tuple(annealed)).not_annealed == tuple(annealed)
    (other, *_) = (row.name for row in HYPERPARAMS.values() if not row.mark.annealed)
    with pytest.raises(ValidationError, match=f"should be {', '.join(annealed)}"):
        LearningConfig(not_annealed=(other,))
