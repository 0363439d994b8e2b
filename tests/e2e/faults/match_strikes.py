"""Faults of matches of Doom: each strikes a running training once, from outside, and says how
long what it struck lived on.
"""

import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from arena.data.paths import league_path
from tests.e2e.faults import processes
from tests.e2e.faults.league_log import reading
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S, growing, pids
from tests.e2e.faults.running import START_LIMIT_S, Run
from tests.e2e.faults.strikes import choose, current, engines, signal_to
from tests.league_rows import block_rows, new_blocks

FAULTS = (
    "kill engine",
    "stop engine",
    "kill match",
    "stop match",
    "kill worker",
    "take port",
    "no connection",
)
"""An engine, the process of a match or a worker is killed or stopped for good; a stranger takes
the port of a match before its engine does; an engine
never comes to the match it starts for."""
_PORT = "@pbt-arena-doom-"
_MATCH = "pbt.envs.doom.match_process"
_LOOK_S = 0.001
# Between holding a port's name and starting the engine that binds it a match looks whether the port
# is free.
_LOOKED_S = 0.003
_BIND_S = 0.03
_TRIES = 10


@dataclass(frozen=True)
class MatchStrike:
    """One fault and what followed. Moments are of time.monotonic().

    fault     its name
    began_s   the first blow: where a start is struck, a running match was killed for it
    struck_s  the blow that counts
    gone_s    from then until what was struck was gone
    reasons   of all games that were voided meanwhile
    whole_s   from then until as many engines stood as before
    ended     matches that were killed so that another one starts
    missed    of these others, those that had started before they could be struck
    """

    fault: str
    began_s: float
    struck_s: float
    gone_s: float
    reasons: tuple[str, ...]
    whole_s: float = 0.0
    ended: int = 0
    missed: int = 0

    @property
    def effect_s(self) -> float:
        return self.struck_s + self.gone_s


def strike_match(run: Run, fault: str, rng: random.Random, everything: int) -> MatchStrike:
    """everything: how many engines play when all is well; they do before, and again after it.
    Raises: AssertionError when they do not.
    """
    all_playing(run, everything)
    before, standing, processes_before = last_game(run), set(engines(run)), pids(current(run))
    strike = _strike(run, fault, rng)
    whole_s = all_playing(run, everything, unlike=standing) - strike.effect_s
    if fault == "kill worker":
        growing(run, strike.struck_s, RECOVERED_WITHIN_S, processes_before)
    else:
        # Games that a worker took with it are void and stand nowhere; one that only lost its match
        # says so.
        run.until(
            lambda: len(voided_since(run, before)) > strike.ended or None,
            RECOVERED_WITHIN_S,
            f"a game to be voided by {fault}",
        )
        assert pids(current(run)) == processes_before, f"{fault} cost more than a match"
    return replace(strike, whole_s=max(0.0, whole_s), reasons=tuple(voided_since(run, before)))


def _strike(run: Run, fault: str, rng: random.Random) -> MatchStrike:
    if fault in ("take port", "no connection"):
        return _strike_start(run, fault, rng)
    if fault == "kill worker":
        _, victim = choose(current(run), "worker", rng)
    else:
        victim = rng.choice(engines(run) if fault.endswith("engine") else matches(run))
    struck_s = time.monotonic()
    signal_to(victim, signal.SIGSTOP if fault.startswith("stop") else signal.SIGKILL)
    return MatchStrike(fault, struck_s, struck_s, _until_gone(run, victim) - struck_s, ())


def _strike_start(run: Run, fault: str, rng: random.Random) -> MatchStrike:
    """End a match and strike the one that takes its place while it starts."""
    began_s = time.monotonic()
    for missed in range(_TRIES):
        running = set(_match_processes(run))
        signal_to(rng.choice(matches(run)), signal.SIGKILL)
        new = run.until(
            lambda known=running: next(iter(set(_match_processes(run)) - known), None),
            START_LIMIT_S,
            "another match to start",
        )
        with _port_taken(new) if fault == "take port" else _guest_stopped(new) as struck:
            if struck:
                struck_s = time.monotonic()
                return MatchStrike(
                    fault,
                    began_s,
                    struck_s,
                    _until_gone(run, new) - struck_s,
                    (),
                    ended=missed + 1,
                    missed=missed,
                )
        run.until(lambda: len(engines(run)) % 2 == 0 or None, START_LIMIT_S, "whole matches")
    raise AssertionError(
        f"the start of a match was over before it could be struck, {_TRIES} times, for each "
        "of which a match was killed"
    )


