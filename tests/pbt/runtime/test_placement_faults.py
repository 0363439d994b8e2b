"""Processes of a run die, stand still, or die again and again.

The run goes on or says why not, and every row and every game stays counted.
"""

import math
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pbt.errors import EngineError
from pbt.runtime.process_group import ProcessGroup
from tests.conftest import REPOSITORY
from tests.pbt.runtime.checked_process import FAILING
from tests.pbt.runtime.placing import Running, placed

NEVER = 10_000_000
# Starting a process takes seconds on a busy machine.
PATIENCE_S = 120.0


class Struck(Running):
    """A run that is hurt while it runs."""

    def rows(self) -> int:
        return self.engine.rows_trained

    def trains(self, rows: int = 200) -> None:
        """Go on until every member that learns has trained some more."""
        learners = [
            name for name, member in self.engine.controller.members.items() if member.learning
        ]
        clocks, deadline = self.engine.clocks(), time.monotonic() + PATIENCE_S

        def grown() -> bool:
            assert time.monotonic() < deadline, (
                clocks,
                self.engine.clocks(),
                self.sink.events[-5:],
            )
            return all(
                self.engine.clocks()[name] >= clocks[name] + rows / len(learners)
                for name in learners
            )

        self.until(grown)

    def turn_on(self, turns: int) -> None:
        """Turns of the main process's loop."""
        left = iter(range(turns))
        self.until(lambda: next(left, None) is None)

    def hit(self, *names: str, by: signal.Signals = signal.SIGKILL) -> None:
        """Signal those that live; pid 0 would be every process of this group."""
        for name in names:
            if (pid := self.pid(name)) > 0:
                os.kill(pid, by)

    def news(self, kind: str) -> list[str]:
        return [event.text for event in self.sink.events if event.kind == kind]

    def check(self) -> None:
        """Nothing is lost count of."""
        self.cut()
        self.games()
        assert not any(record.end_reason.startswith("voided") for record in self.sink.games)


def struck(placement: str, folder: Path, frames: int = NEVER, **runtime: float) -> Struck:
    # Rounds come late, so that failing to copy hides nothing.
    run = Struck(placed(placement, "tictactoe", frames, runtime=runtime), folder)
    run.start()
    return run


@pytest.mark.slow
def test_the_central_placement_survives_the_death_of_each_kind_of_process(tmp_path: Path) -> None:
    with struck("central", tmp_path) as run:
        run.trains()
        run.hit("learner-0")
        run.trains()
        assert run.restarts() == {"worker-0": 0, "server-0": 0, "learner-0": 1}
        run.check()
        # All at once.
        run.hit("learner-0", "server-0")
        run.trains()
        assert run.restarts() == {"worker-0": 1, "server-0": 1, "learner-0": 2}
        run.check()
        assert run.engine.dropped()["restart"] > 0
        told = run.news("restart")
        assert len(told) == 3 and all(
            "was killed by SIGKILL; starting again: " in text for text in told
        )
        assert "learner-0" in told[0] and {text.split()[0] for text in told[1:]} == {
            "learner-0",
            "server-0",
        }


@pytest.mark.slow
def test_the_inline_placement_survives_a_death_and_a_stopped_process(tmp_path: Path) -> None:
    with struck("inline", tmp_path, frames=900, silent_after_s=2.0) as run:
        run.trains()
        # While the others come to rest.
        with run.engine.at_rest():
            run.check_account()
            run.hit("worker-1")
        run.trains()
        run.check()
        run.hit("worker-0", by=signal.SIGSTOP)
        run.finish()
        run.check()
        told = run.news("restart")
        assert told[0].startswith("worker-1") and "SIGKILL" in told[0]
        # On a busy machine a process may seem dead that is not.
        assert any(
            text.startswith("worker-0") and "gave no sign of life" in text for text in told[1:]
        )
        assert run.restarts() == {"worker-0": len(told), "worker-1": len(told)}


@pytest.mark.slow
def test_processes_start_again_when_the_snapshots_are_back(tmp_path: Path) -> None:
    """An unmounted disk; the workers died, and would have to load snapshots."""
    home, away = tmp_path / "population", tmp_path / "away"
    home.mkdir()
    rare = {"pbt": {"warmup_frames": NEVER}, "snapshots": {"every_frames": NEVER}}
    with Struck(placed("central", "tictactoe", NEVER, **rare), home / "snapshots") as run:
        run.start()
        run.trains()
        home.rename(away)
        run.hit("worker-0")
        run.until(lambda: bool(run.news("restart")))
        due_s = time.monotonic() + 3
        run.until(lambda: time.monotonic() > due_s)
        assert run.pid("worker-0") == 0
        away.rename(home)
        run.trains()
        run.check()
        assert len(run.news("restart")) == 1


