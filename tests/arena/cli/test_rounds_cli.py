"""`arena rounds list` and the rounds in `arena verify`, on a real population: its rounds agree with
the rows, and no row can be altered without notice.
"""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from tests.arena.cli.round_alterations import ALTERATIONS, rounds_of, store

CONFIG = """
stop_at_frames = 1500
[env]
name = "connect_four"
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[pbt]
period_frames = 400
warmup_frames = 400
min_games = 5
score_games = 40
copy_gap = 0.0
mutation_probability = 0.5
[evaluation]
final_games = 2
"""
EDITS = (
    "stop_at_frames=2500",
    "pbt.copy_gap=0.1",
    "pbt.entropy_coef_bounds=[1e-5, 0.5]",
    "learning.learning_rate=0.002",
)
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A population with copies and mutations, resumed once with edits."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "run.toml").write_text(CONFIG)
    data = folder / "data"
    assert run(["train", str(folder / "run.toml"), "--data", str(data), "--json"]) == 0
    edits = [word for edit in EDITS for word in ("--set", edit)]
    assert run(["train", "--resume", "run", *edits, "--data", str(data), "--json"]) == 0
    return data


@pytest.fixture
def data(trained: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(trained, tmp_path / "data"))


def verify(data: Path, capsys: Output) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", "run", "--replay", "none", "--data", str(data), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_real_population_agrees(trained: Path, capsys: Output) -> None:
    code, report = verify(trained, capsys)
    assert (code, report["differences"]) == (0, [])
    stored = rounds_of(trained)
    assert report["rounds"] == len(stored) >= 20
    assert report["scores"] == 4 * len(stored)
    assert report["copies"] == sum(row["directive"]["copy_from"] is not None for row in stored) > 0
    assert any(row["directive"]["mutated"] for row in stored)
    assert report["games_read"] > 100
    assert len({json.dumps(row["rules"]) for row in stored}) == 2, (
        "the edit at the resume is part of the test"
    )


def test_a_difference_names_round_member_and_values(data: Path, capsys: Output) -> None:
    row = rounds_of(data)[5]
    row["scores"][0]["objective"] += 0.125
    store(data, row["id"], "scores", row["scores"])
    capsys.readouterr()
    assert run(["verify", "run", "--replay", "none", "--data", str(data)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (told,) = [
        line
        for line in lines
        if line.startswith(
            f"round {row['round']} of {row['member']}: score of {row['scores'][0]['member']}: "
            f"stored {row['scores'][0]['objective']!r}"
        )
    ]
    assert "recomputed" in told
    assert "rows or files were altered or lost" in lines[-1]


@pytest.mark.parametrize("seeds", [(0, 1), pytest.param((2, 3, 4), marks=pytest.mark.slow)])
@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda alter: alter.__name__)
def test_one_altered_row_makes_it_fail(
    alter: Callable[[Path, random.Random], None],
    seeds: tuple[int, ...],
    data: Path,
    trained: Path,
    capsys: Output,
) -> None:
    for seed in seeds:
        shutil.copy(league_path(trained), league_path(data))
        alter(data, random.Random(seed))
        code, report = verify(data, capsys)
        of_rounds = [one for one in report["differences"] if not one["expected"]]
        assert code == 1 and of_rounds, f"{alter.__name__} with seed {seed} went unnoticed"


def test_list_tells_what_each_round_did(trained: Path, capsys: Output) -> None:
    capsys.readouterr()
    assert run(["rounds", "list", "run", "--data", str(trained), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(row["member"], row["round"]) for row in listed] == [
        (row["member"], row["round"]) for row in rounds_of(trained)
    ]
    assert run(["rounds", "list", "run", "--data", str(trained)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(listed)
    assert any("copied m" in line for line in lines)


def test_unknown_population_exits_2(trained: Path, capsys: Output) -> None:
    assert run(["rounds", "list", "rum", "--data", str(trained)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean 'run'?" in captured.err
