"""The contract of learner handles: a learner in this process and one in another do the same.

Both learn from one slab, and are compared with a plain `Learner` bit for bit.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bench.memory import MemorySink
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.batcher import gather
from pbt.learning.learner import Learner
from pbt.models.weights import model_tensors
from pbt.runtime import control
from pbt.runtime.assembly import new_learner
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.learner_handle import LearnerHandle, RemoteLearner
from pbt.runtime.local_learner import LocalLearner
from pbt.runtime.placements import Shard, process_plans, resolve
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.run_state import RunState
from pbt.runtime.shared import SharedMemory
from pbt.snapshots import FileSnapshotStore
from pbt.transport.slab import Slab

LIMIT_S = 120.0
SLOTS = 4
CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "population": {"members": 6},
        "sampling": {"environments": 8, "rollout_steps": 4},
        "model": {"core": "gru", "gru_size": 8, "hidden": [8]},
        "learning": {
            "batch_steps": 4 * SLOTS,
            "epochs": 2,
            "minibatches": 2,
            "normalize_returns": False,
        },
        "runtime": {"placement": "central", "workers": 1, "learners": 1},
    }
)
Answers = list[control.LearnerAnswer]


class Place:
    """The memory of a run whose learners are all in one process.

    answers  by member, oldest first
    """

    def __init__(self, folder: Path) -> None:
        config, spec = resolve(CONFIG, cores=2, cuda=False), registry.spec("tictactoe")
        self.blueprint, self.store = blueprint_of(config, spec), FileSnapshotStore(folder)
        plans = process_plans(config, [member.name for member in self.blueprint.members])
        self.shared = SharedMemory(self.blueprint, plans)
        self.processes = ProcessGroup(plans, self.shared.board, 60.0, {"learning": 60.0})
        self.answers: dict[str, Answers] = {one.name: [] for one in self.blueprint.members}

    def slots(self, number: int, policy: int) -> tuple[int, ...]:
        """Fill the slots of a batch with rows that a policy acted."""
        first = SLOTS * number
        fill(self.shared.slabs[0], range(first, first + SLOTS), policy, number)
        return tuple(range(first, first + SLOTS))

    def take(self, answer: control.LearnerAnswer) -> None:
        self.answers[answer.member].append(answer)

    def reference(self, handle: LearnerHandle) -> Learner:
        """A learner as the member's begins, which has no handle."""
        return new_learner(self.blueprint, self.blueprint.members[handle.policy])

    def local(self, policy: int) -> LearnerHandle:
        member = self.blueprint.members[policy]
        batches = BatchGatherer(
            self.shared.slabs,
            background=False,
            on_gathered=lambda name: self.take(control.Gathered(name)),
        )
        learner, published = new_learner(self.blueprint, member), self.shared.published[member.name]
        shard = Shard(member.name)
        return LocalLearner(member, learner, published, batches, self.store, self.take, shard)

    def remote(self, policy: int) -> LearnerHandle:
        member = self.blueprint.members[policy]
        processes, published = self.processes, self.shared.published[member.name]
        return RemoteLearner(
            member, ["learner-0"], published, processes.send, processes.reachable, self.take
        )

    def start(self) -> None:
        """Start the process of the learners, as `FaultDomains` does."""
        state = RunState(self.blueprint, self.shared, self.processes, MemorySink(), self.store)
        self.processes.start(state.orders(["learner-0"]))

    def hear(self, handle: LearnerHandle) -> None:
        """Hear the process of the learners, once."""
        for name, message in self.processes.hear(0.05):
            if isinstance(message, control.Ready):
                self.processes.children[name].ready = True
                self.processes.send(name, control.Go())
            else:
                assert isinstance(message, control.LearnerAnswer), message
                assert isinstance(handle, RemoteLearner) and message.member == handle.name
                handle.hear(name, message)
        assert not self.processes.troubles()


def fill(slab: Slab, slots: range, policy: int, seed: int) -> None:
    """Write complete rows: two episodes in each slot, the first of two rows."""
    rng, at = np.random.default_rng(seed), slice(slots.start, slots.stop)
    for name, column in slab.column.items():
        if name.startswith("obs/"):
            column[at] = rng.integers(0, 2, column[at].shape)
    values = {"mask": True, "valid": True, "truncated": False, "tics": 1, "version": 0}
    for name, value in {**values, "policy": policy, "initial_state": 0.0}.items():
        slab.column[name][at] = value
    for name in ("episode_start", "terminated"):
        slab.column[name][at] = False
    slab.column["episode_start"][at, ::2] = True
    slab.column["terminated"][at, 1::2] = True
    slab.column["rewards"][at] = rng.normal(size=slab.column["rewards"][at].shape)
    slab.column["actions"][at] = rng.integers(0, 9, slab.column["actions"][at].shape)
    slab.column["log_prob"][at], slab.column["value"][at] = -np.log(9.0), 0.0


class Pair:
    """A handle and how to wait for it."""

    def __init__(self, place: Place, handle: LearnerHandle) -> None:
        self.place, self.handle, self.name = place, handle, handle.name

    def tell(self, *orders: control.LearnerOrder, answers: int) -> Answers:
        """Give orders, and return the answers that come of them, which must be so many."""
        for order in orders:
            self.handle.tell(order)
        heard, deadline_s = self.place.answers[self.name], time.monotonic() + LIMIT_S
        while len(heard) < answers:
            assert time.monotonic() < deadline_s, heard
            self.place.hear(self.handle)
        assert len(heard) == answers
        self.place.answers[self.name] = []
        return heard

    def train(self) -> Answers:
        """Gather batch 1, and train on it."""
        order = control.Gather(self.name, self.place.slots(1, self.handle.policy))
        return self.tell(order, control.Train(self.name), answers=2)


