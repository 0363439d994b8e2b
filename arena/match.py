"""A match: planned games between two players, in seed pairs with the seats swapped, so that neither the seed nor the first move favours anybody."""

import time
from contextlib import ExitStack
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import create_match, finish_match
from arena.league.writer import LeagueWriter
from arena.match_plan import Seating, opening_plies, planned_game, seating_of
from arena.players import ResolvedPlayer
from arena.playing import DEFAULT_TABLES, FrozenTables
from arena.schedule import Progress, Schedule, is_spoiled, is_voided, play_all
from arena.statistics import MatchGame, MatchStatistics, match_statistics
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec as find_spec
from pbt.errors import PlayerError
from pbt.records import GameRecord
from pbt.transport.messages import GameEnd

DEFAULT_GAMES = 400


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match as played.

    match_id    in the league; None when it was not recorded
    planned     games that were to be played;  interim: fewer were, because somebody interrupted it
    paired      every seed was played twice, with the seats swapped
    statistics  of A
    records     the finished games, in the order planned
    errors      what the environment said in each try that it spoiled by raising; those games were played again
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
    errors: tuple[str, ...]
    seconds: float
    interim: bool
    notes: tuple[str, ...]

    @property
    def same_player(self) -> bool:
        return self.a.ref == self.b.ref

    @property
    def spoiled(self) -> bool:
        """So many games raised that the rest may be a biased choice."""
        return is_spoiled(len(self.errors), self.planned)


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

    games   an odd number is rounded up where games come in pairs;  tables: how many are played at the same time
    greedy  most likely actions instead of sampled ones
    env     the game, as `resolve_players` gives it; None: the registered one
    Ctrl-C ends the match early: whole pairs count and the result is marked interim; before the first whole pair it raises KeyboardInterrupt.
    Raises: PlayerError when the two cannot meet, SnapshotError for unusable weights, EnvError when a game keeps raising.
    """
    if (a.env_name, a.env_options) != (b.env_name, b.env_options):
        raise PlayerError(f"{a.label} plays {a.env_name}, {b.label} plays {b.env_name}, or the same with other options; expected players of one game")
    spec = env or find_spec(a.env_name)
    game = spec.make(**a.env_options)
    seating = seating_of(game, a, b)
    planned = games + games % 2 if seating.paired else games
    plies = 0 if spec.chance else opening_plies(a, b)
    schedule = Schedule(planned, lambda index: planned_game(index, seed, seating, plies, greedy=greedy))
    started = time.monotonic()
    with ExitStack() as stack:
        playing = FrozenTables(spec, game, (a, b), min(tables, planned), seed, schedule.next_game)
        stack.callback(playing.close)
        match, writer = None, None
        if league is not None:
            settings = {"greedy": greedy, "opening_plies": plies, "paired": seating.paired, "tables": tables}
            match = create_match(league, a.env_name, a.env_options, (a.ref, b.ref), planned, seed, settings)
            writer = stack.enter_context(LeagueWriter(league, match))
        results = _Results(seating, writer)
        complete = play_all(playing, schedule, results.take, on_progress)
    if not complete and not results.whole:
        raise KeyboardInterrupt
    if complete and league is not None and match is not None:
        finish_match(league, match.id)
    return MatchResult(
        a=a,
        b=b,
        match_id=match.id if match else None,
        seed=seed,
        planned=planned,
        greedy=greedy,
        opening_plies=plies,
        paired=seating.paired,
        statistics=match_statistics(results.match_games()),
        records=tuple(record for _, record in sorted(results.games.items())),
        errors=tuple(results.errors),
        seconds=time.monotonic() - started,
        interim=not complete,
        notes=_notes(games, planned, seating),
    )


class _Results:
    """Finished games by their place in the plan. They go into the league a whole pair at a time: half a pair is no evidence."""

    def __init__(self, seating: Seating, writer: LeagueWriter | None) -> None:
        self._seating, self._writer = seating, writer
        self.games: dict[int, GameRecord] = {}
        self.errors: list[str] = []

    def take(self, index: int, end: GameEnd) -> None:
        record = end.record(end.plan.game_count)
        if is_voided(end):
            self.errors.append(end.reason)
            self._write(record)
            return
        self.games[index] = record
        together = self._together(index)
        if all(game in self.games for game in together):
            for game in together:
                self._write(self.games[game])

    def _together(self, index: int) -> tuple[int, ...]:
        first = index - index % 2
        return (first, first + 1) if self._seating.paired else (index,)

    def _write(self, record: GameRecord) -> None:
        if self._writer is not None:
            self._writer.game(record)

    @property
    def whole(self) -> bool:
        """At least one pair (or game, where there are no pairs) is finished."""
        return any(all(game in self.games for game in self._together(index)) for index in self.games)

    def match_games(self) -> list[MatchGame]:
        """From A's side, told by the seat: in a match of a player with itself the name would not do."""
        found = []
        for index, record in sorted(self.games.items()):
            seat = self._seating.a_seat(index)
            own, other = record.seats[seat].place, record.seats[1 - seat].place
            points = 0.5 if own == other else float(own < other)
            found.append(MatchGame(points, seat == 0, record.pair, record.trajectory_hash))
        return found


def _notes(asked: int, planned: int, seating: Seating) -> tuple[str, ...]:
    notes = [seating.note] if seating.note else []
    if planned != asked:
        notes.append(f"{asked} games were asked for; {planned} are planned, because games come in pairs")
    return tuple(notes)
