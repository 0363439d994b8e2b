"""An error in an engine ends the whole match within its deadline, and nothing stays behind."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pbt.envs.doom import match_link
from pbt.envs.doom.match import DoomMatch, make
from pbt.envs.doom.network_ports import PORTS, take_port
from pbt.errors import EnvCrash
from pbt.native import doom_preload
from tests.e2e.faults.processes import left_in_shared_memory, shared_memory_files
from tests.pbt.envs.doom.scene import engines, until

SHARED = Path("/dev/shm")
NOTHING = (0,) * 7
DEADLINE_S = 1.0
SLOW = pytest.mark.slow


@pytest.fixture(params=["helper", pytest.param("barrier", marks=SLOW)])
def match(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[DoomMatch]:
    # Of such a name the system's loader would make several.
    folder = tmp_path / "a place: mine"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    made = make(
        max_tics=2000, lock_step=request.param, deadline_s=DEADLINE_S, start_deadline_s=10.0
    )
    yield made
    made.close()
    assert not list(folder.iterdir())


def stopped(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def crash(
    match: DoomMatch, hurt: Callable[[psutil.Process], None], seat: int
) -> tuple[EnvCrash, float]:
    """Play a game in which that happens to an engine, after which all engines are gone.

    Returns the error raised, and after how many seconds.
    """
    match.reset(1)
    running = engines(os.getpid())
    assert len(running) == 2
    library, mapped = (
        str(doom_preload()),
        [Path(f"/proc/{engine.pid}/maps").read_text(encoding="utf-8") for engine in running],
    )
    assert [library in text for text in mapped] == [match._options.lock_step == "helper"] * 2
    # Engines are told apart by what they were started with.
    (victim,) = [engine for engine in running if ("-host" in engine.cmdline()) == (seat == 0)]
    match.step({0: NOTHING, 1: NOTHING})
    hurt(victim)
    started = time.monotonic()
    with pytest.raises(EnvCrash) as raised:
        match.step({0: NOTHING, 1: NOTHING})
    took_s = time.monotonic() - started
    until(lambda: all(stopped(engine) for engine in running), 2.0)
    return raised.value, took_s


@pytest.mark.parametrize("seat", [pytest.param(0, marks=SLOW), 1])
def test_an_engine_that_is_killed_ends_the_match_at_once_and_the_table_goes_on(
    match: DoomMatch, seat: int
) -> None:
    error, took_s = crash(match, lambda engine: engine.kill(), seat)
    assert "Doom match of 2 in 'multi_duel' ended: " in str(error) and str(error).endswith(
        "the table starts another one"
    )
    assert took_s < DEADLINE_S
    assert len(match.reset(2)) == 2
    match.step({0: NOTHING, 1: NOTHING})


def test_the_last_words_of_an_engine_that_ends_in_a_step_are_told(match: DoomMatch) -> None:
    def hurt(engine: psutil.Process) -> None:
        with open(f"/proc/{engine.pid}/fd/2", "a", encoding="utf-8") as log:
            log.write("Hunk is too small\n")
        engine.kill()

    # The first start of a process leaves the watcher's descriptor, and what was raised holds some
    # until it is collected.
    crash(match, hurt, 1)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    said = str(crash(match, hurt, 1)[0])
    # What all of them said while they started is no news.
    assert said.endswith(
        "; the engine of player2 said: Hunk is too small; the table starts another one"
    )
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("seat", [0, pytest.param(1, marks=SLOW)])
def test_an_engine_that_is_stopped_ends_the_match_within_the_deadline(
    match: DoomMatch, seat: int
) -> None:
    error, took_s = crash(match, lambda engine: engine.suspend(), seat)
    assert "no answer to a step within 1 s" in str(error)
    assert DEADLINE_S <= took_s < DEADLINE_S + 1.0


@SLOW
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_match_whose_process_is_killed_or_stopped_is_over(
    match: DoomMatch, number: signal.Signals
) -> None:
    def hurt(engine: psutil.Process) -> None:
        parent = engine.parent()
        assert parent is not None and parent.pid != os.getpid()
        parent.send_signal(number)

    error, _ = crash(match, hurt, 0)
    assert ("was killed by SIGKILL" if number == signal.SIGKILL else "no answer to a step") in str(
        error
    )


def with_process(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Of the next matches, changed as the code says before it begins."""
    program = (
        "import json, sys\nfrom pbt.envs.doom import match_process as "
        f"m\n{code}\nm.main(json.loads(sys.argv[1]))"
    )
    monkeypatch.setattr(match_link, "_PROGRAM", ("-c", program))


