"""`arena doctor`: checks whether this machine is fit for training; it changes nothing.

Each check is a function of the data directory that yields findings.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import typer

from arena.cli.data_checks import check_data_folder, check_league, check_sqlite
from arena.cli.machine_checks import (
    Finding,
    check_cores,
    check_doom,
    check_memory,
    check_precision,
    check_processes,
    check_python,
    check_queues,
    check_torch,
)
from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import data_dir


def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check Python, PyTorch, cores, memory, disk, database and processes.

    Exit with 1 if something is broken.
    """
    findings = [finding for check in CHECKS for finding in check(data_dir(data))]
    broken = [finding for finding in findings if finding.state == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": [asdict(finding) for finding in findings]})
    else:
        signs = {"ok": "ok    ", "note": "note  ", "broken": "BROKEN"}
        for finding in findings:
            print(f"{signs[finding.state]}  {finding.check:<15} {finding.text}")
        print(
            "This machine can train."
            if not broken
            else f"{len(broken)} of {len(findings)} checks failed."
        )
    if broken:
        raise typer.Exit(1)


CHECKS: tuple[Callable[[Path], Iterator[Finding]], ...] = (
    check_python,
    check_torch,
    check_queues,
    check_precision,
    check_doom,
    check_cores,
    check_memory,
    check_data_folder,
    check_sqlite,
    check_league,
    check_processes,
)
