"""A member's learner in this process: it gathers, trains, publishes and copies at once."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.attesting import Attestation, Attestor
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.learning.reducer import Reducer
from pbt.population.interfaces import SnapshotStore
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.control import Attested, Copied, LearnerAnswer, Updated
from pbt.runtime.placements import Shard
from pbt.transport.slab import Slab
from pbt.transport.weights import PublishedWeights


class LocalLearner:
    """The LearnerHandle of a learner in this process, or of one shard of it.

    In `serial` the scheduler calls it; in other placements the host of its process does, as the
    messages of a RemoteLearner say.

    shard     which part of the member's batches it trains; part 0 alone publishes
    attestor  watches the learner; that of part 0 alone is asked to
    """

    reachable = True

    def __init__(
        self,
        place: MemberPlace,
        learner: Learner,
        published: PublishedWeights,
        slab: Slab,
        batches: BatchGatherer,
        store: SnapshotStore,
        answer: Callable[[LearnerAnswer], None],
        shard: Shard,
        reducer: Reducer | None = None,
    ) -> None:
        """slab: of its role; batches: copies slots, and answers Gathered for it."""
        self.name, self.role, self.policy = place
        self.learner, self.published, self.shard = learner, published, shard
        self.attestor = Attestor(learner)
        self._slab, self._batches, self._store = slab, batches, store
        self._answer, self._reducer = answer, reducer

    @property
    def version(self) -> int:
        return self.learner.version

    @property
    def frames(self) -> int:
        return self.learner.frames

    def state(self) -> dict[str, Tensor]:
        return self.learner.state()

    def weights(self) -> Mapping[str, Tensor]:
        return self.learner.model.state_dict()

    def gather(self, slots: Sequence[int]) -> None:
        """See LearnerHandle. Raises: EngineError when another policy acted in a row."""
        column = self._slab.column
        foreign = column["valid"][list(slots)] & (column["policy"][list(slots)] != self.policy)
        if foreign.any():
            raise EngineError(
                f"{int(foreign.sum())} rows given to the learner of {self.name} (policy "
                f"{self.policy}) were acted by other policies"
            )
        self._batches.gather(self.name, self.role, slots)

    def train(self) -> None:
        """See LearnerHandle. Where an update raises, the caller answers."""
        stats = self.attestor.update(self._batches.take(self.name), self._reducer)
        self.publish()
        self._attested(self.attestor.take())
        self._answer(Updated(self.name, stats))

    def discard(self) -> None:
        self._batches.discard(self.name)

    def copy(self, snapshot_id: str) -> None:
        self.learner.copy_from(self._store.load(snapshot_id))
        self.publish()
        self._answer(Copied(self.name))

    def set_hyperparams(self, values: Mapping[str, float]) -> None:
        self.learner.set_hyperparams(Hyperparams.from_flat(values))

    def attest(self, publications: int) -> None:
        self._attested(self.attestor.begin(publications))

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

    def _attested(self, attestation: Attestation | None) -> None:
        if attestation is not None:
            self._answer(Attested(self.name, attestation))
