"""`arena upgrade`: a league of an earlier version becomes one of this version."""

from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import data_dir, league_path
from arena.league.database import upgrade_league
from arena.league.schema import SCHEMA_REVISION
from pbt.errors import PlayerError


def upgrade(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Upgrade the league to this program's schema; a copy of it stays beside it.

    Nothing is done to a league that has it already.
    """
    path = league_path(data_dir(data))
    if not path.exists():
        raise PlayerError(f"there is no league in {path.parent}; name the right one with --data")
    upgrade_league(path)
    if as_json:
        print_json({"league": path, "schema": SCHEMA_REVISION})
    else:
        print(f"{path}: schema {SCHEMA_REVISION}")