@contextmanager
def _port_taken(match: int) -> Iterator[bool]:
    """A foreign socket takes the port that the match has chosen, before its engine does. False:
    the engine was faster.
    """
    port = _of_start(match, lambda: _chosen_port(match))
    time.sleep(
        _LOOKED_S
    )  # for the match's own look whether the port is free; to be there sooner would be no race
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        taken, deadline = False, time.monotonic() + _BIND_S
        while port is not None and not taken and time.monotonic() < deadline:
            with suppress(OSError):
                stranger.bind(("", port))
                taken = _chosen_port(match) == port
        yield taken


def _chosen_port(match: int) -> int | None:
    """Of the match with this process, as soon as it has one."""
    held = set()
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{match}/fd"):
            with suppress(OSError):
                held.add(os.readlink(entry.path))
    rows = [
        line.split()
        for line in Path("/proc/net/unix")
        .read_text(encoding="ascii", errors="replace")
        .splitlines()
        if _PORT in line
    ]
    return next(
        (int(row[-1].removeprefix(_PORT)) for row in rows if f"socket:[{row[6]}]" in held), None
    )


@contextmanager
def _guest_stopped(match: int) -> Iterator[bool]:
    """The match's second engine stands still from its first moments on. False: it had come to
    the match before.
    """
    guest = _of_start(
        match,
        lambda: next(
            (pid for pid in processes.descendants(match) if "-join" in _command(pid)), None
        ),
    )
    if guest is not None:
        signal_to(guest, signal.SIGSTOP)
    # An engine that has begun maps its WAD; until then it has met no other engine.
    struck = guest is not None and not any("freedoom2.wad" in name for name in _open_files(guest))
    if guest is not None and not struck:
        signal_to(guest, signal.SIGCONT)
    yield struck


def _of_start(match: int, find: Callable[[], int | None]) -> int | None:
    """What is found while a match starts, as soon as it is there; None when the match ended
    before, or had time enough.
    """
    deadline = time.monotonic() + START_LIMIT_S
    while processes.alive(match) and time.monotonic() < deadline:
        if (found := find()) is not None:
            return found
        time.sleep(_LOOK_S)  # polling, with a deadline
    return None


def _command(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return []


def _open_files(pid: int) -> list[str]:
    found = []
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.append(os.readlink(entry.path))
    return found


def _until_gone(run: Run, pid: int) -> float:
    """The moment."""
    return run.until(
        lambda: None if processes.alive(pid) else time.monotonic(),
        RECOVERED_WITHIN_S,
        f"the end of process {pid}",
    )


def _match_processes(run: Run) -> list[int]:
    """Of matches that play or start."""
    return [
        pid
        for pid in processes.of_run(run.mark, run.pid)
        if _MATCH in _command(pid) and processes.alive(pid)
    ]


def matches(run: Run) -> list[int]:
    """The pids of the processes of matches: parents of engines."""
    parents = set()
    for pid in engines(run):
        with suppress(psutil.NoSuchProcess):
            parents.add(psutil.Process(pid).ppid())
    return sorted(parents)


def all_playing(run: Run, everything: int, unlike: Set[int] = frozenset()) -> float:
    """The moment when so many engines stand, some of which are none of `unlike`."""

    def seen() -> float | None:
        found = set(engines(run))
        return time.monotonic() if len(found) == everything and found != unlike else None

    return run.until(seen, START_LIMIT_S, f"{everything} engines")


def last_game(run: Run) -> int:
    """Key of the newest game that is stored."""
    newest = "SELECT MAX(id) FROM games UNION ALL SELECT MAX(last) FROM game_blocks"
    with reading(league_path(run.data)) as connection:
        return max(row[0] or 0 for row in connection.execute(newest))


def voided_since(run: Run, key: int) -> list[str]:
    """Why games were voided that came after this one."""
    with reading(league_path(run.data)) as connection:
        found = connection.execute(
            "SELECT id, end_reason FROM games WHERE id > ? AND voided = 1", (key,)
        ).fetchall()
        for block in new_blocks(connection, key):
            found += [
                (game["id"], game["end_reason"]) for game, _ in block_rows(block) if game["voided"]
            ]
    return [str(reason) for _, reason in sorted(found)]
