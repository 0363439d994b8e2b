"""`arena config`: what a config resolves to, and the schema of configs."""

from typing import Annotated

import typer

from arena.cli.output import JsonOption, SetOption, print_json, say
from pbt.config.dump import json_schema, to_toml
from pbt.config.load import read_config
from pbt.population.idleness import roles_of_config, why_idle

app = typer.Typer(
    no_args_is_help=True, help="Show what a config resolves to, or the schema of configs."
)


@app.command()
def show(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A TOML file, or the name of a shipped config.")
    ],
    overrides: SetOption = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Print where each value comes from.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a config and print every value that it resolves to, as TOML."""
    loaded = read_config(config, overrides or ())
    if as_json:
        values = loaded.config.model_dump(mode="json")
        print_json({"config": values, "origins": dict(loaded.origins)} if origin else values)
    else:
        print(to_toml(loaded.config, loaded.origins if origin else None), end="")
    if idle := why_idle(loaded.config, roles_of_config(loaded.config)):
        say(idle)


@app.command()
def schema() -> None:
    """Print the JSON Schema of config files, for editors."""
    print_json(json_schema())
