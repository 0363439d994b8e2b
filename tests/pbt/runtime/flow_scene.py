"""A LearnerScheduler between made-up processes, everything in one thread.

The workers fill slots and the learners answer when the scene says so.

Over 350 lines: the scene and the account it keeps of every slot and row are one model, and read
best together.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import torch

from bench.memory import MemorySink, MemoryStore
from pbt.config.schema import RunConfig
from pbt.envs.contract import Role
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.roster import MemberEntry, Roster
from pbt.models.digests import ActingForms
from pbt.population.certifier import Certifier
from pbt.population.controller import Controller
from pbt.population.members import Member
from pbt.population.pbt_rules import PbtRules
from pbt.records import PlayerRef, SeatRecord
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.control import (
    Attested,
    Copied,
    Copy,
    Discard,
    Gather,
    Gathered,
    MemberError,
    SetHyperparams,
    SetRoster,
    Train,
    Updated,
)
from pbt.runtime.learner_handle import LearnerHandle, RemoteLearner
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.placements import ProcessPlan, Shard, process_plans
from pbt.runtime.roster_sender import RosterSender
from pbt.transport.messages import GameEnd, GamePlan, RolloutPermit, SeatPlan, SlotFull
from pbt.transport.slab import Slab, role_layout
from pbt.transport.weights import PublishedWeights
from tests.pbt.told_games import tell

T, BATCH_SLOTS, SLOTS_PER_WORKER = 2, 2, 5
NAMES = ("m0", "m1", "m2")
HYPERPARAMS = {
    "learning_rate": 1e-3,
    "entropy_coef": 0.01,
    "adam_beta1": 0.9,
    "shaping.reward": 1.0,
}
ROLE = Role("player", gymnasium.spaces.Box(-1, 1, (1,), np.float32), gymnasium.spaces.Discrete(2))
CONFIG = {
    "env": {"name": "tictactoe"},
    "stop_at_frames": 36,
    "population": {"members": len(NAMES)},
    "sampling": {"environments": 8, "rollout_steps": T},
    "learning": {"batch_steps": T * BATCH_SLOTS},
    "pbt": {
        "period_frames": 5,
        "warmup_frames": 0,
        "min_games": 1,
        "top_share": 0.5,
        "copy_gap": 0.0,
        "mutation_probability": 0.5,
        "score_games": 4,
    },
    "snapshots": {"every_frames": 20},
}


@dataclass
class Asked:
    """Slots that a learner was told to gather.

    expected  their contents at that time (ids of fillings)
    copied    what it copied from them
    """

    slots: tuple[int, ...]
    expected: tuple[int, ...]
    copied: tuple[int, ...] | None = None


@dataclass
class MadeUpProcess:
    """Hears, gathers, trains: each when the scene says so, in the order of `pbt.runtime.hosts`.

    unsent  done, but the main process was not told yet
    busy    the member whose update waits for its other shards
    """

    plan: ProcessPlan
    generations: dict[int, int]
    hyperparams: dict[str, dict[str, float]]
    inbox: deque[Any] = field(default_factory=deque)
    outbox: deque[Any] = field(default_factory=deque)
    unsent: deque[Any] = field(default_factory=deque)
    asked: dict[str, deque[Asked]] = field(default_factory=dict)
    to_train: deque[str] = field(default_factory=deque)
    held: set[int] = field(default_factory=set)
    busy: str | None = None
    ready: bool = False

    def __post_init__(self) -> None:
        self.asked = {shard.member: deque() for shard in self.plan.trains}

    def shard(self, member: str) -> Shard:
        return next(shard for shard in self.plan.trains if shard.member == member)


class Scene:
    """Everything around the scheduler.

    truth     ids of fillings that were trained on
    produced  rows so far
    rows      of every filling
    """

    def __init__(self, runtime: dict[str, Any], max_lag: int | None = None) -> None:
        learning = {**CONFIG["learning"], "max_lag": max_lag}  # type: ignore[dict-item]
        runtime = {**runtime, "max_restarts": 2}
        self.config = RunConfig.model_validate({**CONFIG, "runtime": runtime, "learning": learning})
        self.plans = {plan.name: plan for plan in process_plans(self.config, NAMES)}
        self.workers = [name for name, plan in self.plans.items() if plan.groups]
        plane = tuple(name for name, plan in self.plans.items() if plan.in_plane)
        self.domains = (plane, *((name,) for name, plan in self.plans.items() if not plan.in_plane))
        self.slab = Slab(role_layout(ROLE, ("reward",), T, 0), SLOTS_PER_WORKER * len(self.workers))
        self.sink, self.store = MemorySink(), MemoryStore()
        self.processes: dict[str, MadeUpProcess] = {}
        self.given_up: set[str] = set()
        self.permits: list[RolloutPermit] = []
        self.truth: set[int] = set()
        self.rows: list[int] = []
        self.filled_by: list[tuple[str, int]] = []
        # Shards that have not finished the update that was published last.
        self.to_finish: dict[str, set[str]] = {name: set() for name in NAMES}
        self._last_rows: dict[str, int] = {}
        # By member: publications when it was told to train.
        self._told_at: dict[str, int] = {}
        self._generations = dict.fromkeys(NAMES, 0)
        entries = (MemberEntry(name, "player", policy) for policy, name in enumerate(NAMES))
        self.roster = RosterSender(Roster(tuple(entries), 10, 0.0), self._tell_workers)
        self.learners = {name: self._learner(name, policy) for policy, name in enumerate(NAMES)}
        members = [
            Member(name, "player", policy, dict(HYPERPARAMS)) for policy, name in enumerate(NAMES)
        ]
        rules = PbtRules.from_config(self.config.pbt, "win")
        certifier = Certifier(ActingForms(), 1.0, self.sink, self.store)
        self.controller = Controller(
            self.config,
            rules,
            members,
            self.learners,
            self.roster,
            self.sink,
            self.store,
            certifier,
        )
        self.flow = LearnerScheduler(
            self.config,
            self.learners.values(),
            [self.slab],
            self.controller,
            self.permits.append,
        )
        self.controller.start()
        for domain in self.domains:
            self.start(domain)
            self.get_ready(domain)

    def _learner(self, name: str, policy: int) -> RemoteLearner:
        hosts = sorted(
            (shard.index, plan.name)
            for plan in self.plans.values()
            for shard in plan.trains
            if shard.member == name
        )
        state = {
            "model.w": torch.tensor([1000 * policy]),
            "adam.w": torch.zeros(1),
            "clocks": torch.zeros(4, dtype=torch.int64),
        }
        return RemoteLearner(
            MemberPlace(name, 0, policy),
            [host for _, host in hosts],
            PublishedWeights(state),
            self._send,
            self.processes.__contains__,
            lambda answer: self.flow.hear(answer),
        )

    # --- the main process -------------------------------------------------------------------------

    def _send(self, name: str, *messages: Any) -> None:
        if name not in self.processes:
            return
        for message in messages:
            line = self.flow.pipelines[message.member]
            if isinstance(message, Train):
                assert (
                    line.copying is None
                    and line.batches[0].publications is not None
                    and not line.batches[0].discarded
                )
                self._told_at[message.member] = line.handle.published.publications
            if isinstance(message, Gather):
                assert not self.flow.resting and line.copying is None
                self._check_lag(line.handle, message.slots)
                message = Asked(message.slots, self.contents(message.slots)), message.member
            self.processes[name].inbox.append(message)

    def _check_lag(self, handle: LearnerHandle, slots: tuple[int, ...]) -> None:
        if (max_lag := self.config.learning.max_lag) is not None:
            acted, valid = (
                self.slab.column["version"][list(slots)],
                self.slab.column["valid"][list(slots)],
            )
            assert handle.version - acted[valid].min() <= max_lag

    def contents(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.slab.column["origin"][list(slots), 0, 0].tolist())

    def _tell_workers(self, *messages: SetRoster) -> None:
        for message in messages:
            for entry in message.roster.members:
                if entry.generation > self._generations[entry.name]:
                    self._generations[entry.name] = entry.generation
                    self._acts_as_it_copied(entry.name)
        for name in self.workers:
            if name in self.processes:
                self.processes[name].inbox.extend(messages)

    def _acts_as_it_copied(self, name: str) -> None:
        donor = self.controller.members[name].newest_snapshot or ""
        copied, published = self.store.load(donor), self.learners[name].published.read()
        assert torch.equal(published["model.w"], copied["model.w"]), "from now on"

    def dispatch(self) -> None:
        """The end of a turn."""
        self.flow.dispatch()
        for permit in self.permits:
            self.processes[self.owner(permit.slot)].inbox.append(permit)
        self.permits.clear()

    def hear(self, name: str) -> None:
        """The main process takes the oldest message of a process."""
        self._route(name, self.processes[name].outbox.popleft())

    def _route(self, name: str, message: Any) -> None:
        match message:
            case SlotFull():
                self.flow.slot_full(message)
            case Gathered() | Updated() | Attested() | Copied() | MemberError():
                self.learners[message.member].hear(name, message)

    def die(self, domain: tuple[str, ...], for_ever: bool = False) -> None:
        """As the engine buries a domain. for_ever: it is given up (learners only)."""
        dead = {name: self.processes.pop(name) for name in domain}
        for name, process in dead.items():
            for message in process.outbox:
                self._route(name, message)
        for learner in self._learners_at(domain):
            learner.died()
            self.flow.died(learner.name)
        if domain == self.domains[0]:
            self.permits.clear()
            self.flow.slots_died()
            self.to_finish = {name: set() for name in NAMES}
        elif for_ever:
            self.given_up.update(domain)
            for shard in self.plans[domain[0]].trains:
                self.flow.fail(shard.member, "died too often")

    def may_start(self, domain: tuple[str, ...]) -> bool:
        waits = domain == self.domains[0] and self.flow.gathering
        return not waits and domain[0] not in self.processes and domain[0] not in self.given_up

    def start(self, domain: tuple[str, ...]) -> None:
        for name in domain:
            members = self.controller.members
            generations = {member.policy: member.generation for member in members.values()}
            hyperparams = {member.name: dict(member.hyperparams) for member in members.values()}
            self.processes[name] = process = MadeUpProcess(
                self.plans[name], generations, hyperparams
            )
            if name in self.workers:
                process.held = {slot for slot in range(self.slab.slots) if self.owner(slot) == name}

    def get_ready(self, domain: tuple[str, ...]) -> None:
        for name in domain:
            self.processes[name].ready = True
        for learner in self._learners_at(domain):
            self.flow.started(learner.name)

    def _learners_at(self, domain: tuple[str, ...]) -> list[RemoteLearner]:
        return [one for one in self.learners.values() if not set(one.hosts).isdisjoint(domain)]

    def owner(self, slot: int) -> str:
        return self.workers[slot // SLOTS_PER_WORKER]

    def game(self, winner: str, loser: str) -> None:
        players = [PlayerRef("member", name) for name in (winner, loser)]
        members = self.controller.members
        seats = tuple(
            SeatPlan(player, NAMES.index(player.name), members[player.name].generation, True)
            for player in players
        )
        records = tuple(
            SeatRecord(seat.player, seat.generation, 0, 0, place, 0.0)
            for place, seat in enumerate(seats)
        )
        tell(
            self.controller,
            GameEnd(
                0,
                GamePlan(self.controller.games, "training", 0, seats, ()),
                records,
                5,
                5,
                "win",
                "",
                None,
            ),
        )

    # --- the others -------------------------------------------------------------------------------

    def fill(self, name: str, slot: int, policy: int, valid: int, lag: int) -> None:
        """A worker fills a slot: `valid` rows, acted by weights `lag` versions old."""
        process, column, number = self.processes[name], self.slab.column, len(self.rows)
        process.held.remove(slot)
        column["valid"][slot], column["origin"][slot] = np.arange(T) < valid, number
        column["version"][slot] = max(0, self.learners[NAMES[policy]].published.version - lag)
        self.rows.append(valid)
        self.filled_by.append((NAMES[policy], process.generations[policy]))
        process.outbox.append(SlotFull(0, policy, process.generations[policy], slot))

    def attend(self, name: str) -> None:
        """A process hears its oldest message."""
        process = self.processes[name]
        process.outbox.extend(process.unsent)
        process.unsent.clear()
        match process.inbox.popleft():
            case (Asked() as asked, member):
                process.asked[member].append(asked)
                if process.plan.groups:
                    self.copy(name, member)
            case RolloutPermit(slot=slot):
                assert slot not in process.held, "permitted twice"
                process.held.add(slot)
            case SetRoster() as message:
                process.generations = {
                    member.policy: member.generation for member in message.roster.members
                }
            case Train(member):
                process.to_train.append(member)
            case Discard(member):
                process.to_train = deque(other for other in process.to_train if other != member)
                while self.copy(name, member):
                    """As a learner does before it forgets."""
                process.asked[member].clear()
            case SetHyperparams() as message:
                process.hyperparams[message.member] = dict(message.values)
            case Copy() as message:
                assert message.member not in process.to_train
                if process.shard(message.member).index == 0:
                    published = self.learners[message.member].published
                    published.publish(
                        published.read()
                        | {"model.w": self.store.load(message.snapshot_id)["model.w"]},
                        published.version,
                    )
                process.unsent.append(Copied(message.member))

    def copy(self, name: str, member: str) -> bool:
        """A learner copies the oldest slots it was given; False when there are none."""
        for asked in self.processes[name].asked[member]:
            if asked.copied is None:
                asked.copied = self.contents(asked.slots)
                assert asked.copied == asked.expected, "filled again before it was copied"
                self.processes[name].outbox.append(Gathered(member))
                return True
        return False

    def act(self, name: str, raises: bool, skips: bool) -> None:
        """A learner takes its next step: it tells what it did, or ends or begins an update."""
        process = self.processes[name]
        if process.unsent:
            process.outbox.append(process.unsent.popleft())
        elif process.busy is not None:
            self._update(name, process.busy, raises, skips)
        elif process.to_train:
            process.busy = process.to_train.popleft()

    def _update(self, name: str, member: str, raises: bool, skips: bool) -> None:
        process = self.processes[name]
        handle = self.learners[member]
        batch = process.asked[member][0]
        if batch.copied is None:
            return
        if raises and len(handle.hosts) == 1:
            process.asked[member].popleft()
            process.busy = None
            process.unsent.append(MemberError(member, "ValueError: made up"))
            return
        # Shards wait for each other; what the first of them finished the others still have to.
        shards = [self.processes[host] for host in handle.hosts]
        publisher = shards[0]
        if process is publisher:
            if not all(shard.busy == member for shard in shards):
                return
            self._publish(
                handle,
                [number for shard in shards for number in shard.asked[member][0].copied or ()],
                skips,
            )
            self.to_finish[member] = set(handle.hosts[1:])
        elif name not in self.to_finish[member]:
            return
        self.to_finish[member].discard(name)
        process.asked[member].popleft()
        process.busy = None
        process.unsent.append(Updated(member, self._stats(handle)))

    def _publish(self, handle: LearnerHandle, numbers: list[int], skips: bool) -> None:
        member = self.controller.members[handle.name]
        assert len(numbers) == BATCH_SLOTS and not self.truth & set(numbers), (
            "a batch is trained on once, as a whole"
        )
        assert {self.filled_by[number] for number in numbers} == {
            (handle.name, member.generation)
        } and self.flow.pipelines[handle.name].copying is None
        assert member.learning
        self.truth.update(numbers)
        self._last_rows[handle.name] = sum(self.rows[number] for number in numbers)
        state = handle.published.read()
        state["model.w"] += 1
        state["clocks"] += torch.tensor([not skips, self._last_rows[handle.name], skips, 0])
        handle.published.publish(state, int(state["clocks"][0]))

    def _stats(self, handle: LearnerHandle) -> UpdateStats:
        rows = self._last_rows[handle.name]
        facts = {
            **dict.fromkeys(UpdateStats.__dataclass_fields__, 0),
            "version": handle.published.version,
            "frames": rows,
            "rows": rows,
            "means": {},
            "round_lag": None,
        }
        return UpdateStats(**facts)

    # --- what must be true ------------------------------------------------------------------------

    def check(self) -> None:
        """Slots and rows."""
        flow, lines = self.flow, list(self.flow.pipelines.values())
        places = Counter(permit.slot for permit in self.permits)
        for process in self.processes.values():
            places.update(process.held)
            places.update(
                item.slot
                for item in (*process.inbox, *process.outbox)
                if isinstance(item, RolloutPermit | SlotFull)
            )
        for line in lines:
            places.update(line.batcher.waiting)
            places.update(
                full.slot for batch in line.batches if not batch.gathered for full in batch.fulls
            )
        alive = self.domains[0][0] in self.processes
        assert places == (dict.fromkeys(range(self.slab.slots), 1) if alive else {}), (
            "every slot has one owner"
        )
        unheard = [
            item.slot
            for process in self.processes.values()
            for item in process.outbox
            if isinstance(item, SlotFull)
        ]
        waiting = sum(line.batcher.rows_waiting() for line in lines) + sum(
            self.rows[n] for n in self.contents(tuple(unheard))
        )
        dropped = sum((line.batcher.dropped for line in lines), flow.dropped)
        assert (
            sum(self.rows)
            == flow.rows_trained + dropped.total() + waiting + flow.rows_at_learners()
        ), "every row is somewhere, once"
        published = sum(self.rows[number] for number in self.truth)
        assert published - flow.rows_trained == self._unheard_updates(), (
            "what was trained on is counted as trained on"
        )

    def _unheard_updates(self) -> int:
        """Rows of updates that were published and are not known to the main process."""
        rows = 0
        for name, line in self.flow.pipelines.items():
            if (
                line.batches
                and line.batches[0].publications is not None
                and line.handle.published.publications > self._told_at[name]
            ):
                rows += line.batches[0].rows
        return rows

    def work_through(self) -> None:
        """A turn in which every process does what there is to do and is heard."""
        self.dispatch()
        for name, process in list(self.processes.items()):
            while process.inbox and process.busy is None:
                self.attend(name)
            for member in process.asked:
                self.copy(name, member)
            if process.ready:
                self.act(name, False, False)
            while process.outbox:
                self.hear(name)

    def settle(self) -> None:
        """Every process lives and works, until nothing moves."""
        for _ in range(200):
            for domain in self.domains:
                if self.may_start(domain):
                    self.start(domain)
                if domain[0] in self.processes and not self.processes[domain[0]].ready:
                    self.get_ready(domain)
            self.work_through()
            self.check()
            moving = any(
                p.inbox or p.outbox or p.unsent or p.to_train or p.busy
                for p in self.processes.values()
            )
            if self.flow.idle and not moving and not self.permits:
                return
        raise AssertionError("does not come to rest")
