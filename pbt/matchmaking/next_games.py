"""The next games of many tables at once, as a function of the roster, the tables and their counts.

A training game is drawn around a learning member, an evaluation game from frozen players only.
`pbt/matchmaking/past.py` has the probabilities of snapshots. A draw follows from (run seed, what it
is for, table, count) alone, so nothing depends on the order in which games end. Tables of one block
draw the same players, but other seeds and openings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbt.config.population import MatchmakingConfig
from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.matchmaking.past import UNKNOWN, WEIGHTS, past_probabilities
from pbt.matchmaking.roster import Roster
from pbt.matchmaking.seats import evaluation_draws, past_candidates
from pbt.records import PlayerRef
from pbt.seeding import counted, game_seeds, integer, uniforms

Integers = NDArray[np.int64]
Uniforms = NDArray[np.float64]


@dataclass(frozen=True)
class GameFacts:
    """What must be known of the game to seat players.

    seat_roles       role name of every seat
    role_index       index of every role by its name
    random_openings  whether evaluation games begin with random moves
    scripted         names of the game's scripted players
    self_play        whether evaluation games also show how a player does with copies of itself
    shared_tables    whether all members play at all tables, also where a game has one seat
    """

    seat_roles: tuple[str, ...]
    role_index: dict[str, int]
    random_openings: bool
    scripted: tuple[str, ...]
    self_play: bool = False
    shared_tables: bool = False


class Lineup(NamedTuple):
    """The players of a training game.

    number   of these players in this order, while the roster stays
    players  one for each seat
    """

    number: int
    players: tuple[PlayerRef, ...]


class NextGame(NamedTuple):
    """One game, of training or of evaluation, as it follows from roster, table and count.

    number   the running number of the game at its table
    seed     of the game's own chance
    opening  how many random decisions the game begins with
    lineup   of a training game; None in an evaluation game
    draws    of an evaluation game, which `seat_evaluation_game` seats when it begins
    """

    number: int
    seed: int
    opening: int
    lineup: Lineup | None
    draws: Sequence[float]


class NextGames:
    """Plans games by one roster."""

    def __init__(self, config: RunConfig, facts: GameFacts, roster: Roster, tables: int) -> None:
        """tables: of the whole run."""
        self._config, self._facts = config, facts
        self._players = integer(config.seed, "players", bits=64)
        self._openings = integer(config.seed, "openings", bits=64)
        seats = facts.seat_roles
        self._training: TrainingSeats | None = None
        self._share = 1.0
        if roster.learning:
            dealt = 0 if facts.shared_tables else tables
            self._training = TrainingSeats(seats, roster, config.matchmaking, dealt)
            frozen = any(entry.role in seats for entry in roster.snapshots)
            self._share = roster.evaluation_share if frozen else 0.0

    def plan(self, tables: Integers, counts: Integers) -> list[NextGame]:
        """The games of N tables, each with a count of its own. tables, counts: [N]."""
        config, seats = self._config, len(self._facts.seat_roles)
        block = config.sampling.seat_block
        needed = 1 + max(1 + 2 * seats, evaluation_draws(seats))
        drawn = uniforms(counted(self._players, tables // block * block, counts, needed))
        evaluation = drawn[:, 0] < self._share
        if config.sampling.decorrelation_steps and self._training is not None:
            # The first game of a table sets it apart from the others, which a training game may.
            evaluation &= counts > 0
        lineups: Sequence[Lineup | None] = [None] * len(tables)
        if self._training is not None:
            lineups = self._training.seat(drawn[:, 1:], tables)
        columns = zip(
            counts.tolist(),
            game_seeds(config.seed, tables, counts).tolist(),
            self._opening_plies(tables, counts, evaluation).tolist(),
            lineups,
            [()] * len(tables),
            strict=True,
        )
        games = list(map(NextGame._make, columns))
        for game in np.flatnonzero(evaluation).tolist():
            draws = drawn[game, 1:].tolist()
            games[game] = games[game]._replace(lineup=None, draws=draws)
        return games

    def _opening_plies(
        self, tables: Integers, counts: Integers, evaluation: NDArray[np.bool_]
    ) -> Integers:
        config = self._config
        drawn = uniforms(counted(self._openings, tables, counts, 1))[:, 0]
        training = (drawn * (config.sampling.opening_plies + 1)).astype(np.int64)
        fixed = config.evaluation.opening_plies if self._facts.random_openings else 0
        return np.where(evaluation, fixed, training)


class TrainingSeats:
    """Seats training games by one roster.

    One seat, drawn uniformly from those whose role has a learning member, gets a learning member.
    Every other seat gets a snapshot, or uniformly a live member, of its role (perhaps the same one
    again).
    """

    def __init__(
        self, seat_roles: Sequence[str], roster: Roster, config: MatchmakingConfig, tables: int
    ) -> None:
        """tables: of the whole run, to be dealt out to members; 0: all are shared.

        Raises: EngineError when no member learns, or a role has neither members nor snapshots.
        """
        self._roles, self._share, self._tables = tuple(seat_roles), config.past_share, tables
        members, snapshots = roster.members, roster.snapshots
        self._refs = [PlayerRef("member", entry.name) for entry in members]
        self._refs += [PlayerRef("snapshot", entry.snapshot_id) for entry in snapshots]
        self._lineups: dict[tuple[int, ...], Lineup] = {}
        self._learning = np.array([entry.learning for entry in members], np.bool_)
        self._live: dict[str, Integers] = {}
        self._past: dict[str, Integers] = {}
        self._edges: dict[str, Uniforms] = {}
        places = {entry.snapshot_id: len(members) + n for n, entry in enumerate(snapshots)}
        for role in set(seat_roles):
            live = [number for number, entry in enumerate(members) if entry.role == role]
            ids = past_candidates(snapshots, role, config)
            self._live[role] = np.array(live, np.int64)
            self._past[role] = np.array([places[one] for one in ids], np.int64)
            if ids and config.past_mode in WEIGHTS:
                chances = [
                    past_probabilities(
                        [roster.win_rates.get(one, {}).get(entry.name, UNKNOWN) for one in ids],
                        config,
                    )
                    for entry in members
                ]
                self._edges[role] = np.cumsum(np.array(chances), axis=1)
        self._learners = {role: live[self._learning[live]] for role, live in self._live.items()}
        open_seats = [seat for seat, role in enumerate(seat_roles) if len(self._learners[role])]
        if not open_seats:
            raise EngineError(
                f"no learning member for any of the roles {sorted(self._learners)}: a training "
                "game needs one"
            )
        self._open = np.array(open_seats, np.int64)
        self._check_seats()

    def _check_seats(self) -> None:
        """Refuse a seat that only the learning member of another seat keeps from being empty."""
        for seat, role in enumerate(self._roles):
            others = self._open.tolist() != [seat]
            if others and not len(self._live[role]) and not len(self._past[role]):
                raise EngineError(
                    f'seat {seat} cannot be filled: role "{role}" has neither live members nor '
                    "snapshots"
                )

    def owned(self, tables: Integers) -> Integers:
        """The learning member that owns each table, [N]; -1 where none does.

        In games with one seat players do not meet. There every member owns equally many
        neighbouring tables, so that few processes act for it, in large batches. Tables that are
        left over, those of members that do not learn, and shared ones have no owner.
        """
        none = np.full(len(tables), -1, np.int64)
        if len(self._roles) > 1:
            return none
        members = self._live[self._roles[0]]
        each = self._tables // len(members)
        place = tables // max(1, each)
        held = (place < len(members)) & (each > 0)
        owners = members[np.where(held, place, 0)]
        return np.where(held & self._learning[owners], owners, none)

    def seat(self, draws: Uniforms, tables: Integers) -> list[Lineup]:
        """The players of N games; one object for all games of the same players.

        draws: [N, 1 + 2 * seats or more]; tables: [N].
        """
        first = _pick(self._open, draws[:, 0])
        learner = self.owned(tables)
        for seat, role in enumerate(self._roles):
            if len(self._learners[role]):
                drawn = _pick(self._learners[role], draws[:, 2 + 2 * seat])
                learner = np.where((first == seat) & (learner < 0), drawn, learner)
        seats = []
        for seat, role in enumerate(self._roles):
            wishes, choices = draws[:, 1 + 2 * seat], draws[:, 2 + 2 * seat]
            others = (
                learner
                if (first == seat).all()
                else self._opponents(role, wishes, choices, learner)
            )
            seats.append(np.where(first == seat, learner, others))
        games = zip(*(players.tolist() for players in seats), strict=True)
        return [self._lineups.get(game) or self._new(game) for game in games]

    def _new(self, game: tuple[int, ...]) -> Lineup:
        """The lineup of these players, by seat, which is the next one."""
        players = tuple(self._refs[player] for player in game)
        return self._lineups.setdefault(game, Lineup(len(self._lineups), players))

    def _opponents(
        self, role: str, wishes: Uniforms, choices: Uniforms, learner: Integers
    ) -> Integers:
        live, past = self._live[role], self._past[role]
        if not len(past):
            return _pick(live, choices)
        if role in self._edges:
            # The choice of a snapshot depends on the learning member.
            passed: Integers = (self._edges[role][learner] <= choices[:, None]).sum(axis=1)
            frozen: Integers = past[np.minimum(passed, len(past) - 1)]
        else:
            frozen = _pick(past, choices)
        if not len(live):
            return frozen
        return np.where(wishes < self._share, frozen, _pick(live, choices))


def _pick(values: Integers, draws: Uniforms) -> Integers:
    """Uniformly one of the values for each draw."""
    picked: Integers = values[(draws * len(values)).astype(np.int64)]
    return picked
