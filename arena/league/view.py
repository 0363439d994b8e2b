"""A view of a league for scripts and notebooks: `arena.league(data)`. It only reads."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from arena.argument_kinds import check_kinds
from arena.data.paths import data_dir, league_path
from arena.league.database import League, open_league
from arena.league.flat_records import (
    FlatGame,
    FlatMatch,
    FlatMember,
    FlatRound,
    FlatSnapshot,
    FlatValue,
    Labels,
    flat_match,
    flat_member,
    flat_round,
    flat_snapshot,
    flat_stored_game,
)
from arena.league.game_choice import GameFilter
from arena.league.game_rows import games_between, population_games
from arena.league.match_standings import MatchStandings
from arena.league.matches import find_match, list_matches
from arena.league.schema import keys_of_match
from arena.league.stored_history import list_rounds
from arena.league.stored_snapshots import list_snapshots, named_snapshots
from arena.league.summaries import PopulationSummary, list_members, list_populations
from pbt.errors import ConfigError
from pbt.records import PlayerRef


def league(data: Path | str | None = None) -> "LeagueView":
    """A view of the league in a data directory.

    data  the data directory; None: $ARENA_DATA, else ./arena-data
    Raises: NoLeagueError where there is no league, PbtError for one that cannot be used.
    """
    return LeagueView(league_path(data_dir(data)))


class LeagueView:
    """The tables of a league, as lists of flat records.

    Each call opens the league, reads what is committed by then, also by trainings that run, and
    closes it. Superseded rows, which a resume from an earlier checkpoint took back, are left out.

    path  of the league's file
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open().close()

    def __repr__(self) -> str:
        return f"LeagueView({str(self.path)!r})"

    def populations(self) -> list[PopulationSummary]:
        """All populations, sorted by name."""
        with self._open() as league:
            return list_populations(league)

    def members(self, population: str | None = None) -> list[FlatMember]:
        """The members of a population, or of all. Raises: PlayerError for an unknown one."""
        with self._open() as league:
            return [
                flat_member(name, member)
                for name in _names(league, population)
                for member in list_members(league, name)
            ]

    def snapshots(self, population: str | None = None) -> list[FlatSnapshot]:
        """The snapshots of a population, or of all, by frames. Raises: PlayerError."""
        with self._open() as league:
            return [
                flat_snapshot(stored)
                for name in _names(league, population)
                for stored in list_snapshots(league, name)
            ]

    def games(
        self,
        population: str | None = None,
        *,
        match: int | None = None,
        kind: Literal["training", "evaluation"] | None = None,
    ) -> list[FlatGame]:
        """The games of a population, or of all, in the order they were numbered; or of a match.

        match  number of a match, instead of a population
        kind   only games of this kind; None: all
        Raises: PlayerError for an unknown population, MatchError for an unknown match, ConfigError
        for a population with a match and for another kind.
        """
        check_kinds("league.games", {"population": population, "match": match, "kind": kind})
        if population is not None and match is not None:
            problem = (
                f"population {population!r} with match {match}: a match belongs to no population; "
                "choose one"
            )
            raise ConfigError("league.games", [problem])
        with self._open() as league:
            if match is not None:
                return [game for game in _match_games(league, match) if kind in (None, game.kind)]
            return [
                game
                for name in _names(league, population)
                for game in _population_games(league, name, GameFilter(kind=kind))
            ]

    def rounds(self, population: str | None = None) -> list[FlatRound]:
        """The PBT rounds of a population, or of all, as they were decided. Raises: PlayerError."""
        with self._open() as league:
            return [
                flat_round(name, stored.record)
                for name in _names(league, population)
                for stored in list_rounds(league, name)
            ]

    def hyperparameters(self, population: str | None = None) -> list[FlatValue]:
        """The values of a population's members, or of all, before their first round and after each.

        A member without a round has none. Raises: PlayerError.
        """
        with self._open() as league:
            return [value for name in _names(league, population) for value in _values(league, name)]

    def matches(self) -> list[FlatMatch]:
        """All matches, in the order they began."""
        with self._open() as league:
            stored = list_matches(league)
            labels = _labels(league, (player for match in stored for player in match.players))
            standings = MatchStandings().of(league, stored)
            return [flat_match(match, standings[match.id], labels) for match in stored]

    def _open(self) -> League:
        return open_league(self.path, read_only=True)


def _names(league: League, population: str | None) -> list[str]:
    check_kinds("the league", {"population": population})
    if population is not None:
        return [population]
    return [summary.name for summary in list_populations(league)]


def _population_games(league: League, name: str, wanted: GameFilter) -> Iterator[FlatGame]:
    labels = {one.record.snapshot_id: one.label for one in list_snapshots(league, name)}
    for stored in population_games(league, name, wanted):
        yield flat_stored_game(stored, labels, name)


def _match_games(league: League, number: int) -> list[FlatGame]:
    match = find_match(league, number)
    labels = _labels(league, match.players)
    return [
        flat_stored_game(stored, labels, None)
        for stored in games_between(league, *keys_of_match(match.id))
    ]


def _values(league: League, population: str) -> Iterator[FlatValue]:
    begun: set[str] = set()
    for stored in list_rounds(league, population):
        record = stored.record
        member, known = record.member, record.member in begun
        begun.add(member)
        for name, value in ({} if known else record.hyperparams.get(member, {})).items():
            yield FlatValue(population, member, 0, 0, name, value)
        for name, value in record.directive.hyperparams.items():
            yield FlatValue(population, member, record.round, record.frames, name, value)


def _labels(league: League, players: Iterable[PlayerRef]) -> Labels:
    """The names of those players that are snapshots, by their ids."""
    ids = list(dict.fromkeys(player.name for player in players if player.kind == "snapshot"))
    return {key: stored.label for key, stored in named_snapshots(league, ids).items()}
