"""Small runs in every placement, with processes of their own, and the account of their rows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from bench.memory import MemorySink
from pbt.checkpoint.files import Checkpoint
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.runtime.build import build_engine
from pbt.runtime.membership import members_of
from pbt.runtime.placements import resolve
from pbt.saved import SavedEntrant
from pbt.snapshots import FileSnapshotStore

PLACEMENTS: dict[str, dict[str, Any]] = {
    "serial": {"placement": "serial"},
    "inline": {"placement": "inline", "workers": 2},
    "central": {"placement": "central", "workers": 1},
    "mixture": {
        "placement": "central",
        "workers": 1,
        "servers": 2,
        "learners": 0,
        "queues": "sockets",
    },
    # One member with a shard in each process; three members, of which the first has two shards.
    "shards": {"placement": "inline", "workers": 2},
    "more_shards": {"placement": "inline", "workers": 4},
}
PROCESSES = {"serial": 0, "inline": 2, "central": 3, "mixture": 3, "shards": 2, "more_shards": 4}

TINY: dict[str, Any] = {
    "seed": 5,
    "population": {"members": 3},
    "sampling": {"environments": 12, "rollout_steps": 4, "opening_plies": 2},
    "model": {"core": "gru", "gru_size": 8, "hidden": [8]},
    "learning": {"batch_steps": 32, "epochs": 2, "minibatches": 2},
    "pbt": {
        "period_frames": 150,
        "warmup_frames": 150,
        "min_games": 3,
        "score_games": 50,
        "copy_gap": 0.0,
        "mutation_probability": 0.5,
    },
    "matchmaking": {"past_share": 0.3, "past_window": 3, "past_mode": "pfsp_variance"},
    "snapshots": {"every_frames": 400},
    "evaluation": {"share": 0.1, "final_games": 4},
}


def placed(placement: str, game: str, frames: int, **changes: Any) -> RunConfig:
    """A resolved configuration.

    changes  sections that go into those of TINY
    runtime  values beyond what the placement says
    """
    config: dict[str, Any] = {**TINY, "env": {"name": game}, "stop_at_frames": frames}
    if placement == "shards":
        config["population"] = {"members": 1}
    for name, value in changes.items():
        config[name] = {**config.get(name, {}), **value} if isinstance(value, Mapping) else value
    config["runtime"] = {**PLACEMENTS[placement], **changes.get("runtime", {})}
    return resolve(RunConfig.model_validate(config), cores=2, cuda=False)


class AskedToStop:
    """A ControlSource for the test to speak through."""

    stop = False

    def stop_requested(self) -> bool:
        return self.stop


class Running:
    """An engine, everything it tells, and what its rows must add up to.

    It is a context that closes the engine in any case, and checks that no process is left then, and
    that certificates found no fault in the wiring.

    faulty  the test has made a fault
    """

    faulty = False

    def __init__(self, config: RunConfig, folder: Path) -> None:
        """folder: of the snapshots; a run that resumes another one's needs the same."""
        self.config, self.sink, self.control = config, MemorySink(), AskedToStop()
        self.store = FileSnapshotStore(folder)
        self.engine = build_engine(
            config, registry.spec(config.env.name), self.sink, self.store, self.control
        )
        self.pids: set[int] = set()
        self.rests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.engine.close()
        left = [
            pid
            for pid in self.pids
            if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        ]
        assert not left, f"processes {left} outlive their run"
        assert kind is not None or self.faulty or not self.engine.controller.certifier.faults

    def start(self) -> Self:
        """A new population."""
        self.engine.controller.start()
        return self

    def finish(self, between_turns: Callable[[], None] = lambda: None) -> None:
        """Run to the end, which must be one."""
        assert self.engine.run(lambda: self._look(between_turns)), "the run was asked to stop"
        assert self.engine.done and self.engine.controller.finished
        clocks = self.engine.clocks()
        learned = [
            name for name, member in self.engine.controller.members.items() if not member.failed
        ]
        assert all(clocks[name] >= self.config.stop_at_frames for name in learned), clocks
        self.account()

    def until(self, reached: Callable[[], bool]) -> None:
        """Run until then; the run must not be over before."""

        def look() -> None:
            self.control.stop = reached()

        assert not self.engine.run(lambda: self._look(look)), "the run was over first"
        self.control.stop = False

    def _look(self, between_turns: Callable[[], None]) -> None:
        self.pids.update(status.pid for status in self.engine.processes()[1:] if status.pid)
        between_turns()

    def account(self) -> None:
        """At rest every produced row is trained, dropped with a reason, or stands in a slot.

        Each of these is counted by itself.
        """
        with self.engine.at_rest():
            self.check_account()

    def check_account(self) -> None:
        """`account`, at rest already."""
        engine = self.engine
        trained, dropped, standing = engine.rows_trained, engine.dropped(), engine.rows_standing()
        assert engine.rows_produced() == trained + dropped.total() + standing, (
            engine.rows_produced(),
            trained,
            dropped,
            standing,
        )
        self.rests += 1

    def cut(self, number: int = 1) -> Checkpoint:
        """The whole population at rest, its rows accounted for; all parts of it must agree."""
        with self.engine.at_rest():
            self.account()  # a rest within the rest
            cut = self.engine.take_cut(number)
        members, roster = members_of(cut), cut.state.planner.roster
        assert roster.entrants == {
            name: SavedEntrant(member.generation, member.learning)
            for name, member in members.items()
        }
        opponents = [
            record.snapshot_id for record in self.sink.snapshots if record.reason != "round"
        ]
        seatable = {entry.snapshot_id for entry in roster.snapshots}
        window = self.config.matchmaking.past_window
        # Older ones, and those of the run before, may be seated no more.
        assert set(opponents[-window:]) <= seatable
        generations = {member.policy: member.generation for member in members.values()}
        seats = [seat for seat in cut.state.worker.seats.rows() if seat["learning"]]
        assert all(seat["generation"] == generations[seat["policy"]] for seat in seats), (
            "rows of replaced weights would be trained on"
        )
        fulls = [full for own in cut.state.queues.values() for full in own.queue]
        assert all(full.generation == generations[full.policy] for full in fulls)
        return cut

    def games(self) -> dict[tuple[int, int], Any]:
        """(environment, count) -> record; each is told once."""
        games = {(record.environment, record.count): record for record in self.sink.games}
        assert len(games) == len(self.sink.games), "a game was told twice"
        return games

    def pid(self, name: str) -> int:
        """Of a process that lives, 0 for one that does not."""
        return next(status.pid for status in self.engine.processes() if status.name == name)

    def restarts(self) -> dict[str, int]:
        return {status.name: status.restarts for status in self.engine.processes()[1:]}
