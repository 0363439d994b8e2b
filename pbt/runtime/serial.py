"""The engine of the serial placement: every component in one process, in one fixed order.

Equal configurations and seeds give equal weights here, so it is the reference for the others.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Protocol

import numpy as np

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.resharding import merge_workers
from pbt.checkpoint.state import cut_state, cut_tensors, digest_of, learner_part, split_cut
from pbt.checkpoint.workers import load_worker, save_worker
from pbt.config.schema import RunConfig
from pbt.learning.attesting import Attestation
from pbt.learning.batcher import gather
from pbt.population.controller import Controller
from pbt.population.interfaces import ControlSource, RunSink, SnapshotStore
from pbt.records import Directive, GameKind
from pbt.runtime.assembly import LocalLearner, Population
from pbt.runtime.backpressure import SinkBackpressure
from pbt.runtime.engine import ProcessStatus
from pbt.transport.messages import GameEnd, JsonState, RolloutPermit, SlotFull

# A rate is measured over at least this time.
RATE_OVER_S = 1.0


class SerialEngine:
    """Acts, steps and learns in turns until every member is done, or a stop is requested.

    The run is done when every member reached its stop and the final evaluation is played. `Engine`
    explains the interface.
    """

    def __init__(
        self, population: Population, sink: RunSink, store: SnapshotStore, control: ControlSource
    ) -> None:
        self.population, self.config = population, population.config
        self._store, self._control, self._backlog = store, control, SinkBackpressure(sink)
        self._learners = {local.policy: local for local in population.learners}
        self.games: Counter[GameKind] = Counter()
        self.began = True
        self.rows_trained = 0
        self.stage_s: dict[str, float] = {"infer": 0.0, "simulate": 0.0, "learn": 0.0}
        # (time, rows produced) when the rate was last measured.
        self._measured, self._rate = (time.monotonic(), 0), 0.0

    @property
    def controller(self) -> Controller:
        return self.population.controller

    def clocks(self) -> dict[str, int]:
        """See `Engine.clocks`."""
        return {local.name: local.learner.frames for local in self.population.learners}

    @property
    def done(self) -> bool:
        """Whether every member finished and the last game of the final evaluation is over."""
        population = self.population
        return (
            population.controller.finished
            and population.planner.closing_games == 0
            and not population.worker.busy
        )

    def closing(self) -> tuple[int, int]:
        """See `Engine.closing`."""
        population = self.population
        planned = self.config.evaluation.final_games * len(population.learners)
        being_played = sum(
            bool(table.seats) and table.plan.kind == "evaluation"
            for table in population.worker.tables
        )
        return max(0, planned - population.planner.closing_games - being_played), planned

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        """THE main loop; see `Engine.run`. Checkpoints may be taken in both functions."""
        # A checkpoint of another placement may hold complete batches, whose slots are needed now.
        self._learn_all()
        while not self.done:
            if self._control.stop_requested():
                return False
            if not self._backlog.full():
                self.turn()
            look()
            between_turns()
        return True

    def turn(self) -> None:
        """One turn: act, step, learn."""
        population, started = self.population, time.perf_counter()
        for request in population.worker.requests():
            population.worker.receive(population.server.serve(request))
        acted = time.perf_counter()
        messages = population.worker.advance()
        stepped = time.perf_counter()
        for message in messages:
            self._route(message)
        self._learn_all()
        self.stage_s["infer"] += acted - started
        self.stage_s["simulate"] += stepped - acted
        self.stage_s["learn"] += time.perf_counter() - stepped

    def _route(self, message: SlotFull | GameEnd) -> None:
        population = self.population
        if isinstance(message, GameEnd):
            self.games[message.plan.kind] += 1
            population.controller.on_game(message)
            return
        local = self._learners[message.policy]
        member = population.controller.members[local.name]
        self._permit(local.batcher.add(message, member.generation, refuse=member.refused))

    def _permit(self, permits: list[RolloutPermit]) -> None:
        for permit in permits:
            self.population.worker.permit(permit)

    def _learn_all(self) -> None:
        for local in self.population.learners:
            self._learn(local)

    def _learn(self, local: LocalLearner) -> None:
        population, max_lag = self.population, self.config.learning.max_lag
        if max_lag is not None:
            self._permit(local.batcher.drop_stale(local.learner.version, max_lag))
        while (fulls := local.batcher.take()) is not None:
            batch = gather(population.slabs[local.role], np.array([full.slot for full in fulls]))
            self._permit(local.batcher.permits(fulls))
            stats = local.attestor.update(batch.to(local.learner.device))
            self.rows_trained += stats.rows
            local.publish()
            self._attest(local, local.attestor.take())
            directive = population.controller.on_update(local.name, stats)
            if directive is not None:
                self._apply(local, directive)
            publications = population.controller.certifier.asked(local.name)
            if publications is not None:
                self._attest(local, local.attestor.begin(publications))
            if population.controller.members[local.name].finished:
                self._permit(local.batcher.discard("finished"))

    def _attest(self, local: LocalLearner, attestation: Attestation | None) -> None:
        if attestation is not None:
            self.controller.attested(local.name, attestation, local.published)

    def _apply(self, local: LocalLearner, directive: Directive) -> None:
        """Put a round's directive in force.

        After a copy no row of the replaced weights reaches the learner.
        """
        population, learner = self.population, local.learner
        if directive.copy_snapshot is not None:
            learner.copy_from(self._store.load(directive.copy_snapshot))
            local.publish()
        population.controller.applied(directive)
        member = population.controller.members[local.name]
        learner.set_hyperparams(member.typed_hyperparams)
        if directive.copy_snapshot is not None:
            population.worker.regenerate(member.policy, member.generation)
            self._permit(local.batcher.discard("generation"))

    # --- resume -----------------------------------------------------------------------------------

    def at_rest(self) -> AbstractContextManager[None]:
        """See `Engine.at_rest`; between two turns nothing moves anyway."""
        return nullcontext()

    def take_cut(self, number: int) -> Checkpoint:
        return take_cut(self, number)

    def restore(self, checkpoint: Checkpoint) -> int:
        voided = restore_cut(self, checkpoint)
        # Games that were voided by the resume are recorded before the next checkpoint.
        for message in self.population.worker.advance():
            self._route(message)
        return voided

    def take_over_hyperparams(self) -> None:
        for local in self.population.learners:
            local.learner.set_hyperparams(self.controller.members[local.name].typed_hyperparams)

    def edit(self, config: RunConfig) -> None:
        self.config = config
        self.controller.edit(config)

    def needed(self) -> set[str]:
        return self.population.planner.needed()

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self.population.planner.remove_snapshots(snapshot_ids)

    def state(self) -> JsonState:
        return {"games": dict(self.games), "rows_trained": self.rows_trained}

    def load(self, state: JsonState) -> None:
        self.games, self.rows_trained = Counter(state["games"]), state["rows_trained"]

    # --- accounting -------------------------------------------------------------------------------

    def dropped(self) -> Counter[str]:
        """See `Engine.dropped`."""
        parts = [filler.dropped for filler in self.population.worker.fillers] + [
            local.batcher.dropped for local in self.population.learners
        ]
        return sum(parts, Counter[str]())

    def rows_produced(self) -> int:
        return sum(filler.produced for filler in self.population.worker.fillers)

    def rows_standing(self) -> int:
        """Rows in slots that are open, parked or wait for their batch."""
        waiting = (
            (self.population.slabs[t.role].column["valid"], t.batcher.waiting)
            for t in self.population.learners
        )
        return self.population.worker.rows_standing() + sum(
            int(valid[list(slots)].sum()) for valid, slots in waiting
        )

    def processes(self) -> list[ProcessStatus]:
        """See `Engine.processes`; there is only the calling one."""
        now, produced = time.monotonic(), self.rows_produced()
        measured_s, before = self._measured
        if now - measured_s >= RATE_OVER_S:
            self._rate, self._measured = (produced - before) / (now - measured_s), (now, produced)
        learner = " ".join(["learner", *(local.name for local in self.population.learners)])
        waiting = sum(len(local.batcher.waiting) for local in self.population.learners)
        roles = ("main", "worker", "server", learner)
        return [
            ProcessStatus(
                "main",
                os.getpid(),
                roles,
                "running",
                self._rate,
                stage_s=dict(self.stage_s),
                queue=waiting,
            )
        ]

    def weights_digest(self) -> str:
        return weights_digest(self.population)

    def close(self) -> None:
        for table in self.population.worker.tables:
            # The game's own code may raise anything here, and nothing depends on it any more.
            with suppress(Exception):
                table.game.close()


class InOneProcess(Protocol):
    """An engine around a population in one process; `state` and `load` are of its own counts."""

    population: Population

    def state(self) -> JsonState: ...

    def load(self, state: JsonState) -> None: ...


def take_cut(engine: InOneProcess, number: int) -> Checkpoint:
    """Return the checkpoint state of a population in one process, between two turns."""
    population = engine.population
    worker = merge_workers([save_worker(population.worker)])
    batchers = {local.name: local.batcher.state() for local in population.learners}
    learners = {local.name: local.learner.state() for local in population.learners}
    state = cut_state(
        population.config,
        engine.state(),
        population.controller,
        population.planner.state(),
        worker,
        batchers,
    )
    return Checkpoint(number, state, cut_tensors(learners, population.slabs, worker))


def restore_cut(engine: InOneProcess, checkpoint: Checkpoint) -> int:
    """Put a freshly assembled population into a stored state.

    Returns how many open games could not be replayed and were voided.
    """
    population, state = engine.population, checkpoint.state
    split = split_cut(checkpoint, population.slabs, [population.worker.share])
    population.planner.load(state["planner"])
    voided = load_worker(
        population.worker,
        split.workers[0],
        population.planner,
        replayable=population.spec.replayable,
    )
    for local in population.learners:
        local.learner.load_state(checkpoint.tensors[learner_part(local.name)])
        local.batcher.load(split.batchers[local.name])
        local.publish()
    population.controller.load(state["controller"])
    for local in population.learners:
        local.learner.set_hyperparams(population.controller.members[local.name].typed_hyperparams)
    engine.load(state["engine"])
    return voided


def weights_digest(population: Population) -> str:
    """Return `digest_of` of every member's present weights."""
    return digest_of(local.learner.model.state_dict() for local in population.learners)
