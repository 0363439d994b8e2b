"""The algorithm that a configuration names for a member."""

from collections.abc import Callable, Iterable, Mapping

from pbt.algorithms.appo import Appo
from pbt.algorithms.base import Algorithm
from pbt.algorithms.dqn import Dqn
from pbt.config.learning import AlgorithmName
from pbt.config.schema import RunConfig
from pbt.errors import EngineError, SnapshotError
from pbt.models.acting import ActingRule
from pbt.models.weights import RULE_PREFIX
from pbt.transport.slab import Column

KINDS: Mapping[AlgorithmName, Callable[[RunConfig], Algorithm]] = {
    "appo": lambda config: Appo(config.learning),
    "dqn": lambda config: Dqn(config.dqn),
}


def new_algorithm(config: RunConfig, member: str) -> Algorithm:
    """Return the algorithm by which a member learns."""
    return KINDS[config.algorithm_of(member)](config)


def frozen_rule(config: RunConfig, names: Iterable[str]) -> ActingRule:
    """Return how the policy of a snapshot acts.

    config  of the population that it is from
    names   of the snapshot's tensors, among which are those of its rule
    Raises: SnapshotError where no algorithm acts by such tensors.
    """
    own = {name for name in names if name.startswith(RULE_PREFIX)}
    for make in KINDS.values():
        rule = make(config).rule(explores=False)
        if {f"{RULE_PREFIX}{name}" for name in rule.state_dict()} == own:
            return rule
    raise SnapshotError(
        f"the snapshot acts by {', '.join(sorted(own))}, which no algorithm here does; it may be "
        "from a newer version"
    )


def columns_of(config: RunConfig) -> tuple[Column, ...]:
    """Return what acting writes for all algorithms that a config names, in the order of KINDS.

    It does not depend on which members there are, since members come and go.
    Raises: EngineError where two algorithms mean different columns by one name.
    """
    named = (make(config) for name, make in KINDS.items() if name in config.algorithms)
    columns = (column for algorithm in named for column in algorithm.columns)
    by_name: dict[str, Column] = {}
    for column in columns:
        if (other := by_name.setdefault(column.name, column)) != column:
            raise EngineError(
                f"two algorithms have columns of the name {column.name}, but of different kinds: "
                f"{other} and {column}; expected another name for one of them"
            )
    return tuple(by_name.values())
