"""The options by which `arena league` and `arena matrix` are told whose ratings to show."""

from typing import Annotated

import typer

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
