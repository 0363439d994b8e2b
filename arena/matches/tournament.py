"""A tournament: in each round, every two players that can meet do so equally often.

In games of two seats every two of them play a match. At larger tables a round is one match of all
players, whose plan has them all meet. Each match is a row of the league, so the same call goes on
where an earlier one stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations

from arena.league.database import League
from arena.league.matches import (
    OBJECTIVE_KEY,
    SPRT_KEY,
    Match,
    MatchError,
    matches_between,
)
from arena.matches.game_list import Progress
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import SeatedPlayers, check_meeting
from arena.matches.play import play_match, resume_match
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class Fixture:
    """One match of a tournament's plan.

    players    two, or at larger tables all
    block      number of games of a block of the match
    objective  what decides between them
    round      number of the round, from 1
    seed       of the match; another one in each round
    """

    players: tuple[ResolvedPlayer, ...]
    block: int
    objective: ObjectiveKind
    round: int
    seed: int

    def lengths(self, games: int) -> tuple[int, ...]:
        """The numbers of games that a match of so many may have: as asked for, or whole blocks."""
        return games, -(-games // self.block) * self.block


@dataclass(frozen=True, slots=True)
class Tournament:
    """A tournament as played.

    planned  all matches of the plan
    results  of the matches so far, in the order of the plan
    interim  Ctrl-C interrupted it
    """

    planned: Sequence[Fixture]
    results: Sequence[tuple[Fixture, PlayedMatch]]
    interim: bool

    @property
    def match_ids(self) -> list[int]:
        return [result.match_id for _, result in self.results if result.match_id is not None]

    @property
    def errors(self) -> int:
        return sum(len(result.errors) for _, result in self.results)


def plan_tournament(
    env: EnvSpec, players: Sequence[ResolvedPlayer], rounds: int, seed: int
) -> list[Fixture]:
    """All matches: those of a round follow those of the round before. A player counts once.

    A tournament may therefore be stopped after any round. In games of two seats, two players of one
    role that holds a single seat do not meet.

    Raises: PlayerError for fewer than two players, for games of one seat, and when no two players
    can meet.
    """
    players = different_players(players)
    if len(players) < 2:
        raise PlayerError(
            f"different players named: {len(players)}; expected two or more, such as `arena "
            "tournament demo/m0 demo/m1 random`"
        )
    meetings = _meetings(env, players)
    if not meetings:
        raise PlayerError(
            f"no two of {', '.join(player.label for player in players)} can meet in "
            f"{players[0].env_name}; name players of each role"
        )
    return [
        Fixture(
            meeting.players,
            len(meeting.seating.sittings),
            meeting.objective,
            number,
            seed + number - 1,
        )
        for number in range(1, rounds + 1)
        for meeting in meetings
    ]


def different_players(players: Sequence[ResolvedPlayer]) -> tuple[ResolvedPlayer, ...]:
    """Each player once, in the order named. Two names may be of one player, as `@best` may be."""
    return tuple({player.ref: player for player in players}.values())


def _meetings(env: EnvSpec, players: Sequence[ResolvedPlayer]) -> list[SeatedPlayers]:
    """The matches of one round. Raises: PlayerError for a game of one seat, and as `check_meeting`.

    At larger tables the order of the names changes nothing, so that the same players in another
    order go on with the same match.
    """
    with closing(env.make(**players[0].env_options)) as game:
        roles = [game.roles[role].name for role in game.seat_roles]
    if len(roles) == 1:
        named = " ".join(player.label for player in players)
        raise PlayerError(
            f"{players[0].env_name} has one seat, so players do not meet; `arena evaluate {named}` "
            "shows their returns over the same episodes"
        )
    if len(roles) > 2:
        ordered = sorted(players, key=lambda player: (player.ref.kind, player.ref.name))
        return [check_meeting(env, ordered)]
    return [
        check_meeting(env, (a, b))
        for a, b in combinations(players, 2)
        if any(one.plays(roles[0]) and other.plays(roles[1]) for one, other in ((a, b), (b, a)))
    ]


def play_tournament(
    league: League,
    env: EnvSpec,
    fixtures: Sequence[Fixture],
    games: int,
    *,
    concurrency: int = 1,
    on_match: Callable[[Fixture, PlayedMatch], None] = lambda fixture, result: None,
    on_progress: Progress | None = None,
) -> Tournament:
    """Play the matches that are not played yet.

    games     of each match, rounded up to whole blocks
    on_match  called with each result, those of stored matches included
    Ctrl-C ends it early: whole pairs stay stored, and the same call goes on.
    Raises: as `play_match` and `resume_match`.
    """
    results: list[tuple[Fixture, PlayedMatch]] = []
    for number, fixture in enumerate(fixtures):
        try:
            counted = _counted(on_progress, number, len(fixtures))
            result = _play(league, env, fixture, games, concurrency, counted)
        except KeyboardInterrupt:
            return Tournament(fixtures, results, interim=True)
        results.append((fixture, result))
        on_match(fixture, result)
        if result.interim:
            return Tournament(fixtures, results, interim=True)
    return Tournament(fixtures, results, interim=False)


def _play(
    league: League,
    env: EnvSpec,
    fixture: Fixture,
    games: int,
    concurrency: int,
    on_progress: Progress | None,
) -> PlayedMatch:
    """The result of a match. It is played, or the rest of a stored one with this plan."""
    for match, players in _begun(league, fixture, games):
        try:
            return resume_match(
                league, match, players, env, concurrency=concurrency, on_progress=on_progress
            )
        except MatchError:
            # An older version stored it, or it has other openings: then it is another match.
            continue
    return play_match(
        *fixture.players,
        games=games,
        seed=fixture.seed,
        league=league,
        concurrency=concurrency,
        on_progress=on_progress,
        env=env,
        objective=fixture.objective,
    )


def _begun(
    league: League, fixture: Fixture, games: int
) -> Iterator[tuple[Match, tuple[ResolvedPlayer, ...]]]:
    """Stored matches with this plan, of two players in either order, finished ones first."""
    orders = [fixture.players, *([fixture.players[::-1]] if len(fixture.players) == 2 else [])]
    for players in orders:
        refs = tuple(player.ref for player in players)
        for match in matches_between(
            league, players[0].env_name, players[0].env_options, refs, fixture.seed
        ):
            if (
                not match.settings.get("greedy")
                and SPRT_KEY not in match.settings
                and match.settings.get(OBJECTIVE_KEY, "win") == fixture.objective
                and match.games in fixture.lengths(games)
            ):
                yield match, players


def _counted(on_progress: Progress | None, before: int, matches: int) -> Progress | None:
    """Reports a match's progress as that of the tournament, in games. Matches are equally long."""
    if on_progress is None:
        return None
    return lambda done, planned: on_progress(before * planned + done, matches * planned)
