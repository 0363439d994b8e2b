"""Replays a stored game from its seed and its actions, and compares it with what was stored."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from arena.guests.program import FORFEIT_PREFIX
from arena.guests.tables import forfeit_places
from arena.league.game_names import NamedGame, no_actions
from arena.matches.game_boards import GameBoard, Square
from pbt.envs import registry
from pbt.envs.actions import GamePacking
from pbt.envs.contract import Action, Game, SeatTurn, env_error
from pbt.envs.measuring import as_played
from pbt.errors import EnvError, PlayerError
from pbt.sampling.openings import opening_action

TRAJECTORY_BYTES = 8


@dataclass(frozen=True, slots=True)
class Move:
    """One action of one seat, and what followed.

    step      number of the game's step, from 1; moves of a simultaneous game share one
    seat      the seat that acted
    action    as the game takes it
    name      the game's own name of the action; None where it has none
    square    the square on the board; None where actions name no squares
    opening   the action was drawn from the game's seed, not chosen by the player
    rewards   seat -> rewards of this step by reward term; empty but for the last move of a step
    board     the position after the step; None where it is not drawn, and before a step's last move
    """

    step: int
    seat: int
    action: Any
    name: str | None
    square: Square | None
    opening: bool
    rewards: Mapping[int, tuple[float, ...]]
    board: str | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A game that was played again.

    seat_names  as the game calls its seats
    terms       as the game calls its reward terms
    grid        (rows, columns) of the squares on its board; None where it has none
    in_a_row    how many equal marks in a line win; None where the game does not say so
    start       the position before the first move; None where the game is not drawn
    moves       in order
    problems    how the game differs from what is stored; empty when it does not
    """

    seat_names: tuple[str, ...]
    terms: tuple[str, ...]
    grid: tuple[int, int] | None
    in_a_row: int | None
    start: str | None
    moves: tuple[Move, ...]
    problems: tuple[str, ...]


def replay(named: NamedGame, *, allow_files: bool = False) -> Replay:
    """Play a stored game again. allow_files: also a game from a file of the local user's.

    Raises: PlayerError for a game that cannot be replayed, EnvError for a game whose code raises or
    may not be run.
    """
    spec = registry.spec(named.env_name, allow_files=allow_files, options=named.env_options)
    if (why := no_actions(named)) is not None:
        raise PlayerError(why)
    if not as_played(spec, named.env_options).replayable:
        reason = (
            f"seed and actions do not give the same game again in {named.env_name}, so "
            "it cannot be replayed"
        )
        raise PlayerError(
            f"game {named.name}: {reason}; `arena films NAME` shows the games that were filmed "
            "while they were played"
        )
    with closing(spec.make(**named.env_options)) as game:
        return _Replayer(named, game, GameBoard(spec, game)).play()


def played_again(named: NamedGame, game: Game) -> tuple[str, ...]:
    """How a stored game differs when it is played again; () where it does not. Nothing is drawn.

    game: the environment, made with the options of the stored game; it may have played others.
    Raises: EnvError for a game whose code raises.
    """
    return _Replayer(named, game, None).play().problems


class _Mismatch(Exception):
    """The stored actions are not those of this game."""


