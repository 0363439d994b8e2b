"""A match: planned games between two players, in seed pairs with the seats swapped, so that neither the seed nor the first move favours anybody."""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import create_match, finish_match
from arena.league.writer import LeagueWriter
from arena.players import ResolvedPlayer
from arena.playing import DEFAULT_TABLES, FrozenTables, PlannedGame, game_record
from arena.statistics import MatchGame, MatchStatistics, match_statistics
from pbt.config.schema import EvaluationConfig
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.registry import spec as find_spec
from pbt.errors import EngineError, EnvError, PlayerError
from pbt.population.scores import VOIDED_PREFIX
from pbt.records import GameRecord
from pbt.seeding import integer
from pbt.transport.messages import GameEnd, GamePlan

DEFAULT_GAMES = 400
MAX_ERROR_SHARE = 0.01
MAX_TRIES = 3

Progress = Callable[[int, int], None]
"""(games finished, games planned), after every turn in which one finished."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match as played.

    match_id    in the league; None when it was not recorded
    planned     games that were to be played;  interim: fewer were, because somebody interrupted it
    paired      every seed was played twice, with the seats swapped
    records     the finished games in the order planned, seats and all
    errors      games that a raising environment spoiled, each played again;  first_error: what the first one said
    notes       what a reader of the numbers should know
    """

    a: ResolvedPlayer
    b: ResolvedPlayer
    match_id: int | None
    seed: int
    planned: int
    greedy: bool
    opening_plies: int
    paired: bool
    statistics: MatchStatistics
    records: tuple[GameRecord, ...]
    errors: int
    first_error: str | None
    seconds: float
    interim: bool
    notes: tuple[str, ...]

    @property
    def spoiled(self) -> bool:
        """So many games raised that the rest may be a biased choice."""
        return self.errors > MAX_ERROR_SHARE * self.planned


@dataclass(frozen=True, slots=True)
class Seating:
    """a_seats: the seat of A in the first and the second game of a pair; one entry where the seats cannot be swapped."""

    a_seats: tuple[int, ...]
    note: str | None = None

    @property
    def paired(self) -> bool:
        return len(self.a_seats) == 2


def seating_of(game: Game, a: ResolvedPlayer, b: ResolvedPlayer) -> Seating:
    """Who can sit where. Raises: PlayerError for games of one seat, of more than two, and for players of the same one-sided role."""
    roles = tuple(game.roles[role].name for role in game.seat_roles)
    if len(roles) == 1:
        raise PlayerError(
            f"{a.env_name} has one seat, so nobody can meet there; `arena evaluate {a.label}` and `arena evaluate {b.label}` show their returns"
        )
    if len(roles) > 2:
        raise PlayerError(
            f"{a.env_name} has {len(roles)} seats; matches of more than two seats come later, `arena evaluate` seats a player among random ones"
        )
    possible = tuple(seat for seat in (0, 1) if a.plays(roles[seat]) and b.plays(roles[1 - seat]))
    if len(possible) == 2:
        return Seating(possible)
    if not possible:
        raise PlayerError(
            f"{a.label} plays {a.role or 'any role'} and {b.label} plays {b.role or 'any role'}; "
            f"{a.env_name} seats one {roles[0]} and one {roles[1]}: name a player of each role"
        )
    seat = possible[0]
    return Seating(
        possible,
        f"roles are fixed ({a.label} is {roles[seat]}, {b.label} is {roles[1 - seat]}), so games are not paired and the score says nothing of skill alone",
    )


