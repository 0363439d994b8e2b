"""A learner's evidence of what it trains with, for the certificates of `pbt.population.certifier`.

It only reads: the learner's weights are the same, bit for bit, with evidence and without.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.algorithms.batch import Batch
from pbt.learning.learner import Learner
from pbt.learning.statistics import UpdateStats
from pbt.models.digests import Dtypes, acting_digest, acting_dtypes
from pbt.models.policy_model import PolicyModel

# Rows of a batch whose log-probabilities are computed again, in whole slots.
SAMPLE_ROWS = 128
# For so many updates the weights are kept for rows that they acted for. The lag is far below that.
PATIENCE = 32


class LogProbSample(NamedTuple):
    """Log-probabilities that were computed again by kept weights, and how far off they were.

    rows     how many
    largest  the largest difference, in parts of 1 + |log-probability|
    allowed  the largest that rounding explains
    """

    rows: int
    largest: float
    allowed: float


class Attestation(NamedTuple):
    """What a learner says of itself.

    version  of its weights
    weights  their digest (`pbt.models.digests`), in the form in which they act
    values   what the last optimiser step was computed with, by the names of `Hyperparams.flat`,
             times `factors`, and shaping weights times the reward scale; empty where no step was
             taken since the learner was asked
    factors  `Learner.factors` of that step, by hyperparameter
    oldest   the lowest version of the rows of the last batch, None without one
    actor    log-probabilities as the actor stored them, against those computed again by weights of
             the version that stands with the rows; None: not compared
    trained  those that the learner trained with, against those computed again from the slots of its
             batch; None: not compared
    """

    version: int
    weights: int
    values: dict[str, float] = {}
    factors: dict[str, float] = {}
    oldest: int | None = None
    actor: LogProbSample | None = None
    trained: LogProbSample | None = None


class Attestor:
    """Watches one learner, when it is asked to.

    attests  the next publication is one of those that were asked for
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._dtypes: Dtypes | None = None
        self._left = 0
        # Weights of an earlier version, which version that was, and for how many updates they stay.
        self._kept: PolicyModel | None = None
        self._version = self._patience = 0
        self._batch: Batch | None = None
        self._trained: LogProbSample | None = None
        self._attestation: Attestation | None = None

    @property
    def _single_steps(self) -> bool:
        """Whether the learner's parts are made of steps of many slots."""
        return self._learner.algorithm.replay is not None or self._learner.config.shuffle == "rows"

    @property
    def attests(self) -> bool:
        return self._left > 0

    def begin(self, publications: int) -> Attestation:
        """Attest the present weights at once, and so many of the publications that follow.

        With publications, the present weights are kept until rows that they acted for come back.
        """
        if publications:
            self._left = publications
            self._kept = copy.deepcopy(self._learner.model)
            self._version, self._patience = self._learner.version, PATIENCE
            self._learner.listener = self._listen
        return Attestation(self._learner.version, self._digest())

    def update(
        self, batch: Batch, reducer: Reducer | None = None, round: int | None = None
    ) -> UpdateStats:
        """`Learner.update`, watched. The caller publishes, then takes the attestation."""
        if not self._left and self._kept is None:
            return self._learner.update(batch, reducer, round)
        learner, version = self._learner, self._learner.version
        oldest = int(torch.where(batch.valid, batch.version, version).min())
        factors, actor = learner.factors(), self._compare_actor(batch)
        self._batch, self._trained = batch, None
        if (self._single_steps or learner.delayed) and self._kept is not None:
            learner.listener = self._listen
        try:
            stats = learner.update(batch, reducer, round)
        finally:
            self._batch = learner.listener = None
        self._patience -= 1
        # Where every step was skipped, the version stands for other statistics than those kept.
        skipped = bool(stats.skipped_steps) and learner.version == version
        if actor is not None or self._patience == 0 or skipped:
            self._kept = None
        if self._left or actor is not None:
            said = learner.values_used(), factors, oldest, actor, self._trained
            self._attestation = Attestation(learner.version, self._digest(), *said)
        return stats

    def take(self) -> Attestation | None:
        """The attestation of the update that was just published, None where none is due."""
        self._left = max(0, self._left - 1)
        attestation, self._attestation = self._attestation, None
        return attestation

    def _digest(self) -> int:
        model = self._learner.model
        if self._dtypes is None:
            self._dtypes = acting_dtypes(model)
        return acting_digest(model.state_dict(), self._dtypes)

    # --- log-probabilities ------------------------------------------------------------------------

    def _compare_actor(self, batch: Batch) -> LogProbSample | None:
        """Compare what the actor stored, for rows that the kept weights acted for."""
        if self._kept is None:
            return None
        rows = rows_acted_by(batch, self._version, recurrent=bool(self._kept.state_size))
        slots = rows.sum(0).argsort(descending=True, stable=True)[: _sampled(batch)]
        part = batch.select(slots)
        stored = part.acted[self._learner.algorithm.evidence]
        return self._sample(part, stored, rows[:, slots])

    def _listen(self, part: Batch, log_prob: Tensor) -> None:
        """Compare what the learner computed, [T, b], in its first pass over slots of a batch.

        The slots are found in the batch as it was gathered by what stands in their rows. They
        cannot be found where these rows are not those of the batch.
        """
        self._learner.listener = None
        batch, count = self._batch, min(_sampled(part), part.slots)
        assert batch is not None, "`update` has begun"
        if self._single_steps:
            self._listen_to_steps(part)
            return
        if self._learner.delayed and not (part.valid & (part.version == self._version)).any():
            # It computed with the weights that acted, which are not those that were kept.
            return
        found = _places(part, batch, count)
        own = batch.select(torch.tensor([place or 0 for place in found]))
        sample = self._sample(own, log_prob[:, :count], own.valid)
        if sample is not None and None in found:
            sample = sample._replace(largest=float("inf"))
        self._trained = sample

    def _listen_to_steps(self, part: Batch) -> None:
        """Compare what actors stored with steps that were drawn, for the kept weights' own ones.

        The steps have gone through the replay, so they must still stand beside what was stored.
        Where none was drawn, the next part is looked at.
        """
        rows = part.valid & (part.version == self._version)
        stored = part.acted[self._learner.algorithm.evidence]
        # A copy: a pass writes into what it reads, and the gradient of the part is yet to come.
        own = part.select(torch.arange(part.slots, device=part.valid.device))
        self._trained = self._sample(own, stored, rows)
        if self._trained is None:
            self._learner.listener = self._listen

    @torch.no_grad()
    def _sample(self, part: Batch, log_prob: Tensor, rows: Tensor) -> LogProbSample | None:
        """Compare log-probabilities, [T, b], of these rows ([T, b] bool) with new ones.

        None where there are no such rows.
        """
        if not rows.any():
            return None
        model = self._kept
        assert model is not None
        again = self._learner.algorithm.recomputed(model, part)
        largest = float(((again - log_prob).abs() / (1.0 + again.abs()))[rows].max())
        return LogProbSample(int(rows.sum()), largest, allowed_difference(model))


