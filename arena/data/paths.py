"""Paths of a data directory: one league database, and one folder per population.

arena-data/
    league.db                     results of all populations
    identity                      a random number that the league has, too
    matches.lock                  locked by the processes that play matches
    imported/                     snapshots from other leagues: NAME.json, weights/
    logs/                         crashes of the command line
    evaluations/NUMBER/           a match that was requested from the service: report.json with
                                  its results so far, service.log
    populations/NAME/
        config.json               the resolved config
        checkpoints/ snapshots/ metrics/ logs/
        films/                    pictures of recorded games (`evaluation.record_share`)
        status.json               what the trainer's processes do, written every second
        edits.json                edits that the running trainer is to take without a restart
        webhook.json              where the service tells what becomes of the population
        lock                      held by the trainer
"""

import os
import re
import shlex
from pathlib import Path

from arena.argument_kinds import check_kinds
from pbt.errors import ConfigError
from pbt.film.folder import FOLDER
from pbt.user_folders import expanded

DATA_VARIABLE = "ARENA_DATA"
DEFAULT_DATA = "arena-data"
IMPORTED = "imported"
RESERVED_NAMES = (IMPORTED, "match")
POPULATION_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def data_dir(option: Path | str | None = None) -> Path:
    """`--data`, else $ARENA_DATA, else ./arena-data; absolute, not created here.

    Raises: ConfigError for what is no path.
    """
    check_kinds("the data directory", {"data": option})
    return expanded(option or os.environ.get(DATA_VARIABLE) or DEFAULT_DATA).absolute()


def data_text(option: Path | None) -> str:
    """The option with which a printed command has to end, so that it uses the same directory."""
    return "" if option is None else f" --data {shlex.quote(str(option))}"


def check_population_name(name: str) -> str:
    """Returns the name if it is safe as a folder's name and inside player names.

    Raises: ConfigError that suggests a safe name.
    """
    if name in RESERVED_NAMES:
        raise ConfigError(
            "population name",
            [
                (
                    f'"{name}": reserved: imported/NAME and match:12:5 name snapshots and games; '
                    "choose another"
                )
            ],
        )
    if POPULATION_NAME.fullmatch(name):
        return name
    fitting = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:64] or "demo"
    raise ConfigError(
        "population name",
        [
            (
                f'"{name}": must be 1 to 64 of a-z, 0-9, "-" and "_", not starting with "-" or '
                f'"_"; try {fitting}'
            )
        ],
    )


class PopulationPaths:
    """The paths of one population's files.

    root  the population's folder
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.json"
        self.checkpoints = root / "checkpoints"
        self.snapshots = root / "snapshots"
        self.films = root / FOLDER
        self.metrics = root / "metrics"
        self.logs = root / "logs"
        self.status = root / "status.json"
        self.edits = root / "edits.json"
        self.lock = root / "lock"

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.root.parent.parent


def league_path(data: Path) -> Path:
    return data / "league.db"


def match_report_file(data: Path, number: int) -> Path:
    """The report of a match that was requested from the service. Its log lies beside it."""
    return data / "evaluations" / str(number) / "report.json"


def population_paths(data: Path, name: str) -> PopulationPaths:
    """The paths of this population. Raises: ConfigError for an unsafe folder name."""
    return PopulationPaths(data / "populations" / check_population_name(name))


def population_names(data: Path) -> list[str]:
    """The names of the populations that have a folder with a config, sorted."""
    return sorted(
        path.parent.name
        for path in (data / "populations").glob("*/config.json")
        if POPULATION_NAME.fullmatch(path.parent.name)
    )