def test_a_run_is_looked_at_while_a_rest_is_waited_for(tmp_path: Path) -> None:
    """A worker stands still until it is taken for dead; the display goes on meanwhile."""
    with struck("inline", tmp_path, silent_after_s=2.0) as run:
        run.trains()
        looks, rests = list[float](), list[tuple[float, float]]()

        def rest() -> None:
            run.hit("worker-0", by=signal.SIGSTOP)
            began_s = time.monotonic()
            run.account()
            rests.append((began_s, time.monotonic()))
            run.control.stop = True

        assert not run.engine.run(rest, lambda: looks.append(time.monotonic()))
        ((began_s, ended_s),) = rests
        assert ended_s - began_s > 1.5
        assert sum(began_s < at_s < began_s + 1.5 for at_s in looks) >= 5, (
            "the display must go on while it stood still"
        )


def test_members_that_cannot_learn_fail_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """m0 because every update raises, m1 because its learner's process dies again and again."""
    monkeypatch.setattr(ProcessGroup, "program", "tests.pbt.runtime.checked_process")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv(FAILING, "m0")
    with struck("central", tmp_path, frames=300, learners=2, max_restarts=1) as run:
        members = run.engine.controller.members
        dead: set[int] = set()

        def strike() -> None:
            pid = run.pid("learner-1")
            if pid and pid not in dead and members["m0"].failed:
                dead.add(pid)
                run.hit("learner-1")

        run.finish(strike)
        assert len(dead) == 2 and run.restarts() == {
            "worker-0": 0,
            "server-0": 0,
            "learner-0": 0,
            "learner-1": 2,
        }
        assert [members[name].failed for name in members] == [True, True, False] and members[
            "m2"
        ].finished
        raised, died = run.news("failed")
        assert "ArithmeticError: this member cannot learn" in raised
        assert (
            "learner-1" in died
            and "was killed by SIGKILL; 2 times in a row without an update in between" in died
        )
        assert (
            run.engine.clocks()["m0"] == 0
            and run.engine.dropped()["error"] > 0
            and run.engine.dropped()["failed"] > 0
        )
        run.check()


def test_a_sampling_plane_that_dies_again_and_again_ends_the_run(tmp_path: Path) -> None:
    with struck("inline", tmp_path, max_restarts=1) as run:
        dead: set[int] = set()

        def strike() -> bool:
            pid = run.pid("worker-0")
            if pid and pid not in dead:
                dead.add(pid)
                run.hit("worker-0")
            return False

        with pytest.raises(
            EngineError,
            match=r"the run cannot go on: worker-0 .* was killed by SIGKILL; 2 times in a row",
        ) as raised:
            run.until(strike)
        assert "\n" not in str(raised.value) and len(run.news("restart")) == 1


def strike_at_random(placement: str, folder: Path, strikes: int, seed: int) -> None:
    """Kill processes at arbitrary moments: now and then several, or while the run comes to rest."""
    rng = random.Random(seed)
    with struck(placement, folder, silent_after_s=3.0) as run:
        names = list(run.restarts())
        run.trains()
        for strike in range(strikes):
            victims = rng.sample(names, 1 if rng.random() < 0.7 else len(names))
            hit = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
            run.turn_on(rng.randrange(40))
            run.hit(*victims, by=hit)
            if rng.random() < 0.5:
                run.check()
            run.trains()
            if strike % 3 == 2:
                run.check()
        run.check()
        assert sum(run.restarts().values()) >= strikes
        assert len(run.news("restart")) >= strikes


@pytest.mark.slow
def test_deaths_at_any_moment(tmp_path: Path) -> None:
    strike_at_random("shards", tmp_path, strikes=4, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize(("placement", "host"), [("central", "learner-0"), ("inline", "worker-1")])
def test_a_replay_outlives_the_process_of_its_learner(
    placement: str, host: str, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {
        "learning": {"algorithm": "dqn"},
        "model": {"core": "none"},
        "dqn": {"replay_rows": 512, "least_rows": 64, "batch_rows": 16},
    }
    rng = random.Random(5)
    with Struck(placed(placement, "tictactoe", NEVER, **changes), tmp_path) as run:
        run.start()
        run.trains()
        for strike in range(1, 4):
            replays = [line.handle.replay for line in run.engine.scheduler.pipelines.values()]
            kept = [int(ring.column["valid"].sum()) for ring in replays if ring is not None]
            run.turn_on(rng.randrange(40))
            run.hit(host)
            run.trains()
            assert run.restarts()[host] >= strike
            after = [int(ring.column["valid"].sum()) for ring in replays if ring is not None]
            pairs = list(zip(after, kept, strict=True))
            assert len(pairs) == 3 and all(now > before // 2 for now, before in pairs)
            run.check()
        updated = [values for _, _, values in run.sink.points]
        assert all(math.isfinite(values["value_loss"]) for values in updated)
