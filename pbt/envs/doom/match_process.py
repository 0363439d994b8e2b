"""The process of one match: its engines, a thread for each, and nothing else.

match_link starts it as `python -P -m pbt.envs.doom.match_process PLAN`. It is a process of its own,
since a process can be ended: ViZDoom waits for engines without limit, and ends its own process
where an engine ends while it starts. Commands come as (letter, number). Answers are one byte; the
first one says that this process is there.

S  start the engines, with a seed of `number`; comes once, first
N  new game, without action up to tic `number`
B  a bot of the next game has the skill `number`; once for each bot, before N
P  `number` tics with the buttons that stand in the shared memory

Whatever goes wrong is answered by "!" and a text, and ends the process and its engines.
"""

import json
import os
import queue
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from pbt.envs.doom.engine import cpu_clock, engine_pid, launch, load_vizdoom
from pbt.envs.doom.launcher import ENGINE_LOG
from pbt.envs.doom.match_bots import MatchBots
from pbt.envs.doom.match_memory import MatchMemory
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.network_ports import Port, take_port, waiting_bytes
from pbt.envs.doom.scene import configure_scene
from pbt.envs.doom.screen import ScreenSampler
from pbt.processes.tie_to_parent import die_with_parent

COMMAND = struct.Struct("=ci")
DONE, FAILED = b".", b"!"
_HOST = (
    "-deathmatch -nomonsters +timelimit 0 +fraglimit 0 +sv_forcerespawn 1 +sv_noautoaim 1 "
    "+sv_spawnfarthest 1 +sv_itemrespawn 1 +sv_nocrouch 1"
    " +sv_nojump 1 +sv_nofreelook 1 +sv_noexit 1"
)
# Players are numbered in the order in which they join, so each waits for the one before.
_JOIN_S, _LOOK_S = 5.0, 0.002
# Seconds of computing by a guest that waits in its loop. After the first it has sent its command,
# if it has one for this tic; after the second it has looked for the host's. On a virtual machine
# whose processor is taken away, that time counts as computing: with 3 ms to send, up to a quarter
# of the duels on a loaded machine had a command a tic late. Nearly all tics have a command, so the
# first limit costs nothing.
_SENT_CPU_S, _LOOKED_CPU_S = 30e-3, 50e-6
_GLANCE_S = 50e-6

Fail = Callable[[BaseException], NoReturn]


class SeatThreads:
    """Does the same with every seat at once.

    The calling thread works for the first seat, one more thread for each other seat.
    """

    def __init__(self, seats: int, fail: Fail) -> None:
        """Start the threads.

        fail  called with an error of any thread, since the others may wait for that seat for ever
        """
        self._fail = fail
        self._tasks: list[queue.SimpleQueue[Callable[[int], None]]] = [
            queue.SimpleQueue() for _ in range(1, seats)
        ]
        self._done: queue.SimpleQueue[None] = queue.SimpleQueue()
        for seat, tasks in enumerate(self._tasks, start=1):
            threading.Thread(target=self._work, args=(seat, tasks), daemon=True).start()

    def together(
        self, task: Callable[[int], None], begun: Callable[[], None] = lambda: None
    ) -> None:
        """Call task(seat) for all seats, the first one last, and return when every call is done.

        begun  called after each of the other threads was told to begin
        """
        for tasks in self._tasks:
            tasks.put(task)
            begun()
        self._do(task, 0)
        for _ in self._tasks:
            self._done.get()

    def _work(self, seat: int, tasks: "queue.SimpleQueue[Callable[[int], None]]") -> None:
        while True:
            self._do(tasks.get(), seat)
            self._done.put(None)

    def _do(self, task: Callable[[int], None], seat: int) -> None:
        try:
            task(seat)
        except BaseException as error:  # noqa: BLE001  no caller is left to raise to
            self._fail(error)


