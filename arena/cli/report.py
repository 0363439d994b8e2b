"""`arena report`: one HTML file about a population, which opens without a network."""

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json
from arena.data.paths import data_dir, league_path
from arena.words import bytes_text
from pbt.errors import ConfigError

OutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help="Where to write it; without it, NAME-report.html in the current folder.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


def report(
    name: NameArgument,
    out: OutOption = None,
    force: ForceOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a report of a population: one HTML file that opens in a browser without a network.

    It has the verdict in words, strength over frames, win rates, the matrix, what PBT did and why,
    hyperparameters, config, versions, and the head of the chain that `arena verify` compares with.
    """
    from arena.assessment.assessor import Assessor
    from arena.league.database import open_league
    from arena.report.page import page
    from arena.report.read import read_report

    path = Path(f"{name}-report.html") if out is None else out
    if path.exists() and not force:
        raise ConfigError(
            "arena report",
            [f"--out {path}: it exists; name another file, or add --force to replace it"],
        )
    folder = data_dir(data)
    with open_league(league_path(folder), read_only=True) as league:
        facts = read_report(league, folder, name, Assessor(league, folder))
    _write(path, page(facts))
    if as_json:
        print_json(
            {
                "population": name,
                "report": path,
                "size_bytes": path.stat().st_size,
                "conclusion": facts.assessment.conclusion,
                "sentence": facts.assessment.sentence,
                "head": facts.proof.head,
            }
        )
    else:
        print(f"{facts.assessment.sentence}\n{path}   {bytes_text(path.stat().st_size)}")


def _write(path: Path, text: str) -> None:
    """Write it whole or not at all. Raises: ConfigError."""
    from pbt.files import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise ConfigError(
            "arena report",
            [f"--out {path}: {error.strerror}; name a file in a folder that you may write to"],
        ) from error
