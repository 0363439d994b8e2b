"""Engines of Doom games: they die with their process and leave nothing behind, whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pbt.envs.doom import strays
from pbt.envs.doom.engine import last_words, start_engine
from pbt.envs.doom.game import DoomGame
from pbt.errors import EnvCrash, EnvError
from tests.e2e.faults.processes import left_in_shared_memory, shared_memory_files
from tests.pbt.envs.doom.scene import engines, play, until

SHARED = Path("/dev/shm")


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", ""),
        (b"one\ntwo\n\nthree\nfour", "; it said: two / three / four"),
        (
            b"timeout: 9s.\nWaiting:\r" + b"Waiting: .  [ 1/ 2]\r" * 2000,
            "; it said: timeout: 9s. / Waiting: .  [ 1/ 2]",
        ),
        (b"x" * 5000, f"; it said: {'x' * 200}"),
    ],
)
def test_the_last_words_of_an_engine_are_what_a_terminal_would_show(log: bytes, words: str) -> None:
    assert last_words(log) == words


def test_an_engine_that_is_killed_costs_a_game_not_the_table(basic: DoomGame) -> None:
    basic.reset(1)
    (engine,) = engines(os.getpid())
    engine.kill()
    engine.wait(10)
    with pytest.raises(EnvCrash, match=r"engine of scenario 'basic' ended"):
        basic.step({0: (0, 0)})
    basic.close()
    assert play(basic, 1, (0, 0))[-1].over


def test_an_engine_holds_none_of_our_descriptors_and_nothing_stays_in_the_file_system(
    basic: DoomGame,
) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    basic.reset(1)
    (engine,) = engines(os.getpid())
    os.close(write)
    os.set_blocking(read, False)
    assert os.read(read, 1) == b""  # end of file: no process holds the other end
    os.close(read)
    instance = engine.cmdline()[engine.cmdline().index("+viz_instance_id") + 1]
    assert not [path for path in SHARED.iterdir() if instance in path.name]
    assert not Path(engine.cwd().removesuffix(" (deleted)")).exists()


def test_ctrl_c_and_a_service_managers_stop_do_not_reach_an_engine(basic: DoomGame) -> None:
    basic.reset(1)
    (engine,) = engines(os.getpid())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        engine.send_signal(number)
    assert len(play(basic, 1, (0, 0))) == 76
    basic.close()
    until(lambda: not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE)


PROGRAM = """
import sys, time
from pbt.envs.doom.game import make
games = [make(scenario="basic") for _ in range(2)]
for game in games:
    game.reset(1)
print("ready", flush=True)
time.sleep(60)
"""


def test_engines_die_with_a_process_that_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    running = engines(process.pid)
    assert len(running) == 2
    names = [engine.cmdline()[engine.cmdline().index("+viz_instance_id") + 1] for engine in running]
    process.kill()
    process.wait()
    process.stdout.close()
    until(
        lambda: (
            not any(
                engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE
                for engine in running
            )
        )
    )
    assert not [path for path in SHARED.iterdir() if any(name in path.name for name in names)]


def test_names_that_nobody_uses_are_removed_when_they_are_not_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In /dev/shm the watcher of some other test's process may be quicker.
    monkeypatch.setattr(strays, "SHARED", tmp_path)
    stray, young = tmp_path / "ViZDoomSMpbtTestOld1", tmp_path / "ViZDoomMQCtrpbtTestNew1"
    stray.touch()
    young.touch()
    os.utime(stray, (time.time() - 120, time.time() - 120))
    assert stray in strays.remove_strays()
    assert young.exists() and not stray.exists()


KILLED_IN_A_START = """
import os, signal, threading, time
from pathlib import Path
from pbt.envs.doom.game import make
before = set(Path("/dev/shm").iterdir())

def kill():
    while not [
        path for path in set(Path("/dev/shm").iterdir()) - before if path.name.startswith("ViZDoom")
    ]:
        time.sleep(0.001)
    print("killed", flush=True)
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=kill).start()
make(scenario="basic").reset(1)
"""


def test_nothing_stays_of_a_process_killed_while_an_engine_starts(tmp_path: Path) -> None:
    before = shared_memory_files()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_IN_A_START],
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == (b"killed\n", -signal.SIGKILL)
    until(lambda: not list(tmp_path.iterdir()) and not left_in_shared_memory(before), 5.0)


class _NeverStarts:
    """A DoomGame whose engine ends at once, with ViZDoom's error.

    After that not even the engine's number can be asked for.
    """

    def init(self) -> None:
        raise RuntimeError("engine exited unexpectedly")

    def get_instance_id(self) -> str:
        raise RuntimeError("not running")

    def __getattr__(self, name: str) -> object:
        return lambda *arguments: None


def test_an_engine_that_does_not_start_is_tried_again_and_then_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    made: list[_NeverStarts] = []
    vizdoom = SimpleNamespace(
        DoomGame=lambda: made.append(_NeverStarts()) or made[-1], __file__="/vizdoom/__init__.py"
    )
    monkeypatch.setattr("pbt.envs.doom.engine.load_vizdoom", lambda: vizdoom)
    with pytest.raises(
        EnvCrash,
        match=r"did not start in 3 attempts: RuntimeError: engine exited unexpectedly; look at",
    ):
        start_engine(lambda game: None)
    assert len(made) == 3 and not list(tmp_path.iterdir())
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.X_OK)
    with pytest.raises(EnvError, match=r"engine\.sh may not be executed"):
        start_engine(lambda game: None)
    assert not list(tmp_path.iterdir())


MANY = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pbt.envs.doom.game import make
games = [make() for _ in range(24)]
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda game: game.prepare(), games))
for game in games:
    assert game._engine is not None
    game.reset(1)
    game.close()
"""


@pytest.mark.slow
def test_engines_start_beside_each_other() -> None:
    """Threads start engines at the same time.

    When a start wrote a file that the fork of another start held open, init ended the process
    within a minute, in one run of two.
    """
    for _ in range(2):
        processes = [subprocess.Popen([sys.executable, "-c", MANY]) for _ in range(4)]
        assert [process.wait(120) for process in processes] == [0] * 4


STARTS = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
import vizdoom
from pbt.envs.doom.engine import launch

now, most = 0, 0

class Counted(vizdoom.DoomGame):
    def init(self):
        global now, most
        now += 1
        most = max(most, now)
        try:
            return super().init()
        finally:
            now -= 1

def start(number):
    game = Counted()
    game.load_config(str(Path(vizdoom.__file__).parent / "scenarios/basic.cfg"))
    game.set_window_visible(False)
    launch(game, Path(mkdtemp()))
    return game

with ThreadPoolExecutor(4) as pool:
    for game in list(pool.map(start, range(4))):
        game.close()
print(most)
"""


@pytest.mark.parametrize(("threads", "together"), [(None, False), ("2", False), ("1", True)])
def test_engines_start_one_by_one_where_a_fork_would_meet_threads_of_blas(
    threads: str | None, together: bool, tmp_path: Path
) -> None:
    """Of eight engines that four threads started, some hung for ever in two of six processes."""
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    own = {key: value for key, value in os.environ.items() if key not in names}
    chosen = {} if threads is None else {"OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", STARTS],
        capture_output=True,
        text=True,
        timeout=120,
        env={**own, **chosen, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert (int(done.stdout) > 1) is together
