"""A training under many faults, one after the other at random moments, and everything that must
hold when it has ended.
"""

import json
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.data.paths import league_path
from tests.e2e.faults.league_log import miscounted_scores, voided_games
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S, growing, start_growing
from tests.e2e.faults.rows_account import row_problems
from tests.e2e.faults.running import NAME, Run
from tests.e2e.faults.strikes import (
    ENGINE,
    GAME_FAULTS,
    KINDS,
    Strike,
    current,
    disarm,
    freeze,
    freeze_all,
    kill,
    misbehave,
    signal_to,
)

GAME = Path(__file__).with_name("faulty_game.py")
# A kill that comes before the one before it has healed: so often, and at most so long after it.
HASTE, HASTE_S = 0.15, 4.0

CONFIG = """
stop_at_frames = 1_000_000_000
[env]
name = "./faulty_game.py:make"
timeout_s = {timeout_s}
[population]
members = {members}
[sampling]
environments = {environments}
rollout_steps = 8
opening_plies = 4
[model]
hidden = [32]
[learning]
batch_steps = {batch_steps}
[pbt]
period_frames = {period_frames}
warmup_frames = {period_frames}
min_games = 10
copy_gap = 0.0
[matchmaking]
past_share = 0.2
past_window = 4
[snapshots]
every_frames = {period_frames}
keep_newest = 6
[evaluation]
share = 0.1
final_games = 4
[checkpoints]
every_s = {checkpoint_s}
[runtime]
placement = "{placement}"
workers = {workers}
silent_after_s = {silent_after_s}
max_restarts = 1000
"""


def small_run(
    folder: Path,
    placement: str,
    *,
    members: int = 2,
    workers: int = 2,
    timeout_s: float = 8.0,
    silent_after_s: float = 5.0,
) -> Run:
    """A population of small networks on the connect four that can misbehave; not started."""
    small = members <= 2
    text = CONFIG.format(
        placement=placement,
        members=members,
        workers=workers,
        timeout_s=timeout_s,
        silent_after_s=silent_after_s,
        environments=32 if small else 128,
        batch_steps=128 if small else 512,
        period_frames=2_000 if small else 20_000,
        checkpoint_s=1.0 if small else 5.0,
    )
    return on_faulty_game(Run(folder, text))


def on_faulty_game(run: Run) -> Run:
    """Put the game beside the configuration, whose env.name is ./faulty_game.py:make, or
    :make_doom.
    """
    (run.folder / GAME.name).write_bytes(GAME.read_bytes())
    return run


def schedule(
    placement: str, kills: int, others: int, rng: random.Random, *, engines: bool = False
) -> list[str]:
    """So many kills of each kind of process, and so many of each of the other faults, in random
    order.

    engines: the game's engines are processes, to be struck like the others.
    """
    kinds = (*KINDS[placement], *((ENGINE,) if engines else ()))
    faults = [f"kill {kind}" for kind in kinds] * kills
    if placement != "serial":
        faults += [
            *(f"stop {kind}" for kind in kinds),
            "stop all",
            *(f"{fault} once" for fault in GAME_FAULTS),
        ] * others
    rng.shuffle(faults)
    return faults


def strike(
    run: Run, fault: str, rng: random.Random, freeze_s: float, limit_s: float = RECOVERED_WITHIN_S
) -> Strike:
    """One fault by its name, and what came of it. Raises: AssertionError when the training did
    not recover.
    """
    what, _, whom = fault.partition(" ")
    if what == "kill":
        return kill(run, whom, rng, limit_s)
    if what in GAME_FAULTS:
        return misbehave(run, what, limit_s)
    return (
        freeze_all(run, freeze_s, limit_s)
        if whom == "all"
        else freeze(run, whom, freeze_s, rng, limit_s)
    )


def campaign(
    run: Run,
    faults: Sequence[str],
    rng: random.Random,
    *,
    seconds: float,
    freeze_s: float,
    tell: Callable[[Strike], None],
    limit_s: float,
) -> list[Strike]:
    """All the faults at random moments of at least so many seconds of training. The run is started
    before and not ended here.

    Now and then one is struck while the training still recovers from a kill; how long that takes is
    then counted from the second of the two.
    """
    start_growing(run)
    began_s = time.monotonic()
    moments = sorted(rng.uniform(0.0, seconds) for _ in faults)
    strikes = []
    for fault, moment_s in zip(faults, moments, strict=True):
        # After a fault that took long the next ones come as soon as they can: moments within the
        # training, not of the clock on the wall.
        pause_s = max(rng.uniform(0.0, 2.0), moment_s - (time.monotonic() - began_s))
        time.sleep(pause_s)  # when it strikes is the campaign's input
        if fault.startswith("kill") and rng.random() < HASTE:
            _hasty_kill(run, rng)
        struck = replace(
            strike(run, fault, rng, freeze_s, limit_s), at_s=time.monotonic() - began_s
        )
        strikes.append(struck)
        tell(struck)
    time.sleep(max(0.0, seconds - (time.monotonic() - began_s)))  # the training goes on to its time
    growing(run, time.monotonic(), limit_s)
    return strikes


def _hasty_kill(run: Run, rng: random.Random) -> None:
    """Kill some process that is not the main one, and go on before that has healed."""
    children = [process.pid for process in current(run).processes if process.pid != run.pid]
    if children:
        signal_to(rng.choice(children), signal.SIGKILL)
        time.sleep(
            rng.uniform(0.0, HASTE_S)
        )  # how long after it the next fault strikes is the campaign's input


def ended_well(run: Run) -> dict[str, list[str]]:
    """After a run has ended by itself or was stopped: check -> what is wrong, [] where nothing is.

    Its game is mended first, because its evaluation games are played again.
    """
    league = league_path(run.data)
    disarm(run)
    verify = run.arena("verify", NAME, "--json")
    report: dict[str, Any] = {"ok": False, "differences": [verify.stderr]}
    if verify.stdout.strip():
        report = json.loads(verify.stdout.splitlines()[-1])
    return {
        "nothing is left behind": run.left_behind(),
        "acknowledged games are in the league exactly once": _log_problems(run),
        "verify agrees": []
        if report["ok"] and verify.returncode == 0
        else [str(line) for line in report["differences"]],
        "voided games were never scored": miscounted_scores(league),
        "rows produced = trained + dropped + standing": row_problems(run),
    }


def _log_problems(run: Run) -> list[str]:
    run.log.__exit__(None, None, None)
    run.log.poll()
    return run.log.problems()


def voided(run: Run) -> int:
    """How many games were voided so far."""
    return voided_games(league_path(run.data))


def assert_ended_well(run: Run) -> None:
    wrong = {check: problems for check, problems in ended_well(run).items() if problems}
    assert not wrong, wrong