class MatchSchedule:
    """Hands out the games of a match. All of them follow from the seed, before any is played; a voided one is handed out again."""

    def __init__(self, games: int, seed: int, seating: Seating, opening_plies: int, *, greedy: bool) -> None:
        self.games = games
        self._seed, self._seating, self._opening_plies, self._greedy = seed, seating, opening_plies, greedy
        self._waiting = deque(range(games))
        self._handed_out = 0
        # Running number of a try -> which game of the plan it was.
        self._index: dict[int, int] = {}
        self._tries: Counter[int] = Counter()

    def next_game(self) -> PlannedGame | None:
        if not self._waiting:
            return None
        index, count = self._waiting.popleft(), self._handed_out
        self._handed_out += 1
        self._index[count] = index
        self._tries[index] += 1
        seat = self.a_seat(index)
        per_seed = len(self._seating.a_seats)
        game_seed = integer(self._seed, "match", index // per_seed, bits=31)
        plan = GamePlan(
            count=count,
            kind="evaluation",
            seed=game_seed,
            seats=(),
            noise=("match", self._seed, index // per_seed, index % per_seed),
            opening_plies=self._opening_plies,
            opening_seed=game_seed,
            record_actions=True,
            greedy=self._greedy,
            pair=index // per_seed if self._seating.paired else None,
        )
        return PlannedGame((seat, 1 - seat), plan)

    def a_seat(self, index: int) -> int:
        """Where A sits in a game of the plan. (Seat 0 holds player `a_seat`, for A is player 0 and B is player 1.)"""
        return self._seating.a_seats[index % len(self._seating.a_seats)]

    def index(self, end: GameEnd) -> int:
        """Which game of the plan this was."""
        return self._index[end.plan.count]

    def again(self, end: GameEnd) -> None:
        """A game was voided. Raises: EnvError when it was so at every try."""
        index = self.index(end)
        if self._tries[index] >= MAX_TRIES:
            raise EnvError(f"game {index} of the match (seed {end.plan.seed}) was tried {MAX_TRIES} times; {end.reason}")
        self._waiting.appendleft(index)


class _Results:
    """Finished games by their place in the plan. They go into the league a whole pair at a time: half a pair is no evidence."""

    def __init__(self, schedule: MatchSchedule, paired: bool, writer: LeagueWriter | None) -> None:
        self._schedule, self._paired, self._writer = schedule, paired, writer
        self.games: dict[int, GameRecord] = {}
        self.errors: list[str] = []

    def take(self, end: GameEnd) -> None:
        record = game_record(end, end.plan.count)
        index = self._schedule.index(end)
        if end.reason.startswith(VOIDED_PREFIX):
            self.errors.append(end.reason.removeprefix(f"{VOIDED_PREFIX}: "))
            self._write(record)
            self._schedule.again(end)
            return
        self.games[index] = record
        complete = [index] if not self._paired else [index - index % 2, index - index % 2 + 1]
        if all(game in self.games for game in complete):
            for game in complete:
                self._write(self.games[game])

    def _write(self, record: GameRecord) -> None:
        if self._writer is not None:
            self._writer.game(record)

    def match_games(self) -> list[MatchGame]:
        """From A's side, told by the seat: in a match of a player with itself the name would not do."""
        found = []
        for index, record in sorted(self.games.items()):
            seat = self._schedule.a_seat(index)
            own, other = record.seats[seat].place, record.seats[1 - seat].place
            points = 0.5 if own == other else float(own < other)
            found.append(MatchGame(points, seat == 0, record.pair, record.trajectory_hash))
        return found

    @property
    def whole(self) -> bool:
        """At least one pair (or game, where there are no pairs) is finished."""
        return any(not self._paired or index ^ 1 in self.games for index in self.games)


def play_match(
    a: ResolvedPlayer,
    b: ResolvedPlayer,
    *,
    games: int = DEFAULT_GAMES,
    seed: int = 1,
    greedy: bool = False,
    league: League | None = None,
    tables: int = DEFAULT_TABLES,
    on_progress: Progress | None = None,
    env: EnvSpec | None = None,
) -> MatchResult:
    """Play, and record in `league` unless it is None. Equal players, seed and settings give equal games.

    games     odd numbers are rounded up where games come in pairs
    greedy    most likely actions instead of sampled ones
    tables    how many games at the same time
    env       the game, where it is not a registered one
    Ctrl-C ends the match early: whole pairs count, the result is marked interim. Raises: PlayerError when they cannot meet, SnapshotError for unusable
    weights, EnvError when a game keeps raising, KeyboardInterrupt before the first whole pair.
    """
    if (a.env_name, dict(a.env_options)) != (b.env_name, dict(b.env_options)):
        raise PlayerError(
            f"{a.label} plays {a.env_name} {dict(a.env_options) or ''} and {b.label} {b.env_name} {dict(b.env_options) or ''}: players of one game meet"
        )
    spec = env or find_spec(a.env_name)
    game = spec.make(**a.env_options)
    seating = seating_of(game, a, b)
    planned = games + games % 2 if seating.paired else games
    opening_plies = 0 if spec.chance else _opening_plies(a, b)
    schedule = MatchSchedule(planned, seed, seating, opening_plies, greedy=greedy)
    playing = FrozenTables(spec, game, (a, b), min(tables, planned), seed, schedule.next_game)
    match = None
    if league is not None:
        settings = {"greedy": greedy, "opening_plies": opening_plies, "paired": seating.paired, "tables": tables}
        match = create_match(league, a.env_name, a.env_options, (a.ref, b.ref), planned, seed, settings)
    started = time.monotonic()
    writer = LeagueWriter(league, match) if league is not None and match is not None else None
    results = _Results(schedule, seating.paired, writer)
    try:
        interim = not _play(playing, results, planned, on_progress)
    finally:
        playing.close()
        if writer is not None:
            writer.close()
    if league is not None and match is not None and not interim:
        finish_match(league, match.id)
    return MatchResult(
        a=a,
        b=b,
        match_id=match.id if match else None,
        seed=seed,
        planned=planned,
        greedy=greedy,
        opening_plies=opening_plies,
        paired=seating.paired,
        statistics=match_statistics(results.match_games()),
        records=tuple(record for _, record in sorted(results.games.items())),
        errors=len(results.errors),
        first_error=results.errors[0] if results.errors else None,
        seconds=time.monotonic() - started,
        interim=interim,
        notes=_notes(games, planned, seating, a, b),
    )


def _play(playing: FrozenTables, results: _Results, planned: int, on_progress: Progress | None) -> bool:
    """True when every planned game was played, False when interrupted."""
    try:
        while len(results.games) < planned:
            ended = playing.turn()
            for end in ended:
                results.take(end)
            if ended and on_progress is not None:
                on_progress(len(results.games), planned)
            if not ended and not playing.busy:
                raise EngineError(f"{len(results.games)} of {planned} games are played, and no table plays one")
    except KeyboardInterrupt:
        if not results.whole:
            raise
        return False
    return True


def _opening_plies(a: ResolvedPlayer, b: ResolvedPlayer) -> int:
    configs = [player.config for player in (a, b) if player.config is not None]
    return configs[0].evaluation.opening_plies if configs else EvaluationConfig().opening_plies


def _notes(asked: int, planned: int, seating: Seating, a: ResolvedPlayer, b: ResolvedPlayer) -> tuple[str, ...]:
    notes = [seating.note] if seating.note else []
    if planned != asked:
        notes.append(f"{asked} games were asked for; {planned} are played, because games come in pairs")
    if a.ref == b.ref:
        notes.append("both players are the same: the score is expected near 50 %")
    return tuple(notes)
