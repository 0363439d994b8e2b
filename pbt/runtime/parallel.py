"""The parallel placements, seen from the main process: it decides, everybody else acts and
learns. The tables of who does what: `placements.py`.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from pbt.checkpoint.cut import cut_state, cut_tensors, digest_of, split_cut
from pbt.checkpoint.files import Checkpoint
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError, PbtError
from pbt.population.controller import Controller
from pbt.population.ports import ControlSource, RunSink
from pbt.processes.freed_memory import return_freed_memory
from pbt.processes.messages import Failed
from pbt.processes.restarts import RestartPolicy
from pbt.records import Event, GameKind
from pbt.runtime.assembly import new_controller
from pbt.runtime.assignments import Assignments
from pbt.runtime.backpressure import SinkBackpressure
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.control import (
    CloseWith,
    Copied,
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
)
from pbt.runtime.engine import ProcessStatus
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.learner_scheduler import LearnerScheduler, trainees_of
from pbt.runtime.placements import process_plans
from pbt.runtime.process_counters import ProcessCounters
from pbt.runtime.process_group import Domain, ProcessGroup
from pbt.runtime.repeated_errors import RepeatedErrors
from pbt.runtime.roster import Roster
from pbt.runtime.shared import SharedMemory
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import GameEnd, RolloutPermit, SlotFull

POLL_S = 0.05
REST_TIMEOUT_S = 60.0  # and a turn of the slowest allowed game


class ParallelEngine:
    """Processes that play, act and learn, and the one loop that keeps them at it. Its interface
    is explained at `Engine`.
    """

    def __init__(
        self,
        config: RunConfig,
        spec: EnvSpec,
        sink: RunSink,
        store: FileSnapshotStore,
        control: ControlSource,
    ) -> None:
        """config: resolved (`placements.resolve`). Nothing is started before `run`."""
        torch.set_num_threads(config.runtime.torch_threads)
        return_freed_memory()
        self.config = config
        self._sink, self._control, self._backlog = sink, control, SinkBackpressure(sink)
        self._blueprint = blueprint = blueprint_of(config, spec)
        plans = process_plans(config, [member.name for member in blueprint.members])
        self._shared = SharedMemory(blueprint, plans)
        limits_s = {"game": config.env.timeout_s, "learning": config.learning.timeout_s}
        self._crew = ProcessGroup(
            plans, self._shared.board, config.runtime.silent_after_s, limits_s
        )
        self._orders = Assignments(blueprint, plans, self._shared, store.folder)
        self._tally = ProcessCounters(self._shared.board, plans)
        self._roster = Roster(
            {member.name: member.policy for member in blueprint.members}, self._crew.tell_workers
        )
        trainees = trainees_of(blueprint, plans, self._shared)
        self._controller = new_controller(
            blueprint, {trainee.name: trainee for trainee in trainees}, self._roster, sink, store
        )
        self._flow = LearnerScheduler(
            config,
            trainees,
            self._controller,
            self._crew.send,
            self._crew.reachable,
            self._give_back,
        )
        self._policies = {
            domain: RestartPolicy(config.runtime.max_restarts) for domain in self._crew.domains
        }
        # When each domain that does not run is to be started.
        self._due: dict[Domain, float] = dict.fromkeys(self._crew.domains, 0.0)
        self._permits: dict[str, list[RolloutPermit]] = {}
        # Answers to the newest attempt to come to rest, and its number.
        self._paused, self._rests = dict[str, Paused](), 0
        self._closing = FinalEvaluation(
            config.evaluation.final_games * len(blueprint.members), self._crew.workers()
        )
        self._holding = False
        self._look: Callable[[], None] = lambda: None
        self._ended: PbtError | None = None
        self._repetition = RepeatedErrors()
        self.games: Counter[GameKind] = Counter()

    @property
    def controller(self) -> Controller:
        return self._controller

    @property
    def rows_trained(self) -> int:
        return self._flow.rows_trained

    def clocks(self) -> dict[str, int]:
        return {name: trainee.frames for name, trainee in self._flow.trainees.items()}

    @property
    def done(self) -> bool:
        return self._closing.over

    def closing(self) -> tuple[int, int]:
        """See `Engine.closing`."""
        return self._closing.over_of(self._roster.closing_played)

    # --- the loop ---------------------------------------------------------------------------------

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        """THE main loop; see `Engine.run`."""
        self._look = look
        while not self.done:
            if self._control.stop_requested():
                return False
            self._turn()
            look()
            between_turns()
        return True

    def _turn(self) -> None:
        """Hear what happened, give everybody their work, see who died. A run that cannot go on
        says so at every turn, whoever asked for it.
        """
        if self._ended is None:
            try:
                return self._one_turn()
            except PbtError as error:
                self._ended = error
        raise self._ended

    def _one_turn(self) -> None:
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
                self._flow.gathered(name, message.member)
            case Updated():
                self._flow.updated(message.member, message.stats)
            case Copied():
                self._flow.copied(message.member)
            case GameError():
                self._repetition.game_raised(message)
            case MemberError():
                self._flow.member_error(message.member, message.text)
            case Failed():
                self._repetition.process_failed(message)
            case Paused() if message.rest == self._rests:
                self._paused[name] = message
            case Quiet():
                self._closing.quiet(name)
            case Ready() if self._crew.reachable(name):
                self._ready(name)

    # --- slots and pace ---------------------------------------------------------------------------

    def _give_back(self, permits: Sequence[RolloutPermit]) -> None:
        for permit in permits:
            self._permits.setdefault(self._shared.owner(permit.role, permit.slot), []).append(
                permit
            )

    def _send_permits(self) -> None:
        for name, permits in self._permits.items():
            self._crew.send(name, Permits(tuple(permits)))
        self._permits.clear()

    def _hold_or_go(self) -> None:
        """Workers hold while a learner is behind or the league does not keep up."""
        hold = self._backlog.full() or self._flow.behind()
        if hold != self._holding:
            self._holding = hold
            self._crew.tell_workers(Hold(hold))

    def _close_if_finished(self) -> None:
        """When the last member is done: the closing evaluation."""
        if self._controller.finished and not self._closing.begun and self._flow.idle:
            self._closing.begun = True
            for name, games in self._closing.shares(self._roster.closing_played).items():
                self._crew.send(name, CloseWith(games))

    # --- life and death ---------------------------------------------------------------------------

    def _start_due(self) -> None:
        """Start every domain whose time has come; the plane only when no learner reads its slots
        any more.
        """
        now = time.monotonic()
        for domain in [domain for domain, due_s in self._due.items() if now >= due_s]:
            plane = self._crew.is_plane(domain)
            if plane and self._flow.gathering:
                continue
            del self._due[domain]
            if plane:
                self._shared.renew_plane()
                self._closing.restart()
            tables = self._orders.tables(self._roster, self._closing) if plane else {}
            self._crew.start(
                {
                    name: self._orders.assignment(
                        name, self._controller.members, tables.get(name, {})
                    )
                    for name in domain
                }
            )

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
        """A process died or hangs: end its whole domain, count what is lost, start it again.
        Raises: EngineError when that was tried too often.
        """
        for name, message in self._crew.bury(domain):
            self._route(name, message)
        self._flow.hosts_died(set(domain))
        self._repetition.domain_died()
        plane = self._crew.is_plane(domain)
        self._tally.bury(domain)
        if plane:
            self._lose_slots()
        # What the other learners do says nothing about one that never trains.
        delay_s = self._policies[domain].died(
            self._flow.updates + self._roster.closing_played
            if plane
            else self._flow.frames_at(domain)
        )
        if delay_s is not None:
            lost = (
                (
                    f"; {self._roster.void_open_games(self._shared.counts.tolist())} open games "
                    "are void"
                )
                if plane
                else ""
            )
            self._sink.event(
                Event(
                    "restart",
                    None,
                    max(self.clocks().values()),
                    f"{reason}; starting again: {', '.join(domain)}{lost}",
                )
            )
            self._due[domain] = time.monotonic() + delay_s
            return
        tried = (
            f"{reason}; {self._policies[domain].in_a_row} times in a row without an "
            "update in between"
        )
        if plane:
            raise EngineError(f"the run cannot go on: {tried}")
        for shard in self._crew.plans[domain[0]].trains:
            self._flow.fail(shard.member, tried)

    def _lose_slots(self) -> None:
        """What stood in the slots of a dead plane is lost: whatever was produced and is
        accounted for nowhere else.
        """
        self._permits.clear()
        self._paused.clear()
        self._flow.slots_died()
        self._flow.dropped["restart"] += (
            self.rows_produced()
            - self.rows_trained
            - self.dropped().total()
            - self._flow.rows_at_learners()
        )

    def close(self) -> None:
        """End every process and give shared memory back."""
        self._crew.close()
        self._shared.close()

    # --- rest and resume --------------------------------------------------------------------------

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """See `Engine.at_rest`: workers stand between two turns, learners have trained what they
        gathered.
        """
        if self._flow.resting:
            yield
            return
        self._flow.resting = True
        self._rests += 1
        try:
            if self._crew.children or not self._flow.idle:
                self._come_to_rest()
            yield
        finally:
            self._flow.resting = False
            self._paused.clear()
            # Also to those that had not answered yet: they will answer, and go on.
            if self._crew.children and all(
                self._crew.is_ready(name) for name in self._crew.domains[0]
            ):
                self._crew.tell_workers(Go())

    def _come_to_rest(self) -> None:
        """Learners first: what follows from their last updates is part of the workers' states.

        A process that dies meanwhile is started again as ever, and asked to rest like the others.
        """
        limit_s = REST_TIMEOUT_S + self.config.env.timeout_s * max(
            len(share.tables) for share in self._shared.shares
        )
        deadline, told = time.monotonic() + limit_s, set[int]()
        while not (self._all_paused and self._flow.idle):
            # Before all are ready nobody was told to go, and a Go that comes after a Pause would
            # undo it.
            if self._flow.idle and all(self._crew.is_ready(name) for name in self._crew.domains[0]):
                for name in self._crew.workers():
                    if (pid := self._crew.children[name].pid) not in told:
                        told.add(pid)
                        self._crew.send(name, Pause(self._rests))
            self._turn()
            self._look()
            if time.monotonic() > deadline:
                moving = sorted(set(self._crew.workers()) - self._paused.keys()) or ["a learner"]
                raise EngineError(
                    f"the run did not come to rest within {limit_s:.0f} s: "
                    f"{', '.join(moving)} still at work"
                )

    @property
    def _all_paused(self) -> bool:
        return self._paused.keys() >= set(self._crew.workers())

    def take_cut(self, number: int) -> Checkpoint:
        worker, planner = self._orders.merged(self._roster, self._paused)
        # Which role and process counted what is of no use to whoever resumes.
        worker["fillers"][0] |= {
            "produced": self.rows_produced(),
            "dropped": dict(self._tally.dropped() + self._flow.dropped),
        }
        batchers = {name: trainee.batcher.state() for name, trainee in self._flow.trainees.items()}
        learners = {name: trainee.state() for name, trainee in self._flow.trainees.items()}
        engine = {"games": dict(self.games), "rows_trained": self.rows_trained}
        state = cut_state(self.config, engine, self._controller, planner, worker, batchers)
        return Checkpoint(number, state, cut_tensors(learners, self._shared.slabs, worker))

    def restore(self, checkpoint: Checkpoint) -> int:
        """See `Engine.restore`. Open games are replayed when their workers start; those that
        cannot be are reported as voided then.
        """
        state = checkpoint.state
        split = split_cut(checkpoint, self._shared.slabs, self._shared.shares)
        self._tally.produced_before, self._tally.dropped_before = self._orders.resume(split.workers)
        self._roster.load(
            state["planner"], [table is not None for table in state["worker"]["tables"]]
        )
        self._shared.counts[:] = state["planner"]["counts"]
        self._flow.load(split.batchers, checkpoint.tensors, state["engine"]["rows_trained"])
        self._controller.load(state["controller"])
        self.games = Counter(state["engine"]["games"])
        return 0

    def take_over_hyperparams(self) -> None:
        """Learners are told the controller's values when they start."""

    def edit(self, config: RunConfig) -> None:
        """See `Engine.edit`. A process that starts later starts with it."""
        self.config = self._orders.config = config
        self._controller.edit(config)

    def needed(self) -> set[str]:
        """See `Engine.needed`; before anything runs, everything that is known."""
        return (
            set().union(*(paused.needed for paused in self._paused.values()))
            if self._paused
            else self._roster.snapshot_ids()
        )

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self._roster.remove_snapshots(snapshot_ids)

    # --- accounting -------------------------------------------------------------------------------

    def rows_produced(self) -> int:
        return self._tally.produced()

    def rows_standing(self) -> int:
        """See `Engine.rows_standing`; at rest they are counted, else they are what is left."""
        if not (self._all_paused and self._flow.idle):
            return self.rows_produced() - self.rows_trained - self.dropped().total()
        waiting = sum(trainee.batcher.rows_waiting() for trainee in self._flow.trainees.values())
        return sum(paused.standing for paused in self._paused.values()) + waiting

    def dropped(self) -> Counter[str]:
        """Rows produced and never trained, by reason."""
        batchers = (trainee.batcher.dropped for trainee in self._flow.trainees.values())
        return sum(batchers, self._tally.dropped() + self._flow.dropped)

    @property
    def stage_s(self) -> Mapping[str, float]:
        return self._tally.stage_s()

    def processes(self) -> list[ProcessStatus]:
        waiting = {
            name: len(trainee.batcher.waiting) for name, trainee in self._flow.trainees.items()
        }
        return [
            ProcessStatus("main", os.getpid(), ("main",), "running"),
            *self._tally.statuses(self._crew, waiting),
        ]

    def weights_digest(self) -> str:
        return digest_of(trainee.weights() for trainee in self._flow.trainees.values())
