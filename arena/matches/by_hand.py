"""One game of a person against a player of the league, move by move.

It is played at the same tables as a match, and stored and rated like a game of any guest.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.guests.person import Person
from arena.guests.protocol import GuestFault
from arena.league.database import League
from arena.league.matches import PERSON_KEY
from arena.league.schema import match_game_key
from arena.league.store import store_played
from arena.matches.game_boards import GameBoard
from arena.matches.game_faults import GameFaults, faults_folder
from arena.matches.game_list import turn
from arena.matches.tables import FrozenTables, planned_game
from arena.players.resolve import (
    ResolvedPlayer,
    resolve_players,
    scripted_names,
)
from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Action, EnvSpec, Game, Outcome, SeatTurn
from pbt.errors import EnvError, PlayerError
from pbt.records import PlayerRef, is_voided
from pbt.transport.messages import GameEnd

Standing = dict[str, Any]
Hear = Callable[[], Mapping[str, Any]]
"""Waits for the person's next message: {"action": 3, "at": moves so far}, or {"resign": true}.

Raises: Silence.
"""


class Silence(Exception):
    """The person has sent nothing for longer than allowed. Its text says for how long."""


class Dropped(Exception):
    """The person left before their first move, so nothing is stored. Its text says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """A person's wish for one game.

    id        identifies the game by hand; it is never used again
    opponent  a player's name, as `arena match` takes it
    env       the game, for an opponent that was not trained; else None
    name      the person's name
    seat      the person's seat, 0 or 1
    seed      of the game
    """

    id: str
    opponent: str
    env: str | None
    name: str
    seat: int
    seed: int


class ToldGame:
    """A game that also records its moves; everything else is passed on to the wrapped game.

    board  draws its positions
    start  the position before the first move
    moves  of each move: seat, action, its name and square, and the position after it
    """

    def __init__(self, spec: EnvSpec, game: Game) -> None:
        self._game, self.board = game, GameBoard(spec, game)
        self.roles, self.seat_names = game.roles, game.seat_names
        self.seat_roles, self.reward_terms = game.seat_roles, game.reward_terms
        self.start: str | None = None
        self.moves: list[dict[str, Any]] = []

    def reset(self, seed: int) -> list[SeatTurn]:
        turns = self._game.reset(seed)
        self.start, self.moves = self.board.position(turns), []
        return turns

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        ((seat, action),) = actions.items()
        move = {"seat": seat, **self.described(seat, action[0])}
        turns = self._game.step(actions)
        self.moves.append({**move, "board": self.board.position(turns)})
        return turns

    def described(self, seat: int, action: int) -> dict[str, Any]:
        """The action, its name and its square. seat: the one whose turn it is."""
        return {
            "action": action,
            "name": self.board.action_name(seat, (action,)),
            "square": self.board.square((action,)),
        }

    def outcome(self) -> Outcome:
        return self._game.outcome()

    def close(self) -> None:
        self._game.close()


