"""`arena rounds wiring` and what else shows wiring certificates, of real trainings."""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from tests.pbt.runtime import wiring_faults

CONFIG = """
stop_at_frames = 900
[env]
name = "tictactoe"
[population]
members = 2
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[pbt]
period_frames = 300
warmup_frames = 300
min_games = 5
score_games = 40
[snapshots]
every_frames = 250
[evaluation]
final_games = 2
[runtime]
placement = "serial"
"""
Output = pytest.CaptureFixture[str]


def trained(folder: Path, code: int) -> Path:
    (folder / "run.toml").write_text(CONFIG)
    data = folder / "data"
    assert run(["train", str(folder / "run.toml"), "--data", str(data)]) == code
    return data


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("clean"), 0)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        wiring_faults.snapshots_are_rounded(patch.setattr)
        return trained(tmp_path_factory.mktemp("faulty"), 1)


def said(capsys: Output, *arguments: str, data: Path, code: int = 0) -> str:
    capsys.readouterr()
    assert run([*arguments, "--data", str(data)]) == code
    return capsys.readouterr().out


def listed(capsys: Output, *arguments: str, data: Path, code: int = 0) -> Any:
    return json.loads(said(capsys, *arguments, "--json", data=data, code=code))


def test_every_round_has_a_certificate_that_agrees(clean: Path, capsys: Output) -> None:
    rounds = listed(capsys, "rounds", "list", "run", data=clean)
    assert len(rounds) >= 4
    assert all(one["wiring"]["agrees"] for one in rounds)
    assert all(one["wiring"]["member"] == one["member"] for one in rounds)
    certificates = listed(capsys, "rounds", "wiring", "run", data=clean)
    # One more for every member, from its first update to its first round.
    assert len(certificates) == len(rounds) + 2
    text = said(capsys, "rounds", "wiring", "run", data=clean)
    assert f"population run: {len(certificates)} certificates: all agree" in text
    assert "actor_log_prob" in text and "largest difference" in text
    table = said(capsys, "rounds", "list", "run", data=clean)
    assert table.count("agrees") == len(rounds) and "DIFFERS" not in table
    assert listed(capsys, "status", "run", data=clean)["wiring"] is None


def test_a_fault_is_said_loudly_everywhere(faulty: Path, capsys: Output) -> None:
    text = said(capsys, "rounds", "wiring", "run", data=faulty, code=1)
    assert "does not hold the learner's weights" in text and " differ" in text
    certificates = listed(capsys, "rounds", "wiring", "run", data=faulty, code=1)
    assert not all(one["agrees"] for one in certificates)
    assert "DIFFERS" in said(capsys, "rounds", "list", "run", data=faulty)
    assert "WIRING FAULT: wiring of m" in said(capsys, "status", "run", data=faulty)
    assert "does not hold" in listed(capsys, "status", "run", data=faulty)["wiring"]


def test_a_training_with_a_fault_goes_on_and_ends_red(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring_faults.snapshots_are_rounded(monkeypatch.setattr)
    trained(tmp_path, 1)
    errors = capsys.readouterr().err
    assert "WIRING FAULT: wiring of m" in errors and "finished. Next:" in errors
    assert errors.rstrip().splitlines()[-1].startswith("error: wiring fault: wiring of m")
