"""The algorithm that a configuration names for a member."""

from collections.abc import Callable, Iterable, Mapping

from pbt.algorithms.appo import Appo
from pbt.algorithms.base import Algorithm
from pbt.algorithms.dqn import Dqn
from pbt.config.learning import AlgorithmName
from pbt.config.schema import RunConfig
from pbt.errors import SnapshotError
from pbt.models.acting import ActingRule
from pbt.models.weights import MODEL_PREFIX
from pbt.transport.slab import Column

# Where a model's tensors have those of its rule.
_RULE = f"{MODEL_PREFIX}rule."

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
    own = {name for name in names if name.startswith(_RULE)}
    for make in KINDS.values():
        rule = make(config).rule(explores=False)
        if {f"{_RULE}{name}" for name in rule.state_dict()} == own:
            return rule
    raise SnapshotError(
        f"the snapshot acts by {', '.join(sorted(own))}, which no algorithm here does; it may be "
        "from a newer version"
    )


def columns_of(config: RunConfig, members: Iterable[str]) -> tuple[Column, ...]:
    """Return what acting writes for the algorithms of all these members."""
    kinds = dict.fromkeys(config.algorithm_of(member) for member in members)
    columns = (column for kind in kinds for column in KINDS[kind](config).columns)
    return tuple({column.name: column for column in columns}.values())
