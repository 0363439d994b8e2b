"""The parallel placements, seen from the main process: it decides, everybody else acts and learns. The tables of who does what: `placements.py`."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pbt.checkpoints import Checkpoint
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError, EnvError, PbtError
from pbt.learning.batcher import Batcher
from pbt.models.weights import MODEL_PREFIX
from pbt.population.controller import Controller
from pbt.population.ports import ControlSource, RunSink
from pbt.records import Event, GameKind
from pbt.runtime.assembly import facts_of, new_controller
from pbt.runtime.control import (
    CloseWith,
    Copied,
    Failed,
    GameError,
    Gathered,
    Go,
    Hold,
    MemberError,
    Pause,
    Paused,
    Permits,
    Quiet,
    Ready,
    Updated,
)  # fmt: skip
from pbt.runtime.crew import Crew, Domain
from pbt.runtime.cut import cut_state, cut_tensors, digest_of, learner_part, split_cut
from pbt.runtime.engine import ProcessStatus
from pbt.runtime.placements import ProcessPlan, process_plans
from pbt.runtime.restarts import RestartPolicy
from pbt.runtime.roster import Roster
from pbt.runtime.shared import SharedMemory, share_state
from pbt.runtime.tally import STAGES, Tally
from pbt.runtime.training import Trainee, TrainingFlow
from pbt.sampling.planner import merge_planners, split_planner
from pbt.sampling.saving import merge_workers
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import GameEnd, JsonState, RolloutPermit, SlotFull

POLL_S = 0.05
REST_TIMEOUT_S = 60.0
EQUAL_ERRORS = 2
# Beyond this many uncommitted games training pauses until the league takes them, and gives up when it does not.
MAX_BACKLOG_GAMES = 100_000
PAUSE_TIMEOUT_S = 600.0
# A speed is taken over at least so long.
RATE_OVER_S = 1.0


class ParallelEngine:
    """Processes that play, act and learn, and the one loop that keeps them at it."""

    def __init__(self, config: RunConfig, spec: EnvSpec, sink: RunSink, store: FileSnapshotStore, control: ControlSource) -> None:
        """config: resolved (`placements.resolve`). Nothing is started before `run`."""
        self.config = config
        self._sink, self._store, self._control = sink, store, control
        self._blueprint = blueprint = facts_of(config, spec)
        plans = process_plans(config, [member.name for member in blueprint.members])
        self._shared = SharedMemory(blueprint, plans)
        self._crew = Crew(
            plans, self._shared.board, config.runtime.silent_after_s, {"game": config.env.timeout_s, "learning": config.learning.timeout_s}
        )
        self._tally = Tally(self._shared.board, [plan.name for plan in plans])
        self._roster = Roster({member.name: member.policy for member in blueprint.members}, self._crew.tell_workers)
        trainees = self._trainees(plans)
        self._controller = new_controller(blueprint, {trainee.name: trainee for trainee in trainees}, self._roster, sink, store)
        self._flow = TrainingFlow(config, trainees, self._controller, self._crew.send, self._crew.reachable, self._give_back)
        self._policies = {domain: RestartPolicy(config.runtime.max_restarts) for domain in self._crew.domains}
        # When each domain that does not run is to be started.
        self._due: dict[Domain, float] = dict.fromkeys(self._crew.domains, 0.0)
        # What workers take over when they start, by share; None: tables at which nobody sat yet.
        self._resumed: list[JsonState] | None = None
        self._permits: dict[str, list[RolloutPermit]] = {}
        self._paused: dict[str, Paused] = {}
        self._quiet: set[str] = set()
        self._closing = self._holding = False
        self._full_since_s: float | None = None
        self._errors: Counter[str] = Counter()
        self._measured: dict[str, tuple[float, float, float]] = {}
        self.games: Counter[GameKind] = Counter()

    def _trainees(self, plans: Sequence[ProcessPlan]) -> list[Trainee]:
        hosts = {
            member.name: [(shard.index, plan.name) for plan in plans for shard in plan.trains if shard.member == member.name]
            for member in self._blueprint.members
        }
        return [
            Trainee(
                name, role, policy, tuple(host for _, host in sorted(hosts[name])),
                Batcher(self._shared.slabs[role], role, self._blueprint.batch_slots), self._shared.published[name],
                RestartPolicy(self.config.runtime.max_restarts),
            )
            for name, role, policy in self._blueprint.members
        ]  # fmt: skip

    @property
    def controller(self) -> Controller:
        return self._controller

    @property
    def rows_trained(self) -> int:
        return self._flow.rows_trained

    def clocks(self) -> dict[str, int]:
        """Member -> frames consumed."""
        return {name: trainee.frames for name, trainee in self._flow.trainees.items()}

    @property
    def done(self) -> bool:
        """Every member finished or failed, the closing evaluation is played."""
        return self._closing and self._quiet >= set(self._crew.workers())

    # --- the loop --------------------------------------------------------------------------------------------------------------------------

    def run(self, between_turns: Callable[[], None]) -> bool:
        """THE main loop; see `Engine.run`."""
        while not self.done:
            if self._control.stop_requested():
                return False
            self._turn()
            between_turns()
        return True

    def _turn(self) -> None:
        """Hear what happened, give everybody their work, see who died."""
        self._start_due()
        for name, message in self._crew.hear(POLL_S):
            self._route(name, message)
        for domain, reason in self._crew.troubles().items():
            self._recover(domain, reason)
        self._flow.dispatch()
        self._send_permits()
        self._hold_or_go()
        self._close_if_finished()

    def _route(self, name: str, message: object) -> None:
        match message:
            case SlotFull():
                self._flow.slot_full(message)
            case GameEnd():
                self.games[message.plan.kind] += 1
                self._roster.game_over(message)
                self._controller.on_game(message)
            case Gathered():
                self._flow.gathered(message.member)
            case Updated():
                self._flow.updated(message.member, message.stats)
            case Copied():
                self._flow.copied(message.member)
            case GameError():
                self._errors[message.place] += 1
                if self._errors[message.place] >= EQUAL_ERRORS:
                    raise EnvError(message.text)
            case MemberError():
                self._flow.member_error(message.member, message.text)
            case Failed():
                # Of a process of its own, the same twice: nothing that another start would mend.
                self._errors[message.text] += 1
                if self._errors[message.text] >= EQUAL_ERRORS and message.kind != "EngineError":
                    raise EngineError(f"{name} failed twice: {message.kind}: {message.text}\n{message.trace}".rstrip())
            case Paused():
                self._paused[name] = message
            case Quiet():
                self._quiet.add(name)
            case Ready():
                self._ready(name)

    # --- slots and pace --------------------------------------------------------------------------------------------------------------------

    def _give_back(self, permits: Sequence[RolloutPermit]) -> None:
        for permit in permits:
            self._permits.setdefault(self._shared.owner(permit.role, permit.slot), []).append(permit)

    def _send_permits(self) -> None:
        for name, permits in self._permits.items():
            self._crew.send(name, Permits(tuple(permits)))
        self._permits.clear()

    def _hold_or_go(self) -> None:
        """Workers hold while a learner is behind or the league does not keep up. Raises: PbtError naming the cause when the league never does."""
        full = self._sink.backlog > MAX_BACKLOG_GAMES
        hold = full or self._flow.behind()
        if hold != self._holding:
            self._holding = hold
            self._crew.tell_workers(Hold(hold))
        if not full:
            self._full_since_s = None
            return
        self._full_since_s = self._full_since_s or time.monotonic()
        try:
            self._sink.drain(POLL_S)
        except PbtError as error:
            if time.monotonic() - self._full_since_s > PAUSE_TIMEOUT_S:
                waiting = f"{self._sink.backlog} finished games wait for the league, more than {MAX_BACKLOG_GAMES}"
                raise PbtError(f"training stopped after a pause of {PAUSE_TIMEOUT_S:.0f} s: {waiting}: {error}") from error

    def _close_if_finished(self) -> None:
        """When the last member is done: the closing evaluation, shared among the workers."""
        if self._controller.finished and not self._closing and self._flow.idle:
            self._closing = True
            for name, games in self._closing_shares().items():
                self._crew.send(name, CloseWith(games))

    def _closing_shares(self) -> dict[str, int]:
        """Closing games still to be played, by worker."""
        workers = self._crew.workers()
        left = max(0, self.config.evaluation.final_games * len(self._blueprint.members) - self._roster.closing_played) if self._closing else 0
        return {name: left // len(workers) + (index < left % len(workers)) for index, name in enumerate(workers)}

    # --- life and death --------------------------------------------------------------------------------------------------------------------

    def _start_due(self) -> None:
        """Start every domain whose time has come; the plane only when no learner reads its slots any more."""
        now = time.monotonic()
        for domain in [domain for domain, due_s in self._due.items() if now >= due_s]:
            plane = self._crew.is_plane(domain)
            if plane and self._flow.gathering:
                continue
            del self._due[domain]
            orders = self._plane_orders() if plane else {}
            self._crew.start({name: self._assignment(self._crew.plans[name], orders.get(name, {})) for name in domain})

    def _assignment(self, plan: ProcessPlan, orders: JsonState) -> tuple[JsonState, list[int]]:
        """What a process is told when it starts, whatever it hosts."""
        memory, descriptors = self._shared.handles(plan)
        general = {
            "plan": plan.state(),
            "config": self.config.model_dump(mode="json"),
            "memory": memory,
            "snapshots": str(self._store.folder),
            "hyperparams": {member.name: dict(member.hyperparams) for member in self._controller.members.values()},
            "servers": sum(other.serves is not None for other in self._crew.plans.values()),
        }
        return {**general, **orders}, descriptors

    def _plane_orders(self) -> dict[str, JsonState]:
        """What each worker plays: the tables as they were resumed, else empty ones; and all it must know of players."""
        self._shared.renew_plane()
        self._quiet.clear()
        resumed: Sequence[JsonState | None] = self._resumed or [None for _ in self._shared.shares]
        self._resumed = None
        workers, closing = self._crew.workers(), self._closing_shares()
        planners = split_planner(self._roster.state(self._shared.counts), len(workers))
        return {
            name: {
                "source": source,
                "groups": [{"share": share_state(self._shared.shares[group]), "state": resumed[group]} for group in self._crew.plans[name].groups],
                "planner": planners[source],
                "closing": self._closing,
                "closing_games": closing[name],
            }
            for source, name in enumerate(workers)
        }

    def _ready(self, name: str) -> None:
        """A process is built. It goes when its whole domain is."""
        self._crew.children[name].ready = True
        domain = self._crew.domain_of(name)
        if not all(self._crew.is_ready(other) for other in domain):
            return
        for other in domain:
            self._crew.send(other, Go())
        self._flow.hosts_started(set(domain))
        if self._holding and self._crew.is_plane(domain):
            self._crew.tell_workers(Hold(True))

    def _recover(self, domain: Domain, reason: str) -> None:
        """A process died or hangs: end its whole domain, count what is lost, start it again. Raises: EngineError when that was tried too often."""
        for name, message in self._crew.bury(domain):
            self._route(name, message)
        self._flow.hosts_died(set(domain))
        plane = self._crew.is_plane(domain)
        self._tally.bury(domain)
        if plane:
            self._lose_slots()
        delay_s = self._policies[domain].died(self._flow.updates)
        if delay_s is not None:
            self._sink.event(Event("restart", None, max(self.clocks().values()), f"{reason}; starting again: {', '.join(domain)}"))
            self._due[domain] = time.monotonic() + delay_s
            return
        tried = f"{reason}; {self._policies[domain].in_a_row} times in a row without an update in between"
        if plane:
            raise EngineError(f"the run cannot go on: {tried}")
        for shard in self._crew.plans[domain[0]].trains:
            self._flow.fail(shard.member, tried)

    def _lose_slots(self) -> None:
        """What stood in the slots of a dead plane is lost: whatever was produced and is accounted for nowhere else."""
        self._permits.clear()
        self._paused.clear()
        self._flow.slots_died()
        self._flow.dropped["restart"] += self.rows_produced() - self.rows_trained - self.dropped().total() - self._flow.rows_at_learners()

    def close(self) -> None:
        """End every process and give shared memory back."""
        self._crew.close()
        self._shared.close()

    # --- rest and resume -------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """See `Engine.at_rest`: workers stand between two turns, learners have trained what they gathered."""
        self._flow.resting = True
        try:
            if self._crew.children:
                self._come_to_rest()
            yield
        finally:
            self._flow.resting = False
            for name in self._paused:
                self._crew.send(name, Go())
            self._paused.clear()

    def _come_to_rest(self) -> None:
        deadline = time.monotonic() + REST_TIMEOUT_S
        deaths = sum(policy.deaths for policy in self._policies.values())
        told: set[str] = set()
        while not (self._paused.keys() >= set(self._crew.workers()) and self._flow.idle):
            for name in self._crew.workers():
                if name not in told and self._crew.is_ready(name):
                    told.add(name)
                    self._crew.send(name, Pause())
            self._turn()
            if sum(policy.deaths for policy in self._policies.values()) > deaths:
                raise EngineError("a process died while the run was coming to rest")
            if time.monotonic() > deadline:
                moving = sorted(set(self._crew.workers()) - self._paused.keys()) or ["a learner"]
                raise EngineError(f"the run did not come to rest within {REST_TIMEOUT_S:.0f} s: {', '.join(moving)} still at work")

    def take_cut(self, number: int) -> Checkpoint:
        """See `Engine.take_cut`."""
        worker, planner = self._merged()
        batchers = {name: trainee.batcher.state() for name, trainee in self._flow.trainees.items()}
        learners = {name: trainee.state() for name, trainee in self._flow.trainees.items()}
        engine = {"games": dict(self.games), "rows_trained": self.rows_trained}
        state = cut_state(self.config, engine, self._controller, planner, worker, batchers)
        return Checkpoint(number, state, cut_tensors(learners, self._shared.slabs, worker))

    def _merged(self) -> tuple[JsonState, JsonState]:
        """Worker and planner of the whole run. All counts stand in the first role."""
        if self._paused:
            states = [self._paused[name].state for name in self._crew.workers()]
            worker = merge_workers([group for state in states for group in state["groups"]])
            planner = merge_planners([state["planner"] for state in states], self._shared.counts.tolist())
        else:
            worker, planner = merge_workers(self._resumed or self._shared.empty_workers()), self._roster.state(self._shared.counts)
        for filler in worker["fillers"]:
            filler["produced"], filler["dropped"] = 0, {}
        worker["fillers"][0] |= {"produced": self.rows_produced(), "dropped": dict(self._tally.dropped() + self._flow.dropped)}
        return worker, planner

    def restore(self, checkpoint: Checkpoint) -> int:
        """See `Engine.restore`. Open games are replayed when their workers start; those that cannot be are reported as voided then."""
        state = checkpoint.state
        split = split_cut(checkpoint, self._shared.slabs, self._shared.shares)
        self._tally.produced_before = sum(filler["produced"] for worker in split.workers for filler in worker["fillers"])
        for worker in split.workers:
            for filler in worker["fillers"]:
                self._tally.dropped_before.update(filler["dropped"])
                filler["produced"], filler["dropped"] = 0, {}
        self._resumed = split.workers
        self._roster.load(state["planner"])
        self._shared.counts[:] = state["planner"]["counts"]
        for name, trainee in self._flow.trainees.items():
            trainee.batcher.load(split.batchers[name])
            saved = checkpoint.tensors[learner_part(name)]
            trainee.published.publish(saved, int(saved["clocks"][0]))
            trainee.refresh()
        self._controller.load(state["controller"])
        self.games, self._flow.rows_trained = Counter(state["engine"]["games"]), state["engine"]["rows_trained"]
        return 0

    def take_over_hyperparams(self) -> None:
        """Learners are told the controller's values when they start."""

    def needed(self) -> set[str]:
        """See `Engine.needed`; before anything runs, everything that is known."""
        return set().union(*(paused.needed for paused in self._paused.values())) if self._paused else self._roster.snapshot_ids()

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self._roster.remove_snapshots(snapshot_ids)

    # --- accounting ------------------------------------------------------------------------------------------------------------------------

    def rows_produced(self) -> int:
        return self._tally.produced()

    def rows_standing(self) -> int:
        """What was produced and is neither trained nor dropped."""
        return self.rows_produced() - self.rows_trained - self.dropped().total()

    def dropped(self) -> Counter[str]:
        """Rows produced and never trained, by reason."""
        batchers = (trainee.batcher.dropped for trainee in self._flow.trainees.values())
        return sum(batchers, self._tally.dropped() + self._flow.dropped)

    @property
    def stage_s(self) -> Mapping[str, float]:
        return self._tally.stage_s()

    def processes(self) -> list[ProcessStatus]:
        """See `Engine.processes`."""
        found = [ProcessStatus("main", os.getpid(), ("main",), "running")]
        now = time.monotonic()
        for name, plan in self._crew.plans.items():
            row, counted, child = self._tally.rows[name], self._tally.of(name), self._crew.children.get(name)
            done = counted["produced"] if plan.groups else counted["rows_served"] if plan.serves is not None else counted["frames"]
            then, before, rate = self._measured.get(name, (now, done, 0.0))
            if now - then >= RATE_OVER_S:
                then, before, rate = now, done, (done - before) / (now - then)
            self._measured[name] = (then, before, rate)
            waiting = sum(len(self._flow.trainees[shard.member].batcher.waiting) for shard in plan.trains)
            stages = {stage: counted[f"{stage}_s"] for stage in STAGES if counted[f"{stage}_s"]}
            state = row.phase if child is not None else "down"
            age_s = now - max(row.read()["beat_s"], child.started_s) if child is not None else 0.0
            pid = child.pid if child is not None else 0
            found.append(ProcessStatus(name, pid, plan.roles, state, rate, self._crew.restarts[name], age_s, stages, waiting))
        return found

    def weights_digest(self) -> str:
        """See `Engine.weights_digest`."""
        states = (trainee.state() for trainee in self._flow.trainees.values())
        return digest_of(
            {name.removeprefix(MODEL_PREFIX): tensor for name, tensor in state.items() if name.startswith(MODEL_PREFIX)} for state in states
        )