class _Replayer:
    def __init__(self, named: NamedGame, game: Game, board: GameBoard | None) -> None:
        """board: draws the positions; None: no move is noted, only counted."""
        self._named, self._record, self._game = named, named.record, game
        self._packing = GamePacking.of(game)
        self._board = board
        self._returns = [0.0] * len(game.seat_names)
        self._moves: list[Move] = []
        self._decisions = 0
        # The seats whose action is missing where a forfeited game ends.
        self._owing: set[int] = set()
        self._opened_wrongly: list[str] = []

    @property
    def _forfeited(self) -> bool:
        return self._record.end_reason.startswith(FORFEIT_PREFIX)

    def play(self) -> Replay:
        problems: list[str] = []
        digest = hashlib.blake2b(
            self._record.actions or b"", digest_size=TRAJECTORY_BYTES
        ).hexdigest()
        if digest != self._record.trajectory_hash:
            problems.append(
                f"trajectory hash: the stored actions have {digest}, the game was stored with "
                f"{self._record.trajectory_hash}"
            )
        turns = self._call("reset", lambda: self._game.reset(self._record.seed))
        start = None if self._board is None else self._board.position(turns)
        try:
            self._play_on(turns)
            problems += self._differences()
        except _Mismatch as mismatch:
            problems.append(str(mismatch))
        problems += self._opened_wrongly
        board = self._board
        return Replay(
            self._game.seat_names,
            self._game.reward_terms,
            None if board is None else board.size,
            None if board is None else board.in_a_row,
            start,
            tuple(self._moves),
            tuple(problems),
        )

    def _play_on(self, turns: Sequence[SeatTurn]) -> None:
        """Raises: _Mismatch when the actions do not fit the game."""
        try:
            actions = self._packing.unpack(self._record.actions or b"")
        except (IndexError, ValueError):
            raise _Mismatch(
                f"actions: {len(self._record.actions or b'')} bytes that are no list of "
                "seats and choices of this game"
            ) from None
        at = step = 0
        while due := {turn.seat: turn for turn in turns if not turn.over}:
            chosen = dict(actions[at : at + len(due)])
            if self._forfeited and len(actions) < at + len(due) and set(chosen) < set(due):
                self._check_legal(step + 1, due, chosen)
                self._note(step + 1, chosen, self._named_by(chosen), (), opening=False)
                self._owing = set(due) - set(chosen)
                return
            if set(chosen) != set(due):
                raise _Mismatch(
                    f"step {step + 1}: seats {sorted(due)} are due, the stored actions are "
                    f"of seats {sorted(chosen)}"
                )
            self._check_legal(step + 1, due, chosen)
            opening = step < self._record.opening_plies
            if opening and not self._opened_wrongly:
                self._opened_wrongly = self._wrong_opening(step, due, chosen)
            at, step, names = at + len(due), step + 1, self._named_by(chosen)
            turns = self._call("step", lambda chosen=chosen: self._game.step(chosen))
            self._note(step, chosen, names, turns, opening)
        if self._forfeited:
            raise _Mismatch(f"step {step}: the game is over, and stored as forfeited")
        if at < len(actions):
            raise _Mismatch(
                f"step {step}: the game is over, {len(actions) - at} stored actions are left"
            )

    def _check_legal(
        self, step: int, due: Mapping[int, SeatTurn], chosen: Mapping[int, Action]
    ) -> None:
        for seat, action in chosen.items():
            if not self._packing.specs[seat].is_legal(action, due[seat].mask):
                raise _Mismatch(
                    f"step {step}: action {list(action)} of seat {seat} is not legal there"
                )

    def _wrong_opening(
        self, ply: int, due: Mapping[int, SeatTurn], chosen: Mapping[int, Action]
    ) -> list[str]:
        """How an opening ply differs from what the game's seed draws; [] where it does not."""
        drawn = {
            seat: opening_action(
                self._record.seed, ply, seat, due[seat].mask, self._packing.specs[seat]
            )
            for seat in chosen
        }
        return [
            f"opening: step {ply + 1} of seat {seat} stored as {list(action)}, the seed draws "
            f"{list(drawn[seat])}"
            for seat, action in chosen.items()
            if action != drawn[seat]
        ]

    def _named_by(self, chosen: Mapping[int, Action]) -> dict[int, str | None]:
        if self._board is None:
            return {}
        return {seat: self._board.action_name(seat, action) for seat, action in chosen.items()}

    def _note(
        self,
        step: int,
        chosen: Mapping[int, Action],
        names: Mapping[int, str | None],
        turns: Sequence[SeatTurn],
        opening: bool,
    ) -> None:
        rewards = {turn.seat: tuple(float(reward) for reward in turn.rewards) for turn in turns}
        for seat, terms in rewards.items():
            self._returns[seat] += terms[0]
        self._decisions += len(chosen)
        if self._board is None:
            return
        last, board = list(chosen)[-1] if chosen else None, self._board.position(turns)
        for seat, action in chosen.items():
            self._moves.append(
                Move(
                    step,
                    seat,
                    self._packing.specs[seat].decode(action),
                    names[seat],
                    self._board.square(action),
                    opening,
                    rewards if seat == last else {},
                    board if seat == last else None,
                )
            )

    def _differences(self) -> list[str]:
        """How the replayed game differs from the stored one; one text for each difference."""
        record = self._record
        ranking, reason = self._ending()
        pairs = (
            ("places", tuple(seat.place for seat in record.seats), ranking),
            ("returns", tuple(seat.returns for seat in record.seats), tuple(self._returns)),
            ("decisions", record.steps, self._decisions),
            ("end", record.end_reason, reason),
        )
        return [
            f"{name}: stored {stored}, replayed {replayed}"
            for name, stored, replayed in pairs
            if stored != replayed
        ]

    def _ending(self) -> tuple[tuple[int, ...], str]:
        """(places, reason) of the replayed game.

        Raises: _Mismatch when a forfeited game ends where no guest is due to act.
        """
        if not self._forfeited:
            outcome = self._call("outcome", self._game.outcome)
            return tuple(outcome.ranking), outcome.reason
        seats = self._record.seats
        guests = [seat for seat in self._owing if seats[seat].player.kind == "guest"]
        if not guests:
            raise _Mismatch(
                f"end: the game is stored as forfeited, but the seats {sorted(self._owing)}, "
                "which are due, are no guest's"
            )
        guilty = max(guests, key=lambda seat: seats[seat].place)
        return forfeit_places(len(seats), guilty), self._record.end_reason

    def _call(self, what: str, call: Any) -> Any:
        try:
            return call()
        except EnvError:
            raise
        except Exception as error:
            raise env_error(
                self._named.env_name, self._record.seed, self._decisions, what, error
            ) from error
