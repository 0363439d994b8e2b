"""The faults: each strikes a running training once and says how long it took until every member
learned again.
"""

import os
import random
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arena.data.paths import league_path
from arena.data.status import RunStatus
from tests.e2e.faults import processes
from tests.e2e.faults.league_log import voided_games
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S, growing, pids
from tests.e2e.faults.running import START_LIMIT_S, Run

KINDS = {
    "serial": ("main",),
    "inline": ("worker", "main"),
    "central": ("worker", "server", "learner", "main"),
}
GAME_FAULTS = ("raise", "hang", "exit")
# Of games whose engines are processes of their own.
ENGINE = "engine"
TAKEN_WITHIN_S = 30.0
# The place of the frames in a learner's stored clocks.
FRAMES = 1


@dataclass(frozen=True)
class Strike:
    """One fault and its recovery.

    fault    "kill worker", "stop main", "hang once" ...
    seconds  until every member's frames grew again
    at_s     since the campaign began
    """

    fault: str
    seconds: float
    at_s: float = 0.0


def current(run: Run) -> RunStatus:
    return run.until(run.status, START_LIMIT_S, "a first status")


def choose(status: RunStatus, kind: str, rng: random.Random) -> tuple[str, int]:
    """(name, pid) of one process that hosts the kind."""
    fitting = [
        process
        for process in status.processes
        if any(role.split()[0] == kind for role in process.roles)
    ]
    assert fitting, (
        f"no process with the role {kind!r} among "
        f"{[(process.name, process.roles) for process in status.processes]}"
    )
    chosen = rng.choice(fitting)
    return chosen.name, chosen.pid


def engines(run: Run) -> list[int]:
    return [
        pid
        for pid in processes.of_run(run.mark, run.pid)
        if processes.is_engine(pid) and processes.alive(pid)
    ]


def all_engines(run: Run, tables: int) -> list[int]:
    """The pids of as many engines as there are tables; after a fault before this one they may
    still be starting.
    """
    return run.until(
        lambda: found if len(found := engines(run)) == tables else None,
        START_LIMIT_S,
        f"{tables} engines",
    )


def kill_engine(run: Run, rng: random.Random, limit_s: float) -> Strike:
    """SIGKILL one. Its game is void and its table gets another one; no process of ours is
    replaced, unless it was struck within its own start.
    """
    tables = run.tables()
    pid = rng.choice(all_engines(run, tables))
    before, placed = voided_games(league_path(run.data)), pids(current(run))

    def paid() -> bool | None:
        return voided_games(league_path(run.data)) > before or pids(current(run)) != placed or None

    struck_s = time.monotonic()
    signal_to(pid, signal.SIGKILL)
    run.until(
        lambda: (pid not in engines(run) and len(engines(run)) == tables) or None,
        limit_s,
        "another engine in the place of the one killed",
    )
    run.until(paid, limit_s, "its game to be voided")
    growing(run, time.monotonic(), limit_s)
    return Strike(f"kill {ENGINE}", time.monotonic() - struck_s)


def kill(run: Run, kind: str, rng: random.Random, limit_s: float = RECOVERED_WITHIN_S) -> Strike:
    """SIGKILL one process of the kind; the main process is resumed."""
    if kind == "main":
        return Strike("kill main", kill_main(run))
    before = current(run)
    if kind == ENGINE:
        return kill_engine(run, rng, limit_s)
    name, pid = choose(before, kind, rng)
    struck_s = time.monotonic()
    signal_to(pid, signal.SIGKILL)
    return Strike(f"kill {kind}", growing(run, struck_s, limit_s, pids(before), name))


