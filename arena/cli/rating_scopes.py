"""The rating tables that `arena league` and `arena matrix` show.

A table is of one population, of every player of a game, or of all populations and games.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from arena.cli.rating_report import league_report, standings_report
from arena.cli.rating_table import print_league, print_standings
from arena.league.database import League
from arena.league.populations import stored_config
from arena.league.ratings import RatingTable, game_table, population_table
from arena.league.results import rated_games
from arena.league.summaries import list_populations
from pbt.config.game_options import game_options
from pbt.errors import ConfigError, PlayerError

TableName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A population; without it, all of them, one after the other.",
        show_default=False,
    ),
]
EveryoneOption = Annotated[
    bool, typer.Option("--all", help="Together with all other populations of its game.")
]
GameOption = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="GAME",
        help="Instead of a population: every player of this game.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class PopulationTable:
    """The table of one population.

    everyone  together with all other populations of its game
    """

    name: str
    everyone: bool = False

    @property
    def title(self) -> str:
        return f"population {self.name}" + (" and all others of its game" if self.everyone else "")

    def show(self, league: League, top: int) -> None:
        print_league(league, self.name, everyone=self.everyone, top=top)

    def report(self, league: League) -> dict[str, Any]:
        return league_report(league, self.name, everyone=self.everyone)

    def table(self, league: League) -> RatingTable:
        return population_table(league, self.name, everyone=self.everyone)


@dataclass(frozen=True)
class GameTable:
    """The table of every player of a game, with the options of that game."""

    env_name: str
    env_options: Mapping[str, Any]

    @property
    def title(self) -> str:
        return f"game {self.env_name}" + (f" {dict(self.env_options)}" if self.env_options else "")

    def show(self, league: League, top: int) -> None:
        print_standings(self.title, self.table(league), top)

    def report(self, league: League) -> dict[str, Any]:
        game = {"env": self.env_name, "env_options": dict(self.env_options)}
        return {**game, **standings_report(self.table(league))}

    def table(self, league: League) -> RatingTable:
        return game_table(league, self.env_name, self.env_options)


def tables_of(
    league: League, name: str | None, env: str | None, *, everyone: bool = False
) -> Sequence[PopulationTable | GameTable]:
    """The tables that a command line asks for.

    name      one population
    env       one game: a table for each of its sets of options
    neither   every population, and every game that was played in matches only
    everyone  one table per game instead of one per population
    Raises: ConfigError for name and env together, PlayerError for a game that was not played here.
    """
    if env is not None:
        if name is not None or everyone:
            raise ConfigError(
                "--env",
                [
                    f"{env} with {name or '--all'}: --env already means every player of the "
                    "game; choose one"
                ],
            )
        # Imported here because it loads the games, which are needed only where one is named.
        from pbt.envs.names import absolute_name

        return _of_game(league, absolute_name(env))
    if name is not None:
        return [PopulationTable(name, everyone)]
    games = {
        repr((env_name, options)): GameTable(env_name, options)
        for env_name, options in rated_games(league)
    }
    shown: list[PopulationTable | GameTable] = []
    for population in list_populations(league):
        config = stored_config(league, population.name)["env"]
        first = games.pop(repr((config["name"], game_options(config))), None) is not None
        if first or not everyone:
            shown.append(PopulationTable(population.name, everyone))
    return [*shown, *games.values()]


def _of_game(league: League, env: str) -> list[PopulationTable | GameTable]:
    games = rated_games(league)
    tables: list[PopulationTable | GameTable] = [
        GameTable(name, options) for name, options in games if name == env
    ]
    if tables:
        return tables
    names = sorted({name for name, _ in games})
    near = difflib.get_close_matches(env, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"played are: {', '.join(names) or 'none'}"
    raise PlayerError(f"--env {env}: no player of this league has played it; {hint}")
