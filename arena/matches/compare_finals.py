"""The finals of a comparison: the last players of all runs of A meet those of all runs of B."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.matches import Match, find_match
from arena.league.summaries import member_names
from arena.matches.compare import (
    SIDES,
    Comparison,
    Interrupted,
    Kept,
    Say,
    Side,
    check,
    read_kept,
    write_kept,
)
from arena.matches.compare_values import VALUE_KEY, meeting_value
from arena.matches.game_list import Progress
from arena.matches.play import play_match, resume_match
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.stats.seed_scores import SeedMean, seed_lead, seed_score
from arena.words import number_of
from pbt.envs.contract import EnvSpec
from pbt.objective import ObjectiveKind
from pbt.seeding import integer

Pair = tuple[ResolvedPlayer, ResolvedPlayer]


@dataclass(frozen=True)
class ComparisonResult:
    """The result of a comparison.

    comparison  what was compared
    objective   what decides: the scores of A where games won do, else its leads over B
    values      [seeds, seeds] score or lead of each run of A against each run of B
    games       number of games that each of them rests on
    errors      number of games that raised, in all matches
    total       the score or lead over all seeds, with its interval
    looks       numbers of seeds at which a result was computed, this one included, in order
    """

    comparison: Comparison
    objective: ObjectiveKind
    values: tuple[tuple[float, ...], ...]
    games: int
    errors: int
    total: SeedMean
    looks: tuple[int, ...]


def play_finals(
    comparison: Comparison, say: Say, on_progress: Progress | None = None
) -> ComparisonResult:
    """Play the last players of each run of A against those of each run of B.

    Two players meet where their roles allow it. Matches that were played before are not repeated.
    Raises: Interrupted.
    """
    kept, spec = read_kept(comparison), check(comparison)
    meetings = kept.meetings
    roles = _seat_roles(comparison, spec)
    pairings = _pairings(comparison, roles)
    pairs = [pair for row in pairings for cell in row for pair in cell]
    # Games of one seat count in returns, whatever their population was set to.
    objective = pairs[0][0].objective if len(roles) > 1 else "return"
    assert objective is not None, "each player is a snapshot of a population"
    # Every meeting has the same number of games, in whole pairs.
    games = 2 * max(1, -(-comparison.games // (2 * len(pairings[0][0]))))
    unplayed = [pair for pair in pairs if VALUE_KEY[objective] not in meetings.get(_key(pair), {})]
    if unplayed:
        matches = f"{len(unplayed)} match{'es' * (len(unplayed) != 1)}"
        say(f"playing the finals: {matches} of {number_of(games, 'game')}")
    with open_league(league_path(comparison.data)) as league:
        for number, pair in enumerate(unplayed, start=len(pairs) - len(unplayed) + 1):
            _play(comparison, spec, league, kept, pair, games, objective)
            if on_progress is not None:
                on_progress(number, len(pairs))
    cells = [[[meetings[_key(pair)] for pair in cell] for cell in row] for row in pairings]
    key = VALUE_KEY[objective]
    values = [[fmean(one[key] for one in cell) for cell in row] for row in cells]
    games_per_cell = sum(one.get("games", games) for one in cells[0][0])
    return ComparisonResult(
        comparison,
        objective,
        tuple(map(tuple, values)),
        games_per_cell,
        sum(meetings[_key(pair)]["errors"] for pair in pairs),
        _total(objective, values, cells, games_per_cell),
        looks_of(comparison, kept),
    )


def _total(
    objective: ObjectiveKind,
    values: Sequence[Sequence[float]],
    cells: Sequence[Sequence[Sequence[Mapping[str, Any]]]],
    games: int,
) -> SeedMean:
    """The score or lead over all seeds.

    values  [seeds, seeds] of each run of A against each run of B
    cells   [seeds, seeds] the meetings behind each of them
    games   behind each of them
    """
    if objective == "win":
        return seed_score(np.array(values), games)
    variances = [
        [sum(one["variance"] for one in cell) / len(cell) ** 2 for cell in row] for row in cells
    ]
    return seed_lead(np.array(values), np.array(variances))


def _seat_roles(comparison: Comparison, spec: EnvSpec) -> list[str]:
    """The role of each seat of the game."""
    game = spec.make(**comparison.contestants["a"].config.env.game_options)
    roles = [game.roles[role].name for role in game.seat_roles]
    game.close()
    return roles


def _pairings(comparison: Comparison, roles: Sequence[str]) -> list[list[list[Pair]]]:
    """The pairs of players that meet: a row for each run of A, a column for each run of B.

    roles  of the seats
    """
    rows, columns = (
        [_members(comparison, side, seed) for seed in range(1, comparison.seeds + 1)]
        for side in SIDES
    )
    return [
        [[(a, b) for a, b in product(row, column) if _meet(roles, a, b)] for column in columns]
        for row in rows
    ]


def _members(comparison: Comparison, side: Side, seed: int) -> list[ResolvedPlayer]:
    """The last snapshot of each member of a finished run."""
    name = comparison.population(side, seed)
    with open_league(league_path(comparison.data), read_only=True) as league:
        members = member_names(league, name)
    return resolve_players(
        [f"{name}/{member}" for member in members], comparison.data, allow_files=True
    )[1]


def _meet(roles: Sequence[str], a: ResolvedPlayer, b: ResolvedPlayer) -> bool:
    """Whether two players can meet. roles: of the seats.

    They fill the seats with copies of themselves; a game of one seat is played by any two.
    """
    if len(roles) == 1:
        return True
    filled = all(a.plays(role) or b.plays(role) for role in roles)
    return filled and all(any(map(one.plays, roles)) for one in (a, b))


def _key(pair: Pair) -> str:
    """Names a meeting in the comparison's file."""
    return " ".join(f"{player.population}/{player.member}" for player in pair)


def _play(
    comparison: Comparison,
    spec: EnvSpec,
    league: League,
    kept: Kept,
    pair: Pair,
    games: int,
    objective: ObjectiveKind,
) -> None:
    """Play one match, or the rest of it, and keep what it is worth. Raises: Interrupted."""
    key, meetings = _key(pair), kept.meetings

    def begun(match: Match) -> None:
        meetings[key] = {"match": match.id}
        write_kept(comparison, kept)

    try:
        if key in meetings:
            result = resume_match(league, find_match(league, meetings[key]["match"]), pair, spec)
        else:
            result = play_match(
                *pair,
                games=games,
                seed=integer(0, "compare", key, bits=31),
                league=league,
                on_start=begun,
                env=spec,
                objective=objective,
            )
    except KeyboardInterrupt:
        raise Interrupted from None
    if result.interim:
        raise Interrupted
    meetings[key] |= {
        **meeting_value(result, objective),
        "games": len(result.records),
        "errors": len(result.errors),
    }
    write_kept(comparison, kept)


def looks_of(comparison: Comparison, kept: Kept) -> tuple[int, ...]:
    """Numbers of seeds of all looks. This one is noted, unless it repeats an earlier one."""
    if comparison.seeds not in kept.looks:
        kept.looks.append(comparison.seeds)
        write_kept(comparison, kept)
    return tuple(kept.looks)