def kill_main(run: Run) -> float:
    """SIGKILL the main process, see everything of the run go, resume. Seconds from the command
    to resume until every member's frames grow.
    """
    assert run.main is not None
    run.main.kill()
    run.main.wait()
    left = run.left_behind()
    assert not left, "\n".join(left)
    checkpoint = run.newest_checkpoint()
    resumed_s = time.monotonic()
    run.resume()
    current(run)
    if checkpoint is not None:
        stored = {
            name: tensors["clocks"]
            for name, tensors in checkpoint.tensors.items()
            if name.startswith("learner-")
        }
        clocks = {
            name.removeprefix("learner-"): int(tensor[FRAMES]) for name, tensor in stored.items()
        }
        assert run.resumed_clocks() == clocks, (
            f"resumed with clocks {run.resumed_clocks()}; those of checkpoint "
            f"{checkpoint.number} are {clocks}"
        )
    return growing(run, resumed_s, START_LIMIT_S)


def freeze(
    run: Run, kind: str, seconds: float, rng: random.Random, limit_s: float = RECOVERED_WITHIN_S
) -> Strike:
    """SIGSTOP one process for so long. The main process is waited for; another one is silent, so
    it is replaced meanwhile.
    """
    before = current(run)
    if kind == "main":
        signal_to(run.pid, signal.SIGSTOP)
        time.sleep(seconds)  # how long it stands still is the test's input
        signal_to(run.pid, signal.SIGCONT)
        return Strike("stop main", growing(run, time.monotonic(), limit_s))
    if kind == ENGINE:
        # The call that waits for it takes too long, so its worker is replaced, and every engine of
        # that with it.
        pid, before = rng.choice(all_engines(run, run.tables())), current(run)
        struck_s = time.monotonic()
        signal_to(pid, signal.SIGSTOP)
        return Strike(f"stop {kind}", growing(run, struck_s, limit_s, pids(before)))
    name, pid = choose(before, kind, rng)
    struck_s = time.monotonic()
    signal_to(pid, signal.SIGSTOP)
    taken_s = growing(run, struck_s, limit_s, pids(before), name)
    if (rest_s := seconds - taken_s) > 0 and processes.alive(pid):
        time.sleep(rest_s)
        signal_to(pid, signal.SIGCONT)
    return Strike(f"stop {kind}", taken_s)


def freeze_all(run: Run, seconds: float, limit_s: float = RECOVERED_WITHIN_S) -> Strike:
    """Every process stands still, as on a laptop whose lid is closed."""
    everybody = processes.of_run(run.mark, run.pid)
    for pid in everybody:
        signal_to(pid, signal.SIGSTOP)
    time.sleep(seconds)  # how long they stand still is the test's input
    for pid in everybody:
        signal_to(pid, signal.SIGCONT)
    return Strike("stop all", growing(run, time.monotonic(), limit_s))


def misbehave(run: Run, fault: str, limit_s: float = RECOVERED_WITHIN_S) -> Strike:
    """One call of a game raises, hangs or ends its process. Only a game that raises leaves its
    process alive.
    """
    before = current(run)
    flag = arm(run, fault, "once")
    struck_s = run.wait_for_end_of_flag(flag, TAKEN_WITHIN_S)
    unlike: Mapping[str, int] | None = None if fault == "raise" else pids(before)
    return Strike(f"{fault} once", growing(run, struck_s, limit_s, unlike))


def arm(run: Run, fault: str, how_often: str) -> Path:
    """Tell the games of a run to misbehave "once", "always" or when "loading"; see
    faulty_game.py.
    """
    flag = run.folder / "flags" / f"{fault}-{how_often}"
    flag.parent.mkdir(exist_ok=True)
    flag.touch()
    return flag


def disarm(run: Run) -> None:
    """Have the games of a run behave again."""
    for flag in (run.folder / "flags").glob("*"):
        flag.unlink(missing_ok=True)


def signal_to(pid: int, number: signal.Signals) -> None:
    """Signal a process of a run, by its pid. One that is gone by now needs none, and a foreign
    process that got its number must not be hit.
    """
    try:
        if processes.of_some_run(pid):
            os.kill(pid, number)
    except ProcessLookupError:
        return
