"""A member's learner in this process: it gathers, trains, publishes and copies at once."""

from collections.abc import Callable, Mapping

from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.attesting import Attestor
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.learning.statistics import UpdateStats
from pbt.population.interfaces import SnapshotStore
from pbt.runtime import control
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.placements import Shard
from pbt.transport.weights import PublishedWeights


class LocalLearner:
    """The LearnerHandle of a learner in this process, or of one shard of it.

    In `serial` the scheduler tells it; in other placements the host of its process does, as a
    RemoteLearner has told the process.

    shard     which part of the member's batches it trains; part 0 alone publishes
    attestor  watches the learner; that of part 0 alone is asked to
    """

    reachable = True

    def __init__(
        self,
        place: MemberPlace,
        learner: Learner,
        published: PublishedWeights,
        batches: BatchGatherer,
        store: SnapshotStore,
        answer: Callable[[control.LearnerAnswer], None],
        shard: Shard,
        reducer: Reducer | None = None,
    ) -> None:
        """batches: copies slots, and answers Gathered for the learner."""
        self.name, self.role, self.policy = place
        self.learner, self.published, self.shard = learner, published, shard
        self.attestor = Attestor(learner)
        self.replay = learner.experience.slab
        self._batches, self._store, self._answer = batches, store, answer
        self._reducer = reducer
        self._stats: UpdateStats | None = None

    @property
    def version(self) -> int:
        return self.learner.version

    @property
    def frames(self) -> int:
        return self.learner.frames

    def state(self) -> dict[str, Tensor]:
        return self.learner.state()

    def tell(self, order: control.LearnerOrder) -> None:
        """See LearnerHandle. Where an update raises, the caller answers.

        Raises: EngineError when another policy acted in a row to be gathered.
        """
        match order:
            case control.Gather():
                self._check_rows(list(order.slots))
                # A replay keeps slots of one length.
                most = None if self.replay is None else self.replay.layout.rollout_steps
                self._batches.gather(
                    self.name, self.role, order.slots, lanes=order.lanes, most=most
                )
            case control.Train():
                batch = self._batches.take(self.name)
                self._stats = self.attestor.update(batch, self._reducer, order.round)
                if order.publish:
                    self._publish_update()
                else:
                    self._answer(control.Trained(self.name))
            case control.Publish():
                self._publish_update()
            case control.Discard():
                self._batches.discard(self.name)
            case control.Copy():
                self.learner.copy_from(self._store.load(order.snapshot_id))
                self.publish()
                self._answer(control.Copied(self.name))
            case control.SetHyperparams():
                self.learner.set_hyperparams(Hyperparams.from_flat(order.values))
            case control.Attest():
                attestation = self.attestor.begin(order.publications)
                self._answer(control.Attested(self.name, attestation))

    def _publish_update(self) -> None:
        """Publish what the last update made of the weights, and answer."""
        assert self._stats is not None, "an update comes before"
        self.publish()
        if (attestation := self.attestor.take()) is not None:
            self._answer(control.Attested(self.name, attestation))
        self._answer(control.Updated(self.name, self._stats))

    def _check_rows(self, slots: list[int]) -> None:
        column = self._batches.slabs[self.role].column
        foreign = column["valid"][slots] & (column["policy"][slots] != self.policy)
        if foreign.any():
            raise EngineError(
                f"{int(foreign.sum())} rows given to the learner of {self.name} (policy "
                f"{self.policy}) were acted by other policies"
            )

    def load(self, state: Mapping[str, Tensor]) -> None:
        self.learner.load_state(state)
        self.publish()

    def publish(self) -> None:
        """Let the member act with the weights that it has learned."""
        if self.shard.index == 0:
            # `publish` copies tensor by tensor; from another device one transfer comes first.
            learner = self.learner
            state = learner.tensors() if learner.device.type == "cpu" else learner.state()
            self.published.publish(state, learner.version, attested=self.attestor.attests)
