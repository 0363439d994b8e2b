"""`arena league`: the rating table of a population, of a game, or of each of them."""

from typing import Annotated

import typer

from arena.cli.output import MOST_ROWS, DataOption, JsonOption, print_json
from arena.cli.rating_scopes import EveryoneOption, GameOption, TableName, tables_of
from arena.cli.rating_table import TOP_ROWS
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league

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
        tables = tables_of(opened, name, env, everyone=everyone)
        if as_json:
            reports = [table.report(opened) for table in tables]
            print_json(reports if name is None else reports[0])
            return
        for number, table in enumerate(tables):
            print("\n" * (number > 0), end="")
            table.show(opened, top)
        if not tables:
            print(NO_POPULATION.format(folder))