class HandGame:
    """One game of a person against a player.

    request  what the person asked for
    data     the data directory
    league   takes the finished game
    say      sends a message to the person
    hear     waits for the person's next message
    Raises: PlayerError for players who cannot meet at a board.
    """

    def __init__(
        self,
        request: Request,
        data: Path,
        league: League,
        say: Callable[[Standing], None],
        hear: Hear,
    ) -> None:
        self._request, self._league, self._say, self._hear = request, league, say, hear
        self._spec, (opponent,) = resolve_players([request.opponent], data, request.env)
        if request.name in scripted_names(self._spec):
            raise PlayerError(
                f"name {request.name!r}: {opponent.env_name} has a scripted player of that name; "
                "choose another name"
            )
        person = ResolvedPlayer(
            PlayerRef("guest", request.name), request.name, opponent.env_name, opponent.env_options
        )
        self._players = (person, opponent)
        self._sitting = (0, 1) if request.seat == 0 else (1, 0)
        self._told = self._new_game()
        check_board(self._told, opponent, 1 - request.seat)

    def _new_game(self, **_: Any) -> ToldGame:
        self._told = ToldGame(self._spec, self._spec.make(**self._players[0].env_options))
        return self._told

    def play(self) -> None:
        """Play to the end, store the game and tell the person its result.

        Raises: Dropped, EnvError for a game that raises, SnapshotError for unusable weights.
        """
        seed = self._request.seed
        game_plan = planned_game(self._sitting, 0, seed, ("person", seed), record_actions=True)
        planned = iter([game_plan])
        spec, person = replace(self._spec, make=self._new_game), Person(self._choose)
        faults = GameFaults(faults_folder((), self._league), self._spec, self._players[0])
        tables = FrozenTables(
            spec,
            self._told,
            self._players,
            1,
            seed,
            lambda: next(planned, None),
            faults,
            person,
        )
        # After a forfeit the table makes itself a new game, which then stands in self._told.
        game = self._told
        with closing(tables):
            while not (ended := turn(tables)):
                pass
        (end,) = ended
        if is_voided(end.reason):
            fault = faults.take(end.plan.game_count)
            raise EnvError(end.reason + ("" if fault is None else f"; {fault.words}"))
        self._say(self._standing("over", game, result=self._stored(end)))

    def _choose(self, legal: Sequence[int]) -> int:
        """The person's move; they are asked again until it is legal.

        Raises: GuestFault when the person gives up, Dropped when they do so before their first
        move.
        """
        game, seat = self._told, self._request.seat
        self._say(
            self._standing("turn", game, legal=[game.described(seat, action) for action in legal])
        )
        while True:
            try:
                message = self._hear()
            except Silence as silence:
                raise self._leaving(str(silence)) from silence
            if message.get("resign"):
                raise self._leaving("resigned")
            refused = refusal(message, legal, len(game.moves))
            if refused is None:
                return int(message["action"])
            self._say(refused)

    def _leaving(self, why: str) -> GuestFault | Dropped:
        begun = any(move["seat"] == self._request.seat for move in self._told.moves)
        words = f"{self._request.name} {why}"
        return (
            GuestFault(words)
            if begun
            else Dropped(f"{words} before their first move; nothing is stored")
        )

    def _standing(
        self, state: str, game: ToldGame, *, legal: Sequence[Any] = (), result: Any = None
    ) -> Standing:
        seats = [
            {
                "seat": name,
                "player": self._players[player].label,
                "kind": self._players[player].ref.kind,
                "id": self._players[player].ref.name,
            }
            for name, player in zip(game.seat_names, self._sitting, strict=True)
        ]
        return {
            "type": "standing",
            "state": state,
            "env": self._players[1].env_name,
            "seats": seats,
            "grid": game.board.size,
            "in_a_row": game.board.in_a_row,
            "start": game.start,
            "moves": list(game.moves),
            "legal": legal,
            "result": result,
        }

    def _stored(self, end: GameEnd) -> dict[str, Any]:
        """Store a match of one game. Returns its result, as the person is told it.

        Beginning and end are one transaction, so an interrupted write leaves nothing behind.
        """
        opponent, seed = self._players[1], self._request.seed
        # Without the request's id two games from one seed would count as one piece of evidence.
        settings = {
            "greedy": False,
            "opening_plies": 0,
            "paired": False,
            "batch": 1,
            PERSON_KEY: self._request.id,
        }
        refs = [player.ref for player in self._players]
        match = store_played(
            self._league,
            opponent.env_name,
            opponent.env_options,
            refs,
            seed,
            settings,
            [end.record(0)],
        )
        places = [seat.place for seat in end.seats]
        return {
            "places": places,
            "reason": end.reason,
            "match": str(match.id),
            "game": str(match_game_key(match.id, 0)),
        }


def check_board(game: ToldGame, opponent: ResolvedPlayer, seat: int) -> None:
    """Check that the game is played at a board, by two. seat: the opponent's.

    Raises: PlayerError for other games, and for an opponent that cannot take the seat.
    """
    name = opponent.env_name
    if len(game.seat_names) != 2:
        raise PlayerError(f"{name} has {len(game.seat_names)} seats; expected a board game of two")
    acting = [turn.seat for turn in game.reset(0) if not turn.over]
    if (
        game.start is None
        or len(acting) != 1
        or not all(ActionSpec.of(role.action_space).single_choice for role in game.roles)
    ):
        raise PlayerError(
            f"{name} has no board to play at; games that have one: connect_four, tictactoe, "
            "and games of OpenSpiel in which nothing is hidden"
        )
    role = game.roles[game.seat_roles[seat]].name
    if not opponent.plays(role):
        raise PlayerError(
            f"{opponent.label} plays {opponent.role}, and seat {seat} of {name} is {role}; "
            "take the other seat"
        )


def refusal(message: Mapping[str, Any], legal: Sequence[int], moves_made: int) -> Standing | None:
    """Why the message is no legal move now; None for one that is. moves_made: moves so far."""
    if message.get("at") != moves_made:
        return _refused(
            "conflict",
            (
                f"this move was chosen after {message.get('at')} moves, and {moves_made} have been "
                "made by now; look again"
            ),
        )
    if type(message.get("action")) is not int or message["action"] not in legal:
        return _refused(
            "invalid",
            (
                f"action {message.get('action')} is not legal now; expected one of "
                f"{', '.join(map(str, legal))}"
            ),
        )
    return None


def _refused(kind: str, detail: str) -> Standing:
    return {"type": "refused", "kind": kind, "detail": detail}
