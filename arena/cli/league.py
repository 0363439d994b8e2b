"""`arena league`: the rating table of a population, of a game, or of each of them."""

from typing import Annotated, Any

import typer

from arena.cli.output import MOST_ROWS, DataOption, JsonOption, print_json
from arena.cli.rating_report import league_report, standings_report
from arena.cli.rating_scopes import EveryoneOption, GameOption, TableName
from arena.cli.rating_table import TOP_ROWS, print_league, print_standings
from arena.data.paths import data_dir, league_path
from arena.league.database import League, open_league
from arena.python.ratings import PopulationScope, Scope, scopes_of

NO_POPULATION = "no population in {}; train one: arena demo, or arena train connect_four"


def league(
    name: TableName = None,
    everyone: EveryoneOption = False,
    env: GameOption = None,
    top: Annotated[
        int, typer.Option(min=0, max=MOST_ROWS, help="Print this many rows; 0 prints all.")
    ] = TOP_ROWS,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rating table: Elo of frozen snapshots, fitted from all evaluation games.

    The player `random` has 0. Below the table stand the circles in which players beat each other.
    """
    folder = data_dir(data)
    if name is None and not league_path(folder).exists():
        print_json([]) if as_json else print(NO_POPULATION.format(folder))
        return
    with open_league(league_path(folder), read_only=True) as opened:
        scopes = scopes_of(opened, name, env, everyone=everyone)
        if as_json:
            reports = [_report(scope, opened) for scope in scopes]
            print_json(reports if name is None else reports[0])
            return
        for number, scope in enumerate(scopes):
            print("\n" * (number > 0), end="")
            _show(scope, opened, top)
        if not scopes:
            print(NO_POPULATION.format(folder))


def _report(scope: Scope, opened: League) -> dict[str, Any]:
    if isinstance(scope, PopulationScope):
        return league_report(opened, scope.name, everyone=scope.everyone)
    game = {"env": scope.env_name, "env_options": dict(scope.env_options)}
    return {**game, **standings_report(scope.rated(opened).table)}


def _show(scope: Scope, opened: League, top: int) -> None:
    if isinstance(scope, PopulationScope):
        print_league(opened, scope.name, everyone=scope.everyone, top=top)
    else:
        print_standings(scope.title, scope.rated(opened).table, top)