@pytest.fixture(scope="module")
def remote_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("snapshots"))
    place.start()
    yield place
    place.processes.close()
    place.shared.close()


@pytest.fixture
def local_place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.shared.close()


@pytest.fixture(params=["local", "remote"])
def pair(request: pytest.FixtureRequest) -> Pair:
    """A member's learner, of its own for each test, since the process goes on."""
    number = request.node.parent.obj.MEMBERS.index(request.node.originalname)
    place: Place = request.getfixturevalue(f"{request.param}_place")
    make = place.local if request.param == "local" else place.remote
    return Pair(place, make(number))


def equal(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return mine.keys() == theirs.keys() and all(
        torch.equal(mine[name], theirs[name]) for name in mine
    )


def trained(learner: Learner, pair: Pair, *numbers: int) -> Learner:
    for number in numbers:
        slots = np.array(pair.place.slots(number, pair.handle.policy))
        learner.update(gather(pair.place.shared.slabs[0], slots))
    return learner


def test_it_trains_publishes_and_says_so(pair: Pair) -> None:
    handle, before = pair.handle, pair.handle.published.publications
    gather_order = control.Gather(pair.name, pair.place.slots(0, handle.policy))
    (gathered,) = pair.tell(gather_order, answers=1)
    assert isinstance(gathered, control.Gathered)
    (updated,) = pair.tell(control.Train(pair.name), answers=1)
    assert isinstance(updated, control.Updated) and updated.stats.rows == 4 * SLOTS
    assert handle.published.publications == before + 1
    assert (handle.version, handle.frames) == (1, 4 * SLOTS)
    assert updated.stats.version == handle.version
    assert equal(handle.state(), trained(pair.place.reference(handle), pair, 0).state())
    assert equal(model_tensors(handle.published.read()), model_tensors(handle.state()))


def test_batches_are_trained_in_the_order_of_their_gathers(pair: Pair) -> None:
    policy = pair.handle.policy
    gathers = [control.Gather(pair.name, pair.place.slots(number, policy)) for number in (0, 1)]
    trains = [control.Train(pair.name)] * 2
    answers = pair.tell(*gathers, *trains, answers=4)
    versions = [one.stats.version for one in answers if isinstance(one, control.Updated)]
    assert versions == [1, 2]
    expected = trained(pair.place.reference(pair.handle), pair, 0, 1)
    assert equal(pair.handle.state(), expected.state())


def test_what_is_discarded_is_not_trained_on(pair: Pair) -> None:
    gather_order = control.Gather(pair.name, pair.place.slots(0, pair.handle.policy))
    pair.tell(gather_order, control.Discard(pair.name), answers=1)
    pair.train()
    expected = trained(pair.place.reference(pair.handle), pair, 1)
    assert equal(pair.handle.state(), expected.state())


def test_a_copy_takes_weights_and_moments_and_keeps_the_clocks(pair: Pair) -> None:
    pair.train()
    donor = trained(pair.place.reference(pair.handle), pair, 0, 1)
    snapshot_id, _ = pair.place.store.put(donor.state(), {"test": pair.name})
    (copied,) = pair.tell(control.Copy(pair.name, snapshot_id), answers=1)
    assert isinstance(copied, control.Copied)
    state = pair.handle.state()
    assert (pair.handle.version, pair.handle.frames) == (1, 4 * SLOTS)
    clocks = {"clocks": state["clocks"]}
    assert equal(state, donor.state() | clocks) and int(clocks["clocks"][0]) == 1
    assert equal(model_tensors(pair.handle.published.read()), model_tensors(donor.state()))


def test_hyperparameters_hold_from_the_next_update_on(pair: Pair) -> None:
    reference = pair.place.reference(pair.handle)
    values = reference.hyperparams.flat() | {"learning_rate": 0.0}
    pair.tell(control.SetHyperparams(pair.name, values), answers=0)
    pair.train()
    assert equal(model_tensors(pair.handle.state()), model_tensors(reference.state()))
    assert pair.handle.version == 1


def test_it_attests_at_once_and_before_it_says_that_it_trained(pair: Pair) -> None:
    (first,) = pair.tell(control.Attest(pair.name, 1), answers=1)
    assert isinstance(first, control.Attested) and first.attestation.version == 0
    gather_order = control.Gather(pair.name, pair.place.slots(0, pair.handle.policy))
    answers = pair.tell(gather_order, control.Train(pair.name), answers=3)
    kinds = [control.Gathered, control.Attested, control.Updated]
    assert [type(answer) for answer in answers] == kinds
    attested = answers[1]
    assert isinstance(attested, control.Attested) and attested.attestation.version == 1


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_it_goes_on_from_a_state_that_it_is_given(local_place: Place, kind: str) -> None:
    handle = local_place.local(0) if kind == "local" else local_place.remote(0)
    pair = Pair(local_place, handle)
    state = trained(local_place.reference(handle), pair, 0, 1).state()
    handle.load(state)
    assert equal(handle.state(), state) and (handle.version, handle.frames) == (2, 8 * SLOTS)
    assert handle.published.version == 2
    assert equal(model_tensors(handle.published.read()), model_tensors(state))


# A member for each test of a learner that trains.
MEMBERS = (
    "test_it_trains_publishes_and_says_so",
    "test_batches_are_trained_in_the_order_of_their_gathers",
    "test_what_is_discarded_is_not_trained_on",
    "test_a_copy_takes_weights_and_moments_and_keeps_the_clocks",
    "test_hyperparameters_hold_from_the_next_update_on",
    "test_it_attests_at_once_and_before_it_says_that_it_trained",
)