def test_a_port_that_somebody_takes_in_the_last_moment_is_told(
    match: DoomMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        with_process(
            monkeypatch,
            (
                f"port = m.take_port()\nport.number = {other.getsockname()[1]}\nm.take_port = "
                "lambda: port"
            ),
        )
        with pytest.raises(
            EnvCrash, match=r"ended: its process was killed by SIGSEGV.*Address already in use"
        ):
            match.reset(1)


def test_a_player_that_never_connects_is_not_waited_for(
    match: DoomMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    match._options = match._options.__class__(**{**vars(match._options), "start_deadline_s": 1.5})
    with_process(
        monkeypatch,
        (
            "real = m._arguments\nm._arguments = lambda *a: real(*a).replace('-join 127.0.0.1', "
            "'-join 127.0.0.2')"
        ),
    )
    started = time.monotonic()
    with pytest.raises(EnvCrash, match=r"no answer to a start within 1\.5 s: .*did not connect"):
        match.reset(1)
    assert time.monotonic() - started < 5.0
    until(lambda: not engines(os.getpid()), 2.0)


def test_a_bot_that_does_not_come_ends_the_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbt.envs.doom.match._LONGEST_WARMUP_TICS", 50)
    with_process(
        monkeypatch,
        "real = m.MatchOptions\nm.MatchOptions = lambda **options: real(**{**options, 'bots': 1})",
    )
    with closing(make(scenario="cig", players=1, bots=2)) as match:
        with pytest.raises(
            EnvCrash,
            match=r"2 of 3 players and bots came within 60 tics; .*the table starts another one",
        ):
            match.reset(1)
        assert not engines(os.getpid())


def test_a_game_that_begins_too_slowly_is_not_waited_for(
    match: DoomMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though every step into it comes within its own deadline."""
    slow = (
        "import time\nreal = m.Engines.play\ndef play(engines, tics):\n    "
        "time.sleep(0.4)\n    real(engines, tics)\nm.Engines.play = play"
    )
    with_process(monkeypatch, slow)
    match.reset(1)
    link, real, dead = match._link, match._measure, match._counted.column["DEAD"]
    assert link is not None
    match._options = link._options = replace(match._options, start_deadline_s=1.5)
    monkeypatch.setattr(
        match,
        "_measure",
        lambda: [
            [1.0 if column == dead else value for column, value in enumerate(row)] for row in real()
        ],
    )
    started = time.monotonic()
    with pytest.raises(EnvCrash, match=r"ended: a game did not begin within 1\.5 s: "):
        match.reset(2)
    assert 1.5 <= time.monotonic() - started < 1.5 + DEADLINE_S
    assert match._link is None and match.longest_wait_s == 3.0
    until(lambda: not engines(os.getpid()), 2.0)


def standing_guest(processes: Callable[[], list[psutil.Process]]) -> psutil.Process:
    """The second engine of a match that starts, stopped before it can have asked for anything."""
    found: list[psutil.Process] = []

    def seen() -> bool:
        for process in processes():
            with suppress(psutil.NoSuchProcess):
                if "-join" in process.cmdline():
                    process.suspend()
                    found.append(process)
        return bool(found)

    until(seen)
    return found[0]


def test_an_engine_that_stands_still_from_its_first_moment_ends_with_its_match(
    match: DoomMatch,
) -> None:
    match._options = replace(match._options, start_deadline_s=1.5)
    found: list[psutil.Process] = []
    stopper = threading.Thread(
        target=lambda: found.append(
            standing_guest(lambda: psutil.Process().children(recursive=True))
        )
    )
    stopper.start()
    with pytest.raises(EnvCrash, match=r"no answer to a start within 1\.5 s"):
        match.reset(1)
    stopper.join()
    until(lambda: stopped(found[0]), 2.0)


@SLOW
def test_a_match_that_is_killed_while_it_starts_leaves_nothing(match: DoomMatch) -> None:
    before = shared_memory_files()
    elder = {child.pid for child in psutil.Process().children()}

    def kill() -> None:
        until(lambda: engines(os.getpid()))
        next(child for child in psutil.Process().children() if child.pid not in elder).kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(EnvCrash, match="was killed by SIGKILL"):
        match.reset(1)
    killer.join()
    assert not engines(os.getpid())
    for path in SHARED.glob("ViZDoom*"):
        os.utime(path, (0, 0))
    match.reset(1)
    match.close()
    assert not left_in_shared_memory(before)


PROGRAM = """
import sys, time
from pbt.envs.doom.match import make
games = [make() for _ in range(2)]
for game in games[:int(sys.argv[1])]:
    game.reset(1)
print("ready", flush=True)
games[-1].reset(1)
time.sleep(60)
"""


@pytest.mark.parametrize("started", [pytest.param(1, marks=SLOW), 2])
def test_nothing_is_left_of_matches_whose_worker_is_killed(started: int, tmp_path: Path) -> None:
    """Of one that plays, and of one that plays while another one starts."""
    before = shared_memory_files()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(started)], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len([child for child in family if child in engines(process.pid)]) >= 2 * started
    process.kill()
    process.wait()
    process.stdout.close()
    until(lambda: all(stopped(child) for child in family))
    until(lambda: not list(tmp_path.iterdir()) and not left_in_shared_memory(before), 5.0)


def heard_from(match: DoomMatch) -> set[str]:
    """Addresses that engines of a match listen on."""
    match.reset(1)
    return {
        bound.laddr.ip for engine in engines(os.getpid()) for bound in engine.net_connections("udp")
    }


@pytest.mark.parametrize("match", ["helper"], indirect=True)
def test_with_the_library_engines_hear_nobody_on_other_machines(match: DoomMatch) -> None:
    assert heard_from(match) == {"127.0.0.1"}


@SLOW
@pytest.mark.parametrize("match", ["barrier"], indirect=True)
def test_without_the_library_engines_listen_on_every_address(match: DoomMatch) -> None:
    """As ViZDoom has them: docs/doom.md says so."""
    assert heard_from(match) == {"0.0.0.0"}


# --- ports ----------------------------------------------------------------------------------------


def number_of(candidates: list[int]) -> int:
    """Of a port that is taken and given back."""
    with closing(take_port(candidates)) as port:
        return port.number


def test_a_port_has_one_holder() -> None:
    with closing(take_port()) as port:
        assert port.number in PORTS
        with pytest.raises(OSError, match="no UDP port is free"):
            take_port([port.number])
    assert number_of([port.number]) == port.number


def test_a_port_of_somebody_elses_is_passed_over() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, closing(take_port()) as free:
        other.bind(("127.0.0.1", 0))
        free.close()
        assert number_of([other.getsockname()[1], free.number]) == free.number


def test_a_port_is_free_again_when_its_process_is_killed() -> None:
    code = (
        "import time\nfrom pbt.envs.doom.network_ports import take_port\nport = "
        "take_port()\nprint(port.number, flush=True)\ntime.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    number = int(process.stdout.readline())
    with pytest.raises(OSError, match="no UDP port"):
        take_port([number])
    process.kill()
    process.wait()
    process.stdout.close()
    assert number_of([number]) == number
