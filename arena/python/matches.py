"""`arena.match`: how strong a player is against others, measured in games."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from arena.argument_kinds import check_kinds
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league, upgrade_league
from arena.league.flat_records import FlatGame, flat_game
from arena.league.matches import Match, MatchError
from arena.matches.game_list import Progress
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import check_meeting
from arena.matches.play import check_test, play_match
from arena.matches.report import match_json
from arena.matches.verdict import verdict
from arena.python.arguments import check_counts, check_keywords
from arena.python.own_games import Env
from arena.python.players import NamedPlayers, named_players
from arena.python.process import left_as_it_was
from arena.stats.sprt import Sprt
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind


@dataclass(frozen=True)
class MatchResult:
    """The result of a match.

    The numbers from score to elo_high are those of the first player of two at a table of at most
    two seats, and None in every other match, whose standings `report` has.

    match        number in the league; None when it was not recorded
    env          the game
    players      names, in the order given
    games        number of games that count
    planned      number of games at most
    seed         of the match
    interim      fewer games than planned were played, because of a KeyboardInterrupt; `arena match
                 --resume` goes on
    objective    what decides between the players: "win", "margin" or "return"
    verdict      one sentence
    wins         number of games that the first player won
    draws        number of drawn games
    losses       number of games that it lost
    score        (wins + draws / 2) / games, in [0, 1]
    low          lower end of the score's 95 % interval
    high         upper end of the score's 95 % interval
    elo          Elo difference of the score; None for a score of 0 or 1, which has none
    elo_low      of low; None where low is 0
    elo_high     of high; None where high is 1
    margin       mean margin a game of the first player, where margins decide; else None
    margin_low   lower end of the margin's 95 % interval; None where it has none
    margin_high  upper end of the margin's 95 % interval; None where it has none
    sprt         of a sequential test: "accept H0", "accept H1" or "continue"; None without one
    notes        what the plan and the games give reason to say
    errors       number of tries that the game spoiled by raising; they were played again
    spoiled      that were too many: do not trust the numbers
    played       the match itself, as the command line has it
    """

    match: int | None
    env: str
    players: tuple[str, ...]
    games: int
    planned: int
    seed: int
    interim: bool
    objective: ObjectiveKind
    verdict: str
    wins: int | None
    draws: int | None
    losses: int | None
    score: float | None
    low: float | None
    high: float | None
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    margin: float | None
    margin_low: float | None
    margin_high: float | None
    sprt: Literal["accept H0", "accept H1", "continue"] | None
    notes: tuple[str, ...]
    errors: int
    spoiled: bool
    played: PlayedMatch = field(repr=False)

    def records(self) -> list[FlatGame]:
        """A flat record for each game that counts, in the order planned."""
        labels = {player.ref.name: player.label for player in self.played.plan.players}
        return [flat_game(record, labels, match=self.match) for record in self.played.records]

    def report(self) -> dict[str, Any]:
        """All numbers as plain values, as `arena match --json` prints them."""
        return match_json(self.played)


class Playing(TypedDict, total=False):
    """Keyword arguments of `arena.match` that say how it is played, each of which may be left out.

    games        rounded up to whole blocks; None for 400, or 40 000 with a sequential test
    seed         of everything random; 1 where it is left out
    greedy       players take their most likely actions instead of sampled ones
    fresh        its games count in no rating
    concurrency  number of processes that play, which changes no game; 1 where it is left out
    on_start     called with the match's row before its first game, where it is recorded
    on_progress  called with (games finished, games planned)
    """

    games: int | None
    seed: int
    greedy: bool
    fresh: bool
    concurrency: int
    on_start: Callable[[Match], None] | None
    on_progress: Progress | None


def match(
    *players: str,
    data: Path | str | None = None,
    env: Env | None = None,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    sprt: tuple[float, float] | None = None,
    record: bool = True,
    **playing: Unpack[Playing],
) -> MatchResult:
    """Play the first player against the others. Equal players, seed and settings give equal games.

    players    names, such as "demo@best", "random" or "exec:./bot.py"
    data       the data directory; None: $ARENA_DATA, else ./arena-data
    env        the game, needed where no player was trained: a name, or the function of a file
    options    of that game
    objective  what decides between the players; None: what their populations count in
    sprt       (elo0, elo1): stop as soon as the games decide between the two differences in
               normalised Elo
    record     store the games in the league
    playing    how it is played, as `arena.python.matches.Playing`
    A KeyboardInterrupt ends it early: whole blocks count; before the first it is raised.
    Raises: PlayerError for names without a player and players that cannot meet, MatchError for
    settings that make no match, EnvError when the game keeps raising.
    """
    check_keywords(match, playing, Playing.__annotations__)
    if len(players) < 2:
        raise MatchError(
            f"players named: {len(players)}; expected two or more, such as "
            'arena.match("demo@best", "random")'
        )
    test = None if sprt is None else sprt_of(sprt)
    if record:
        upgrade_league(league_path(data_dir(data)))
    named = named_players(players, data=data, env=env, options=options, objective=objective)
    named = checked(named, tested=test is not None)
    return play(named, data=data, sprt=test, record=record, **playing)


def checked(named: NamedPlayers, *, tested: bool) -> NamedPlayers:
    """The players as they meet. tested: the match has a sequential test or an assertion.

    Raises: PlayerError where they cannot meet, MatchError where they cannot be tested.
    """
    meeting = check_meeting(named.env, named.players)
    check_test(meeting.seating, meeting.objective, tested)
    return NamedPlayers(named.env, meeting.players)


def play(
    named: NamedPlayers,
    *,
    data: Path | str | None,
    sprt: Sprt | None,
    record: bool,
    **playing: Unpack[Playing],
) -> MatchResult:
    """Play a match of players that can meet. Raises: as `match`."""
    counts = {name: playing.get(name) for name in ("games", "seed", "concurrency")}
    check_counts("the match", **counts)
    flags = {name: playing.get(name, False) for name in ("greedy", "fresh")}
    told = {name: playing.get(name) for name in ("on_start", "on_progress")}
    check_kinds("the match", {"record": record, **flags, **told})
    path = league_path(data_dir(data))
    with left_as_it_was(), open_league(path) if record else nullcontext() as league:
        played = play_match(
            *named.players,
            league=league,
            env=named.env,
            sprt=sprt,
            **playing,
        )
    return match_result(played)


def sprt_of(bounds: Sequence[float]) -> Sprt:
    """The sequential test of (elo0, elo1). Raises: MatchError."""
    expected = "expected (elo0, elo1), two numbers of which the first is smaller, such as (0, 20)"
    if not _are_two_numbers(bounds):
        raise MatchError(f"sprt = {bounds!r}: {expected}")
    try:
        elo0, elo1 = bounds
        return Sprt(elo0, elo1)
    except EngineError as error:
        raise MatchError(f"sprt = {bounds!r}: {expected}: {error}") from None


def _are_two_numbers(bounds: object) -> bool:
    return (
        isinstance(bounds, Sequence)
        and len(bounds) == 2
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in bounds)
    )


def match_result(played: PlayedMatch) -> MatchResult:
    """The result of a match for scripts."""
    duel, plan, margin = played.statistics, played.plan, played.margin
    return MatchResult(
        match=played.match_id,
        env=played.a.env_name,
        players=tuple(player.label for player in plan.players),
        games=len(played.records),
        planned=plan.games,
        seed=plan.seed,
        interim=played.interim,
        objective=plan.objective,
        verdict=verdict(played),
        wins=None if duel is None else duel.total.wins,
        draws=None if duel is None else duel.total.draws,
        losses=None if duel is None else duel.total.losses,
        score=None if duel is None else duel.score,
        low=None if duel is None else duel.low,
        high=None if duel is None else duel.high,
        elo=None if duel is None else duel.elo,
        elo_low=None if duel is None else duel.elo_low,
        elo_high=None if duel is None else duel.elo_high,
        margin=None if margin is None else margin.mean,
        margin_low=None if margin is None else margin.low,
        margin_high=None if margin is None else margin.high,
        sprt=None if played.test is None else played.test.state,
        notes=played.notes,
        errors=len(played.errors),
        spoiled=played.spoiled,
        played=played,
    )
