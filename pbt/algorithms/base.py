"""What an algorithm is: what acting keeps for it, its loss, and what it tells of an update.

`pbt.algorithms.registry` names the kinds. Slabs, policy servers, batches and statistics have what
an algorithm declares; none of them names a column or a number of one.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.models.acting import ActingRule
from pbt.models.policy_model import PolicyModel
from pbt.transport.slab import Column


class Reducer(Protocol):
    """What a learner knows of the other shards of its member's batch.

    Every shard gets the same bits, so replicas that apply the result stay equal.
    """

    def sum(self, vector: Tensor) -> Tensor:
        """The elementwise sum over all shards.

        vector  [n], the same n and dtype on every shard; not written to
        Raises: EngineError when another shard does not come within the deadline.
        """
        ...


@dataclass(frozen=True)
class LossInputs:
    """What a loss is computed from, besides the model.

    A loss is a function of these and of nothing else, so `torch.vmap` computes that of several
    members at once, with a leading axis of members in every tensor. The networks must be of torch's
    own operations: it cannot look into the backward passes for memories, images and ELU.

    parameters  [parameters] float32, of the model now
    batch       a part of a batch, or all of it
    rewards     [T, B] float32, weighted, in the unit of the value head; 0 where not valid
    discounts   [T, B] float32; 0 where nothing follows, and where not valid
    values      hyperparameters by name, flat and annealed
    reducer     adds over the shards what must be known of all of them
    unit        gives (values that older versions predicted, [T, B]; these versions, [T, B]) in the
                unit of the present value head; None: all are in that unit
    memory      `Algorithm.memory` as it stands
    at          at(vector): within it, the model computes with other parameters, [parameters]
    """

    parameters: Tensor
    batch: Batch
    rewards: Tensor
    discounts: Tensor
    values: Mapping[str, float]
    reducer: Reducer
    unit: Callable[[Tensor, Tensor], Tensor] | None = None
    memory: Mapping[str, Tensor] = field(default_factory=dict)
    at: Callable[[Tensor], AbstractContextManager[None]] = lambda vector: nullcontext()


class Loss(NamedTuple):
    """A loss, SUMMED over the valid steps, so that those of shards add up.

    total     scalar, with gradient
    targets   [T, B], what the value head aims at, without gradient
    evidence  [T, B], without gradient: what stands in the column `Algorithm.evidence`, computed
              again by the present weights
    sums      scalars by name, for the statistics of the update
    """

    total: Tensor
    targets: Tensor
    evidence: Tensor
    sums: Mapping[str, Tensor]


@dataclass(frozen=True)
class ReplayRules:
    """That an algorithm trains on steps that it saw before, drawn evenly from the newest ones.

    rows        the newest steps that are kept
    least_rows  as many must be there before it trains
    batch_rows  steps of a batch, each of which is a slot of one row
    intensity   steps that it trains on for each step that was played
    """

    rows: int
    least_rows: int
    batch_rows: int
    intensity: float


class Algorithm(Protocol):
    """The formulas of one kind of learning.

    columns         what acting writes for it into every row, besides the action, version and policy
    evidence        the column of these, of one number a row, that the learner computes again to
                    prove that it trains with the rows and the weights that acted
    sums            names of `Loss.sums`, in the order in which they are added up
    replay          how it trains on earlier steps; None: on each batch as it comes
    scales_returns  `learning.normalize_returns` holds for it
    """

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def evidence(self) -> str: ...

    @property
    def sums(self) -> tuple[str, ...]: ...

    @property
    def replay(self) -> ReplayRules | None: ...

    @property
    def scales_returns(self) -> bool: ...

    def rule(self, *, explores: bool) -> ActingRule:
        """How its networks act. explores: as live policies do; False: as frozen players do."""

    def explore(self, model: PolicyModel, values: Mapping[str, float], frames: int) -> None:
        """Set the numbers by which a model's rule explores, for the next publication.

        values  the member's hyperparameters by name
        frames  on the member's clock
        """

    def memory(self, parameters: Tensor) -> dict[str, Tensor]:
        """What it remembers besides the weights, at the start; it is part of the learner's state.

        parameters  [parameters], the first weights; not to be kept
        """

    def after_step(self, memory: Mapping[str, Tensor], parameters: Tensor) -> None:
        """Bring its memory up to date, in place, after a step of the optimiser."""

    def fixed(self, model: PolicyModel, inputs: LossInputs) -> Batch:
        """The batch with the targets of its steps, for a loss of single steps of it.

        It is called before the first part of an update where `learning.shuffle` is "rows", unless
        the algorithm replays.
        """

    def loss(self, model: PolicyModel, inputs: LossInputs) -> Loss:
        """The loss of a model with the weights that it has now."""

    def recomputed(self, model: PolicyModel, batch: Batch) -> Tensor:
        """The `evidence` by a model, [T, B]; anything where not valid."""

    def means(self, sums: Mapping[str, float]) -> dict[str, float]:
        """The statistics of an update, by the name of their curve.

        sums  those of `Loss.sums` over all shards and passes, and "steps", "target" and
              "target_squares": the number of valid steps, and sums over their targets
        """