def _sampled(batch: Batch) -> int:
    """How many slots of a batch, at most, have their log-probabilities computed again."""
    return max(1, SAMPLE_ROWS // len(batch.valid))


def allowed_difference(model: PolicyModel) -> float:
    """The largest difference of `LogProbSample` between equal weights that act and that train.

    They round in other orders, for other numbers of rows. Float32 sums differ by 1e-6 in networks
    of usual size; on CUDA, convolutions may round their inputs to TF32, which keeps 10 bits, as
    bfloat16 keeps 7.
    """
    if model.dtype == torch.bfloat16:
        return 0.1
    return 1e-2 if model.heads.weight.is_cuda else 1e-4


def rows_acted_by(batch: Batch, version: int, *, recurrent: bool) -> Tensor:
    """The valid rows whose log-probabilities weights of a version give again, [T, B] bool.

    With memory, the rows before them in their episode must be of that version too, because the
    state that they saw went through those rows. The state before row 0 stands in the batch.
    """
    own = batch.valid & (batch.version == version)
    if not recurrent:
        return own
    rows, before = [], torch.ones_like(own[0])
    for row, starts in zip(own, batch.episode_start, strict=False):
        before = row & (before | starts)
        rows.append(before)
    return torch.stack(rows)


def _places(part: Batch, batch: Batch, count: int) -> list[int | None]:
    """Where the first `count` slots of a part stand in the batch that it is from; None: nowhere.

    Other slots may have the same numbers of the actor, which a policy gives that does not yet tell
    observations or actions apart. So actions and what was seen must be the same, too.
    """
    same = (_stored(part)[:count, None] == _stored(batch)[None]).all(-1)
    places = [row.nonzero().flatten().tolist() for row in same]
    return [
        next((place for place in candidates if _seen_alike(part, slot, batch, place)), None)
        for slot, candidates in enumerate(places)
    ]


def _stored(batch: Batch) -> Tensor:
    """What the actor stored with every slot, [B, numbers * T]; 0 where a row is not valid."""
    columns = [
        column.flatten(2) if column.dim() > 2 else column.unsqueeze(-1)
        for column in (*batch.acted.values(), batch.actions)
    ]
    # Columns of other algorithms were never written.
    numbers = torch.cat([column.double() for column in columns], -1).nan_to_num()
    valid = torch.where(batch.valid.unsqueeze(-1), numbers, 0.0)
    return valid.transpose(0, 1).flatten(1)


def _seen_alike(part: Batch, slot: int, batch: Batch, place: int) -> bool:
    """Whether a slot of the part and one of the batch were seen alike, but for their rows T."""
    pairs = zip(part.observations.values(), batch.observations.values(), strict=True)
    return _alike(part.initial_state[slot], batch.initial_state[place]) and all(
        _alike(mine[:-1, slot], theirs[:-1, place]) for mine, theirs in pairs
    )


def _alike(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors of one shape hold the same numbers, where NaN equals itself."""
    return bool(((mine == theirs) | ((mine != mine) & (theirs != theirs))).all())