class Engines:
    """The engines of a match, in step with each other."""

    def __init__(
        self, options: MatchOptions, memory: MatchMemory, measured: Sequence[str], fail: Fail
    ) -> None:
        vizdoom = load_vizdoom()
        self._options, self._memory = options, memory
        self._variables = [getattr(vizdoom.GameVariable, name) for name in measured]
        self._sampler = ScreenSampler(
            options.screen_size, (options.height, options.width), channels=3
        )
        self._none = [0.0] * len(options.button_names)
        self._games = [self._described() for _ in range(options.players)]
        self._crew = SeatThreads(options.players, fail)
        self._port, self.bots = take_port(), MatchBots(options)
        for seat, game in enumerate(self._games):
            game.add_game_args(_arguments(options, seat, self._port, self.bots.file))

    def start(self, seed: int, folder: Path, preload: Path | None) -> None:
        """Start all engines and let them meet.

        preload  the library that keeps them in step; None: this process does
        """
        self._free = preload is not None or self._options.players == 1
        self._guest_clock: int | None = None
        # With more players the order would cost more than it is worth: each guest has to be let in
        # among engines that wait without sleeping.
        self._begun = self._wait_for_guest if self._options.players == 2 else lambda: None

        def start(seat: int) -> None:
            if seat > 1:
                _wait_for_words(folder / "seat0" / ENGINE_LOG, f"Got connect from node {seat - 1}")
            own = folder / f"seat{seat}"
            own.mkdir()
            # A running engine takes no other seed.
            self._games[seat].set_seed(seed)
            launch(self._games[seat], own, preload)

        self._crew.together(start)

    def new_game(self, warmup_tics: int) -> None:
        self._crew.together(lambda seat: self._games[seat].new_episode())
        for command in self.bots.commands():
            self._games[0].send_game_command(command)
        self._play(
            max(1, warmup_tics - self._games[0].get_episode_time()),
            [self._none] * self._options.players,
        )

    def play(self, tics: int) -> None:
        self._play(tics, self._memory.pressed.tolist())

    def _play(self, tics: int, pressed: list[list[float]]) -> None:
        if self._free:
            self._crew.together(lambda seat: self._act(seat, pressed[seat], tics))
            return
        self._crew.together(lambda seat: self._games[seat].set_action(pressed[seat]))
        for _ in range(1, tics):
            self._crew.together(
                lambda seat: self._games[seat].advance_action(1, False), self._begun
            )
            if self._games[0].is_episode_finished():
                self._crew.together(self._observe)
                return
        self._crew.together(self._last_tic, self._begun)

    def _wait_for_guest(self) -> None:
        """Wait until the guest has sent its command of this tic and looked for the host's.

        The host has not begun the tic. A guest that finds the host's command first adapts its clock
        and acts a tic later; some tics on it sends none, and is back where it was. It looks right
        after it has sent, but other work on the machine may come between: it has looked when it has
        computed for long enough.

        Raises: OSError when there is no guest any more.
        """
        told_s = self._guest_cpu_s()
        while not waiting_bytes(self._port.number) and self._guest_cpu_s() - told_s < _SENT_CPU_S:
            time.sleep(_GLANCE_S)
        sent_s = self._guest_cpu_s()
        while self._guest_cpu_s() - sent_s < _LOOKED_CPU_S:
            time.sleep(_GLANCE_S)

    def _guest_cpu_s(self) -> float:
        if self._guest_clock is None:
            self._guest_clock = cpu_clock(engine_pid(self._games[1].get_instance_id()))
        return time.clock_gettime(self._guest_clock)

    def _act(self, seat: int, pressed: list[float], tics: int) -> None:
        self._games[seat].make_action(pressed, tics)
        self._observe(seat)

    def _last_tic(self, seat: int) -> None:
        self._games[seat].advance_action(1, True)
        self._observe(seat)

    def _observe(self, seat: int) -> None:
        game, memory = self._games[seat], self._memory
        # ViZDoom makes no state for tics that are not drawn, and keeps the one before.
        state = None if game.is_episode_finished() else game.get_state()
        memory.over[seat] = state is None
        memory.tics[seat] = game.get_episode_time()
        if state is None:
            memory.measured[seat] = [
                game.get_game_variable(variable) for variable in self._variables
            ]
        else:
            memory.measured[seat] = state.game_variables
            memory.screens[seat] = self._sampler.sample(state.screen_buffer)

    def _described(self) -> Any:
        vizdoom, options = load_vizdoom(), self._options
        game = vizdoom.DoomGame()
        configure_scene(game, options)
        # The table counts the time, since engines that counted it could disagree.
        game.set_episode_timeout(0)
        game.set_episode_start_time(1)
        game.set_available_buttons([getattr(vizdoom.Button, name) for name in options.button_names])
        game.set_available_game_variables(self._variables)
        game.set_render_hud(options.hud)
        return game


def _arguments(options: MatchOptions, seat: int, port: Port, bots: int | None) -> str:
    """Arguments of an engine's command line."""
    own = (
        f"+viz_connect_timeout {int(options.start_limit_s) + 1} +name P{seat + 1} "
        f"+colorset {seat % 8}"
    )
    if seat > 0:
        return f"-join 127.0.0.1:{port.number} {own}"
    path = "" if bots is None else f" +viz_bots_path /proc/{os.getpid()}/fd/{bots}"
    protection = " +sv_respawnprotect 1" if options.spawn_protection else ""
    return (
        f"-host {options.players} -port {port.number} {_HOST}{protection} +viz_respawn_delay "
        f"{options.respawn_delay_s} {own}{path}"
    )


def _wait_for_words(log: Path, words: str) -> None:
    """Wait until an engine printed the words, or for long enough.

    A wrong order of the players does no harm; it is only another one in the next match.
    """
    deadline = time.monotonic() + _JOIN_S
    while time.monotonic() < deadline and not (
        log.exists() and words in log.read_text(encoding="utf-8", errors="replace")
    ):
        time.sleep(_LOOK_S)


class Reply:
    """Answers the table."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def done(self) -> None:
        self._link.sendall(DONE)

    def failed(self, error: BaseException) -> NoReturn:
        """Tell the table why, and end the process, whatever its other threads do."""
        self._link.sendall(FAILED + f"{type(error).__name__}: {error}".encode())
        os._exit(1)


def keep_descriptors() -> None:
    """Keep engines from inheriting descriptors.

    `strays` knows by the closing of one of them that this process and its table's are gone.
    """
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2:
            with suppress(OSError):
                os.set_inheritable(number, False)


def main(plan: dict[str, Any]) -> None:
    die_with_parent()
    if os.getppid() != plan["parent"]:
        return
    # These signals are for the program. A core dump of this process, which ViZDoom's fault would
    # leave, is of no use.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    keep_descriptors()
    link = socket.socket(fileno=plan["socket"])
    reply = Reply(link)
    options = MatchOptions(**plan["options"])
    seen = (options.height, options.width)
    memory = MatchMemory(
        plan["memory"], options.players, len(options.button_names), len(plan["measured"]), seen
    )
    try:
        engines = Engines(options, memory, plan["measured"], reply.failed)
        folder, preload = Path(plan["folder"]), Path(plan["preload"]) if plan["preload"] else None
        commands = {
            b"S": lambda seed: engines.start(seed, folder, preload),
            b"B": engines.bots.add,
            b"N": engines.new_game,
            b"P": engines.play,
        }
        reply.done()
        while command := link.recv(COMMAND.size):
            letter, number = COMMAND.unpack(command)
            commands[letter](number)
            reply.done()
    except Exception as error:  # noqa: BLE001  it is told to the table
        reply.failed(error)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
