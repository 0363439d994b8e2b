"""A guest at several tables at once: one process for each seat it sits in at the same time, used
again for later games.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.guests.process import GuestProcess, Question, ask_all, end_all
from arena.guests.program import START_TIMEOUT_S, GuestProgram, printable
from arena.guests.protocol import Action, GuestFault, hello, line, question, read_action, read_ready
from pbt.errors import PbtError
from pbt.transport.slab import RoleLayout

# So many forfeited games without one that was finished in between end the match.
MAX_FORFEITS = 3


class GuestError(PbtError):
    """A guest that cannot be played with: it does not start, or it keeps forfeiting."""

    exit_code = 3


@dataclass(frozen=True)
class SeatTaken:
    """A seat of a game. key: one for game and seat;  seed: for the guest's own random choices,
    says nothing about the game's.
    """

    key: int
    game: int
    seat: int
    seat_name: str
    seed: int


@dataclass
class _Seat:
    taken: SeatTaken
    process: GuestProcess | None = None
    moves: int = 0

    @property
    def where(self) -> str:
        return (
            f"game {self.taken.game}, seat {self.taken.seat} ({self.taken.seat_name}), "
            f"move {self.moves}"
        )


class GuestPlayer:
    """The processes of one guest in one role.

    `take` and `leave` frame a game of a seat; in between `act`. A fault costs the game; the process
    is ended, and the next game gets another one.
    """

    def __init__(
        self,
        program: GuestProgram,
        env: str,
        options: Mapping[str, Any],
        layout: RoleLayout,
        seats: int,
    ) -> None:
        self._program, self._leaves, self._head_sizes = program, layout.leaves, layout.head_sizes
        self._stops = np.cumsum(layout.head_sizes)[:-1]
        self._hello = line(
            hello(
                env,
                options,
                layout.role.name,
                seats,
                layout.leaves,
                layout.head_sizes,
                program.move_timeout_s,
            )
        )
        self._seats: dict[int, _Seat] = {}
        self._idle: list[GuestProcess] = []
        self._forfeits = 0

    def take(self, taken: SeatTaken) -> None:
        """A game begins in which the guest sits. Its process is started when it is first asked."""
        self._seats[taken.key] = _Seat(taken)

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """Ask in several games at once. observations: leaf name -> [N, *shape]; mask: [N, A].

        Returns for each of the N keys an action, or what was wrong with the answer.
        Raises: GuestError when the program cannot be started, or forfeited too many games in a row.
        """
        asked = [self._seats[key] for key in keys]
        self._start([seat for seat in asked if seat.process is None])
        questions, masks = [], []
        for row, seat in enumerate(asked):
            assert seat.process is not None
            masks.append(np.split(mask[row], self._stops))
            message = question(
                seat.moves,
                self._leaves,
                {name: leaf[row] for name, leaf in observations.items()},
                masks[-1],
            )
            questions.append(Question(seat.process, line(message), self._program.move_timeout_s))
        return [
            self._action(seat, said, own)
            for seat, said, own in zip(asked, ask_all(questions), masks, strict=True)
        ]

    def _start(self, seats: Sequence[_Seat]) -> None:
        """A process for each of these seats, which is told of the game."""
        fresh = []
        try:
            for seat in seats:
                if self._idle:
                    seat.process = self._idle.pop()
                else:
                    seat.process = GuestProcess(self._program)
                    fresh.append(seat.process)
            for process, said in zip(
                fresh,
                ask_all([Question(process, self._hello, START_TIMEOUT_S) for process in fresh]),
                strict=True,
            ):
                _check_ready(process, said)
        except GuestFault as fault:
            raise GuestError(f"guest {self._program.label} did not start: {fault}") from fault
        for seat in seats:
            assert seat.process is not None
            start = {
                "type": "game_start",
                "seat": seat.taken.seat,
                "seat_name": seat.taken.seat_name,
                "seed": seat.taken.seed,
                "game": seat.taken.game,
            }
            seat.process.tell(line(start))

    def _action(
        self, seat: _Seat, said: bytes | GuestFault, masks: Sequence[NDArray[np.bool_]]
    ) -> Action | GuestFault:
        try:
            if isinstance(said, GuestFault):
                raise said
            action = read_action(said, masks)
        except GuestFault as fault:
            assert seat.process is not None
            where = f"guest {self._program.label}, {seat.where}: {fault}"
            words = _words(seat.process)
            end_all([seat.process], 0.0)
            seat.process = None
            self._forfeits += 1
            if self._forfeits >= MAX_FORFEITS:
                raise GuestError(
                    f"{where}{words}\nThat is {MAX_FORFEITS} forfeited games in a row; mend "
                    "the program, or give it more time"
                ) from fault
            return GuestFault(where)
        seat.moves += 1
        return action

    def leave(self, key: int, result: Mapping[str, Any]) -> None:
        """The game is over. result: what the guest is told of it. The process stays for the next
        one.
        """
        seat = self._seats.pop(key)
        if seat.process is not None:
            seat.process.tell(line({"type": "game_end", **result}))
            self._idle.append(seat.process)
            self._forfeits = 0

    def close(self) -> None:
        """Let every process leave, and end those that do not."""
        end_all(
            [
                *self._idle,
                *(seat.process for seat in self._seats.values() if seat.process is not None),
            ]
        )
        self._seats, self._idle = {}, []


def _check_ready(process: GuestProcess, said: bytes | GuestFault) -> None:
    try:
        if isinstance(said, GuestFault):
            raise said
        read_ready(said)
    except GuestFault as fault:
        raise GuestFault(f"{fault}{_words(process)}") from fault


def _words(process: GuestProcess) -> str:
    """What it wrote to standard error, indented below the message."""
    words = process.last_words
    return (
        "\n  its last words on stderr:\n"
        + "\n".join(f"    {printable(text.expandtabs())}" for text in words.splitlines())
        if words
        else ""
    )
