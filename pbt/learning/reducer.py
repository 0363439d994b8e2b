"""The reducer adds vectors over the shards of one member's batch.

Every shard gets the same bits, so replicas that apply the result stay equal.
"""

from typing import Protocol

from torch import Tensor


class Reducer(Protocol):
    """What a learner knows of the other shards."""

    def sum(self, vector: Tensor) -> Tensor:
        """The elementwise sum over all shards.

        vector  [n], the same n and dtype on every shard; not written to
        Raises: EngineError when another shard does not come within the deadline.
        """
        ...


class SingleReducer:
    """One shard: nothing to add."""

    def sum(self, vector: Tensor) -> Tensor:
        return vector
