"""`arena.rate`: the ratings of a population, of a game, or of everything in a league. No torch."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.argument_kinds import check_kinds
from arena.data.paths import data_dir, league_path
from arena.league.database import League, open_league
from arena.league.populations import stored_config
from arena.league.ratings import (
    RatingTable,
    Standing,
    best_of_roles,
    by_lower_bound,
    by_role,
    game_table,
    is_provisional,
    population_table,
    ranks_of,
)
from arena.league.results import rated_games
from arena.league.returns import ReturnTable, best_by_return, return_ranks, return_table
from arena.league.summaries import list_populations, roles_of
from arena.stats.bradley_terry import BEST_MIN_GAMES
from pbt.config.game_options import game_options
from pbt.errors import ConfigError, PlayerError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class FlatRating:
    """A row of a rating table, as a flat record.

    table            the population or game that the table is of
    objective        what the ratings count: "win" (Elo), "margin" or "return" (of a game)
    rank             from 1 on, in the table of the player's role; None for a player that has too
                     few games, or that plays any role
    player           a name by which it can be found, such as "demo/m2@1.2M" or "random"
    kind             "snapshot", "scripted" or "guest"
    id               a snapshot's whole id, or the name of another player
    role             that it plays; None: any
    rating           Elo or margin a game, where `random` is 0, or mean return a game; None without
    low              lower end of the rating's 95 % interval; None where games give none
    high             upper end, None as low
    games            evaluation games that it is rated by
    wins             games won; None where returns count, as draws and losses
    draws            games drawn
    losses           games lost
    score            (wins + draws / 2) / games, in [0, 1]; None where returns count
    score_vs_random  the same against `random` alone; None without such games
    provisional      it has too few games, or no rating
    weights_removed  it plays no more
    best             it is `@best` of its population, in its role
    """

    table: str
    objective: ObjectiveKind
    rank: int | None
    player: str
    kind: str
    id: str
    role: str | None
    rating: float | None
    low: float | None
    high: float | None
    games: int
    wins: int | None
    draws: int | None
    losses: int | None
    score: float | None
    score_vs_random: float | None
    provisional: bool
    weights_removed: bool
    best: bool


@dataclass(frozen=True)
class RatedScope:
    """One rating table.

    title    the population or game that it is of
    table    the ratings; without rows where returns count
    own      of a population the ratings of it alone, else None
    returns  the mean returns, where returns count and there are some; else None
    best     of a population: role -> id of the snapshot that is its `@best`
    """

    title: str
    table: RatingTable
    own: RatingTable | None = None
    returns: ReturnTable | None = None
    best: Mapping[str, str] = field(default_factory=dict)

    def records(self) -> list[FlatRating]:
        """The rows, those with the highest lower end of their interval first."""
        if self.returns is not None:
            return list(self._of_returns(self.returns))
        rows = by_lower_bound(self.table.rows)
        ranks: dict[PlayerRef, int | None] = {}
        for role, own in by_role(rows).items():
            found = zip(own, ranks_of(own, role), strict=True)
            ranks |= {row.player: rank for row, rank in found if role in (None, row.role)}
        return [self._of_standing(row, ranks.get(row.player)) for row in rows]

    def _of_standing(self, row: Standing, rank: int | None) -> FlatRating:
        return FlatRating(
            table=self.title,
            objective=self.table.objective,
            rank=rank,
            player=row.label,
            kind=row.player.kind,
            id=row.player.name,
            role=row.role,
            rating=row.rating,
            low=row.low,
            high=row.high,
            games=row.total.games,
            wins=row.total.wins,
            draws=row.total.draws,
            losses=row.total.losses,
            score=row.total.score,
            score_vs_random=None if row.against_random is None else row.against_random.score,
            provisional=is_provisional(row),
            weights_removed=row.snapshot is not None and row.snapshot.weights_removed,
            best=row.player.name in self.best.values(),
        )

    def _of_returns(self, returns: ReturnTable) -> Iterator[FlatRating]:
        for rank, row in zip(return_ranks(returns.rows), returns.rows, strict=True):
            yield FlatRating(
                table=self.title,
                objective="return",
                rank=rank,
                player=row.label,
                kind="snapshot",
                id=row.snapshot.record.snapshot_id,
                role=row.role,
                rating=row.mean,
                low=row.low,
                high=row.high,
                games=row.games,
                wins=None,
                draws=None,
                losses=None,
                score=None,
                score_vs_random=None,
                provisional=row.games < BEST_MIN_GAMES,
                weights_removed=row.snapshot.weights_removed,
                best=row.snapshot.record.snapshot_id in self.best.values(),
            )


@dataclass(frozen=True)
class PopulationScope:
    """The table of one population. everyone: together with all other populations of its game."""

    name: str
    everyone: bool = False

    @property
    def title(self) -> str:
        return f"population {self.name}" + (" and all others of its game" if self.everyone else "")

    def table(self, league: League) -> RatingTable:
        """The table as the league has it now. Raises: PlayerError."""
        return population_table(league, self.name, everyone=self.everyone)

    def rated(self, league: League) -> RatedScope:
        """The table with the best players, or the mean returns. Raises: PlayerError."""
        table = self.table(league)
        own = table if not self.everyone else population_table(league, self.name)
        returns = None if table.rows else return_table(league, self.name)
        if returns is not None and returns.rows:
            roles = roles_of(league, self.name)
            best = {role: best_by_return(returns.rows, role) for role in roles}
            found = {role: row.snapshot for role, row in best.items() if row is not None}
        else:
            returns, rows = None, best_of_roles(own.rows)
            found = {role: row.snapshot for role, row in rows.items() if row.snapshot is not None}
        ids = {role: snapshot.record.snapshot_id for role, snapshot in found.items()}
        return RatedScope(self.title, table, own, returns, ids)


@dataclass(frozen=True)
class GameScope:
    """The table of every player of a game, with the options of that game."""

    env_name: str
    env_options: Mapping[str, Any]

    @property
    def title(self) -> str:
        return f"game {self.env_name}" + (f" {dict(self.env_options)}" if self.env_options else "")

    def table(self, league: League) -> RatingTable:
        """The table as the league has it now."""
        return game_table(league, self.env_name, self.env_options)

    def rated(self, league: League) -> RatedScope:
        """The same with its title."""
        return RatedScope(self.title, self.table(league))


Scope = PopulationScope | GameScope


@dataclass(frozen=True)
class Ratings:
    """The ratings that `arena.rate` found.

    tables  one for each population or game asked for
    """

    tables: tuple[RatedScope, ...]

    @property
    def best(self) -> str | None:
        """The name of the best player; None without one, and where there are several."""
        found = [row.player for row in self.records() if row.best]
        return found[0] if len(found) == 1 else None

    def records(self) -> list[FlatRating]:
        """The rows of all tables."""
        return [row for table in self.tables for row in table.records()]


def rate(
    population: str | None = None,
    *,
    env: str | None = None,
    everyone: bool = False,
    data: Path | str | None = None,
) -> Ratings:
    """Rate players anew from all evaluation games and matches that are stored by now.

    population  of these snapshots; None: every population, and every game of matches only
    env         instead of a population: every player of this game, one table per set of options
    everyone    together with all other populations of its game
    data        the data directory; None: $ARENA_DATA, else ./arena-data
    Raises: NoLeagueError where there is no league, PlayerError for an unknown population and a game
    that was not played, ConfigError for env with a population.
    """
    check_kinds(
        "arena.rate",
        {"population": population, "env": env, "everyone": everyone},
        renamed={"env": "game"},
    )
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        scopes = scopes_of(league, population, env, everyone=everyone)
        return Ratings(tuple(scope.rated(league) for scope in scopes))


def scopes_of(
    league: League, name: str | None, env: str | None, *, everyone: bool = False
) -> Sequence[Scope]:
    """The tables that a caller asks for.

    name      one population
    env       one game: a table for each of its sets of options
    neither   every population, and every game that was played in matches only
    everyone  one table per game instead of one per population
    Raises: ConfigError for name and env together, PlayerError for a game that was not played here.
    """
    if env is not None:
        if name is not None or everyone:
            raise ConfigError(
                "the choice of ratings",
                [
                    f"env {env} with {name or 'all'}: env already means every player of the "
                    "game; choose one"
                ],
            )
        # Imported here because it loads the games, which are needed only where one is named.
        from pbt.envs.names import absolute_name

        return _of_game(league, absolute_name(env))
    if name is not None:
        return [PopulationScope(name, everyone)]
    games = {
        repr((env_name, options)): GameScope(env_name, options)
        for env_name, options in rated_games(league)
    }
    shown: list[Scope] = []
    for population in list_populations(league):
        config = stored_config(league, population.name)["env"]
        first = games.pop(repr((config["name"], game_options(config))), None) is not None
        if first or not everyone:
            shown.append(PopulationScope(population.name, everyone))
    return [*shown, *games.values()]


def _of_game(league: League, env: str) -> list[GameScope]:
    games = rated_games(league)
    tables = [GameScope(name, options) for name, options in games if name == env]
    if tables:
        return tables
    names = sorted({name for name, _ in games})
    near = difflib.get_close_matches(env, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"played are: {', '.join(names) or 'none'}"
    raise PlayerError(f"env {env}: no player of this league has played it; {hint}")
