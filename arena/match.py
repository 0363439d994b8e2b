"""A match: planned games between two players, in seed pairs with the seats swapped, so that neither the seed nor the first move favours anybody."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import Match, create_match, finish_match
from arena.league.writer import LeagueWriter
from arena.match_plan import MatchPlan, plan_match
from arena.players import ResolvedPlayer
from arena.playing import DEFAULT_TABLES, FrozenTables
from arena.schedule import Progress, Schedule, is_spoiled, is_voided, play_all
from arena.statistics import MatchGame, MatchStatistics, match_statistics
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec as find_spec
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
    spec = env or find_spec(a.env_name)
    game = spec.make(**a.env_options)
    plan = plan_match(spec, game, a, b, games, seed, greedy=greedy)
    schedule, started = Schedule(plan.games, plan.game), time.monotonic()
    with (
        closing(FrozenTables(spec, game, (a, b), min(tables, plan.games), seed, schedule.next_game)) as playing,
        _recording(league, plan, tables) as (match, writer),
    ):
        results = _Results(plan, writer)
        complete = play_all(playing, schedule, results.take, on_progress)
    if not complete and not results.whole:
        raise KeyboardInterrupt
    if complete and league is not None and match is not None:
        finish_match(league, match.id)
    return results.match(match, time.monotonic() - started, interim=not complete)


@contextmanager
def _recording(league: League | None, plan: MatchPlan, tables: int) -> Iterator[tuple[Match, LeagueWriter] | tuple[None, None]]:
    """The match's row, and where its games are written; nothing without a league."""
    if league is None:
        yield None, None
        return
    settings = {"greedy": plan.greedy, "opening_plies": plan.opening_plies, "paired": plan.seating.paired, "tables": tables}
    match = create_match(league, plan.a.env_name, plan.a.env_options, (plan.a.ref, plan.b.ref), plan.games, plan.seed, settings)
    with LeagueWriter(league, match) as writer:
        yield match, writer


class _Results:
    """Finished games by their place in the plan. They go into the league a whole pair at a time: half a pair is no evidence."""

    def __init__(self, plan: MatchPlan, writer: LeagueWriter | None) -> None:
        self._plan, self._seating, self._writer = plan, plan.seating, writer
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

    def match(self, match: Match | None, seconds: float, *, interim: bool) -> MatchResult:
        """match: its row, None when it was not recorded."""
        plan = self._plan
        return MatchResult(
            a=plan.a,
            b=plan.b,
            match_id=match.id if match else None,
            seed=plan.seed,
            planned=plan.games,
            greedy=plan.greedy,
            opening_plies=plan.opening_plies,
            paired=plan.seating.paired,
            statistics=match_statistics(self.match_games()),
            records=tuple(record for _, record in sorted(self.games.items())),
            errors=tuple(self.errors),
            seconds=seconds,
            interim=interim,
            notes=plan.notes,
        )
