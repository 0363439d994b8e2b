"""`arena verify` on a population whose objective a person changed: windows that began anew raise no
alarm, and windows over games from before do.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import population_paths
from tests.arena.verification.forging import execute
from tests.arena.verification.made import NAME, fold, resume

Output = pytest.CaptureFixture[str]


def differences(data: Path, capsys: Output) -> list[dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", NAME, "--replay", "none", "--data", str(data), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert code == (0 if report["ok"] else 1)
    found: list[dict[str, Any]] = report["differences"]
    return found


def objectives(data: Path) -> set[str]:
    """Those of the newest start's rounds that stand."""
    query = "SELECT rules FROM rounds WHERE superseded = 0 AND incarnation_id = ?"
    last = execute(data, "SELECT MAX(id) FROM incarnations")[0][0]
    return {json.loads(row[0])["objective"] for row in execute(data, query, last)}


def test_edits_of_the_objective_raise_no_alarm(data: Path, capsys: Output) -> None:
    for objective, frames in (("margin", 2_400), ("win", 2_900)):
        resume(data, f"stop_at_frames={frames}", f"env.objective={objective}")
        assert objectives(data) == {objective}
        assert differences(data, capsys) == []
    resume(data, "stop_at_frames=3200")
    assert objectives(data) == {"win"}
    fold(data)
    assert differences(data, capsys) == []


def test_an_edit_that_a_later_start_undoes_raises_no_alarm(
    data: Path, tmp_path: Path, capsys: Output
) -> None:
    checkpoints = population_paths(data, NAME).checkpoints
    before = shutil.copytree(checkpoints, tmp_path / "before")
    resume(data, "stop_at_frames=2200", "env.objective=margin")
    shutil.rmtree(checkpoints)
    shutil.copytree(before, checkpoints)
    resume(data, "stop_at_frames=2200")
    assert objectives(data) == {"win"}
    assert differences(data, capsys) == []


def test_rounds_of_an_earlier_version_raise_no_alarm_of_their_scores(
    data: Path, capsys: Output
) -> None:
    execute(data, """UPDATE rounds SET rules = replace(rules, '"win"', '"wins"')""")
    assert objectives(data) == {"wins"}
    found = differences(data, capsys)
    # The chain has other rows; the scores and decisions follow from them as before.
    assert found and all(one["where"].startswith("rounds ") for one in found)
