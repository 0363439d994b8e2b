"""A guest at several tables at once: one process for each seat, reused for later games."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.guests.process import GuestProcess, Question, ask_all, end_all
from arena.guests.program import START_TIMEOUT_S, GuestProgram, printable
from arena.guests.protocol import GuestFault, hello, line, question, read_action, read_ready
from pbt.envs.contract import Action
from pbt.errors import PbtError
from pbt.transport.slab import RoleLayout

# This many forfeited games in a row, without a finished one in between, end the match.
MAX_FORFEITS = 3


class GuestError(PbtError):
    """A guest cannot play: its program does not start, or it keeps forfeiting."""

    exit_code = 3


@dataclass(frozen=True)
class SeatTaken:
    """A seat of a game that a guest takes.

    key        identifies game and seat
    game       number of the game
    seat       index of the seat
    seat_name  the game's name of the seat
    seed       for the guest's own random choices; it does not reveal the game's seed
    """

    key: int
    game: int
    seat: int
    seat_name: str
    seed: int


@dataclass
class _Seat:
    """A seat that the guest sits in, its process once it was asked, and its moves so far."""

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

    A game of a seat begins with `take` and ends with `leave`; `act` asks in between. A fault costs
    the game: the process is ended, and the next game gets a new one.
    """

    def __init__(
        self,
        program: GuestProgram,
        env: str,
        options: Mapping[str, Any],
        layout: RoleLayout,
        seats: int,
    ) -> None:
        self._program, self._leaves = program, layout.leaves
        self._actions = layout.actions
        self._hello = line(
            hello(
                env,
                options,
                layout.role.name,
                seats,
                layout.leaves,
                layout.actions,
                program.move_timeout_s,
            )
        )
        self._seats: dict[int, _Seat] = {}
        self._idle: list[GuestProcess] = []
        self._forfeits = 0

    def take(self, taken: SeatTaken) -> None:
        """Begins a game of the guest. Its process is started with the first question."""
        self._seats[taken.key] = _Seat(taken)

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """Asks in several games at once: for each of the N keys, an action or the answer's fault.

        keys          [N] of seats
        observations  leaf name -> [N, *shape]
        mask          [N, A] legal actions
        Raises: GuestError when the program cannot be started, or forfeited too many games in a row.
        """
        seats = [self._seats[key] for key in keys]
        self._start([seat for seat in seats if seat.process is None])
        questions = []
        for row, seat in enumerate(seats):
            assert seat.process is not None
            message = question(
                seat.moves,
                self._leaves,
                {name: leaf[row] for name, leaf in observations.items()},
                self._actions,
                mask[row],
            )
            questions.append(Question(seat.process, line(message), self._program.move_timeout_s))
        return [
            self._action(seat, answer, own)
            for seat, answer, own in zip(seats, ask_all(questions), mask, strict=True)
        ]

    def _start(self, seats: Sequence[_Seat]) -> None:
        """Gives each of these seats a process and tells it that the game begins."""
        fresh = []
        try:
            for seat in seats:
                if self._idle:
                    seat.process = self._idle.pop()
                else:
                    seat.process = GuestProcess(self._program)
                    fresh.append(seat.process)
            for process, answer in zip(
                fresh,
                ask_all([Question(process, self._hello, START_TIMEOUT_S) for process in fresh]),
                strict=True,
            ):
                _check_ready(process, answer)
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
        self, seat: _Seat, answer: bytes | GuestFault, mask: NDArray[np.bool_]
    ) -> Action | GuestFault:
        try:
            if isinstance(answer, GuestFault):
                raise answer
            action = read_action(answer, self._actions, mask)
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
        """Ends a game of the guest; its process stays for the next one.

        result  what the guest is told about the game
        """
        seat = self._seats.pop(key)
        if seat.process is not None:
            seat.process.tell(line({"type": "game_end", **result}))
            self._idle.append(seat.process)
            self._forfeits = 0

    def close(self) -> None:
        """Lets every process end by itself, and ends those that do not."""
        end_all(
            [
                *self._idle,
                *(seat.process for seat in self._seats.values() if seat.process is not None),
            ]
        )
        self._seats, self._idle = {}, []


def _check_ready(process: GuestProcess, answer: bytes | GuestFault) -> None:
    try:
        if isinstance(answer, GuestFault):
            raise answer
        read_ready(answer)
    except GuestFault as fault:
        raise GuestFault(f"{fault}{_words(process)}") from fault


def _words(process: GuestProcess) -> str:
    """The end of the program's standard error, indented for use below a message."""
    words = process.last_words
    return (
        "\n  its last words on stderr:\n"
        + "\n".join(f"    {printable(text.expandtabs())}" for text in words.splitlines())
        if words
        else ""
    )
