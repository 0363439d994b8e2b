"""What a training shows of PBT: start values, copies when they happen, all of them at the end."""

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from arena.cli.app import run
from arena.cli.copies import copy_lines, how_copies_are_judged, value_lines
from arena.cli.display import Display
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.stored_history import list_events, list_rounds
from arena.training.progress import MemberProgress, Progress
from arena.training.train import start_training
from pbt.config.load import config_from_table
from pbt.config.population import PbtConfig
from pbt.hyperparams import initial_hyperparams
from tests.arena.tiny_populations import UNRATED

PBT = {"period_frames": 400, "warmup_frames": 400, "min_games": 5, "spread_start": 3.0}
SPREAD: dict[str, Any] = {
    **UNRATED,
    "stop_at_frames": 1300,
    "population": {"members": 3},
    "pbt": PBT,
}


WITH_DQN = {
    "members": {"m2": {"algorithm": "dqn"}},
    "dqn": {"replay_rows": 1024, "least_rows": 64, "batch_rows": 32},
}


def trained(data: Path, more: Mapping[str, Any] | None = None, **pbt: Any) -> list[str]:
    """Train a population "run". Returns the lines that it said."""
    said: list[str] = []
    table = {**SPREAD, **(more or {}), "pbt": {**PBT, **pbt}}
    start_training(config_from_table(table, "run"), "run", data, lambda progress: None, said.append)
    return said


def test_members_begin_with_values_of_their_own_and_copies_are_told(tmp_path: Path) -> None:
    """Any lead is enough here, so that three members surely copy."""
    said = trained(tmp_path, copy_gap=0.0, mutation_probability=0.5)
    assert not any("PBT" in line for line in said)
    config = config_from_table(SPREAD, "run")
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [row.event.text for row in list_events(league, "run") if row.event.kind == "start"]
        rounds = [row.record for row in list_rounds(league, "run")]
        lines, values = copy_lines(league, "run"), value_lines(league, "run", "m1")
    first = {
        name: initial_hyperparams(config, name, ("reward",)).flat() for name in ("m0", "m1", "m2")
    }
    assert texts == [
        "starts with " + ", ".join(f"{key} {value:.6g}" for key, value in own.items())
        for own in first.values()
    ]
    assert rounds[0].hyperparams == first
    copies = [one for one in rounds if one.directive.copy_from]
    assert copies and lines[0].endswith(f"in {len(rounds)} rounds:")
    assert len(lines) == 1 + 3 * len(copies)
    one, told = copies[0], lines[1:4]
    assert told[0].startswith(f"  {one.member} copied {one.directive.copy_from} at ")
    assert f"why: {one.directive.copy_from} (win rate " in told[1] and "ahead by" in told[1]
    before = one.hyperparams[one.member]["learning_rate"]
    after = one.directive.hyperparams["learning_rate"]
    assert f"learning_rate {before:.3g} -> {after:.3g}" in told[2]
    began = first["m1"]["learning_rate"]
    assert any(line.startswith(f"  learning_rate: began at {began:.3g}, ") for line in values)


def test_rounds_by_the_run_verify_also_when_they_were_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An explicit copy_gap changes what the open choices are; a spread is fixed. One member has
    hyperparameters that the others have not.
    """
    trained(tmp_path, WITH_DQN)
    with open_league(league_path(tmp_path), read_only=True) as league:
        lines = copy_lines(league, "run")
    assert lines[0].startswith("PBT copied ")
    folder = ["--data", str(tmp_path)]
    assert run(["train", "--resume", "run", "--set", "pbt.spread_start=2", *folder]) == 2
    edits = (
        "stop_at_frames=2000",
        "pbt.copy_gap=0.1",
        "learning.learning_rate=0.002",
        "learning.entropy_coef=0.003",
        "dqn.epsilon_end=0.2",
    )
    words = [word for edit in edits for word in ("--set", edit)]
    assert run(["train", "--resume", "run", *words, *folder, "--json"]) == 0
    joins = ("stop_at_frames=2600", 'population.joined.m3={role="player"}')
    words = [word for edit in joins for word in ("--set", edit)]
    assert run(["train", "--resume", "run", *words, *folder, "--json"]) == 0
    with open_league(league_path(tmp_path), read_only=True) as league:
        rounds = [row.record for row in list_rounds(league, "run")]
    assert [one.rules["copy_significance_per"] for one in (rounds[0], rounds[-1])] == [
        "run",
        "comparison",
    ]
    assert any(one.member == "m3" for one in rounds)
    assert run(["verify", "run", *folder]) == 0
    capsys.readouterr()
    assert run(["lineage", "run/m2", *folder, "--json"]) == 0
    steps = [step["hyperparams"] for step in json.loads(capsys.readouterr().out)["steps"]]
    assert 0.2 in [step["epsilon_end"] for step in steps]
    assert not any("entropy_coef" in step for step in steps)


def test_a_training_whose_pbt_can_never_act_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = trained(tmp_path, warmup_frames=5000)
    idle = next(line for line in said if line.startswith("PBT never acts: "))
    assert "its first round is at 5200 frames" in idle
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert copy_lines(league, "run") == ["PBT held no round."]
        assert value_lines(league, "run", "m0") == []
    path = tmp_path / "two.toml"
    path.write_text('[env]\nname = "connect_four"\n[population]\nmembers = 2\n')
    capsys.readouterr()
    assert run(["config", "show", str(path)]) == 0
    assert "PBT copies nothing, it only mutates: " in capsys.readouterr().err


def test_a_copy_is_shown_when_it_happens_and_stays() -> None:
    member = MemberProgress("m0", "player", 70_656, 2e3, 0.4, 900, None, 0, "", False)
    before = Progress(1.0, 1, 10, 1.0, 9.0, 31, 16, (member,), None, None)
    copied = MemberProgress(
        "m0", "player", 71_680, 2e3, 0.4, 0, None, 1, "round 1: copied m1, 0.21 ahead", False
    )
    after = Progress(2.0, 2, 10, 1.0, 8.0, 31, 16, (copied,), None, None)
    display, out = Display("demo"), StringIO()
    display._console = Console(file=out, width=80)
    for progress in (before, after, after):
        display(progress)
    assert out.getvalue().count("m0 at 71.7k frames, round 1: copied m1, 0.21 ahead") == 1
    quiet, none = Display("demo", quiet=True), StringIO()
    quiet._console = Console(file=none, width=80)
    for progress in (before, after):
        quiet(progress)
    assert none.getvalue() == ""


def test_the_rule_in_a_sentence() -> None:
    assert "once in 100 whole runs" in how_copies_are_judged(PbtConfig())
    assert how_copies_are_judged(PbtConfig(copy_gap=0.35)) == (
        "A member copies another only if its lead is large enough."
    )
