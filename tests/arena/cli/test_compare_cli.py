"""`arena compare`: what it refuses, what it says, and a whole comparison that is stopped twice
and goes on.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.cli.app import run
from arena.cli.compare import EXIT_CODES, outcome_json, outcome_lines
from arena.matches.compare import Comparison, Contestant, read_kept
from arena.matches.compare_finals import ComparisonResult, looks_of
from arena.stats.seed_scores import seed_lead, seed_score
from pbt.config.schema import RunConfig
from pbt.objective import ObjectiveKind

CONFIG = """
[env]
name = "connect_four"
[population]
members = 2
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[evaluation]
final_games = 2
[snapshots]
every_frames = 300
[checkpoints]
every_s = 1
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG)
    return path


def compare(config: Path, *more: str, data: Path | None = None) -> int:
    data = data or config.parent / "data"
    return run(["compare", str(config), str(config), "--frames", "500", "--data", str(data), *more])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "A and B are the same configuration; change a value of one of them"),
        (
            ("--set-b", "env.name=tictactoe"),
            "A plays connect_four {}, B plays tictactoe {}; expected one game",
        ),
        (
            ("--set-b", "env.objective=margin"),
            "A counts in win, B in margin; expected one objective, such as --set env.objective=win",
        ),
        (("--set-b", "matchmaking.past_mode=pfsp"), "matchmaking.past_mode"),
        (("--set-b", "seed=5"), "A and B are the same configuration"),
        (("--set-a", "learning.gamma=0.5", "--name", "Not OK"), "population name"),
        (("--set-a", "learning.gamma=0.5", "--name", "a" * 64), "must be 1 to 64"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_written(
    config: Path, more: tuple[str, ...], message: str, capsys: Output
) -> None:
    assert compare(config, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and message in captured.err, captured.err
    assert not (config.parent / "data").exists()


def test_a_population_of_somebody_else_is_left_alone(config: Path, capsys: Output) -> None:
    there = config.parent / "data" / "populations" / "run-b2"
    there.mkdir(parents=True)
    (there / "config.json").write_text("{}")
    assert compare(config, "--set-b", "learning.gamma=0.5") == 2
    assert (
        "population run-b2 exists already and belongs to no comparison; choose another name"
        in capsys.readouterr().err
    )
    assert [path.name for path in there.parent.iterdir()] == ["run-b2"]


def outcome(
    values: list[list[float]], looks: tuple[int, ...] = (2,), objective: ObjectiveKind = "win"
) -> ComparisonResult:
    configs = [
        RunConfig.model_validate(
            {"env": {"name": "connect_four"}, "matchmaking": {"past_share": share}}
        )
        for share in (0.2, 0.0)
    ]
    contestants = {
        side: Contestant(side.upper(), f"{side}.toml", one, ())
        for side, one in zip("ab", configs, strict=True)
    }
    seeds, data = len(values), Path("data")
    comparison = Comparison("x", contestants, seeds, 500, 400, data)  # type: ignore[arg-type]
    found = np.array(values)
    total = seed_score(found, 400) if objective == "win" else seed_lead(found, 0 * found)
    rows = tuple(map(tuple, values))
    return ComparisonResult(comparison, objective, rows, 400, 0, total, looks)


@pytest.mark.parametrize(
    ("scores", "verdict", "code", "line"),
    [
        ([[0.7, 0.72], [0.71, 0.74]], "better", 0, "Verdict  A is better (95 %, 2 seeds)"),
        ([[0.3, 0.28], [0.29, 0.26]], "worse", 5, "Verdict  A is worse (95 %, 2 seeds)"),
        (
            [[0.7, 0.4], [0.6, 0.3]],
            "undecided",
            6,
            (
                "Verdict  undecided (95 %); with --seeds 4 the same command goes on: a narrower "
                "interval, and one more look"
            ),
        ),
        (
            [[1.0]],
            "undecided",
            6,
            (
                "Verdict  undecided (95 %); with --seeds 2 the same command goes on: a narrower "
                "interval, and one more look"
            ),
        ),
        ([[1.0, 1.0], [1.0, 1.0]], "better", 0, "Verdict  A is better (95 %, 2 seeds)"),
    ],
)
def test_what_it_says(scores: list[list[float]], verdict: str, code: int, line: str) -> None:
    found = outcome(scores)
    assert (found.total.verdict, EXIT_CODES[found.total.verdict]) == (verdict, code)
    lines = outcome_lines(found)
    assert lines[-1] == line and "Differs  matchmaking.past_share: A 0.2, B 0.0" in lines
    assert not any(word in " ".join(lines) for word in ("nan", "inf ", "None"))
    told = json.loads(json.dumps(outcome_json(found), allow_nan=False))
    assert (
        told["verdict"] == verdict
        and told["scores"] == scores
        and told["populations"]["b"][-1] == f"x-b{len(scores)}"
    )
    assert "Decided  by games won" in lines
    assert (told["objective"], told["lead"], told["leads"]) == ("win", None, None)


@pytest.mark.parametrize(
    ("leads", "verdict", "line"),
    [
        ([[0.7, 0.9], [0.8, 0.6]], "better", "Lead     +0.75 a game for A [+0."),
        ([[-70.5, -90], [-80, -60]], "worse", "Lead     -75.12 a game for A [-"),
        ([[0.6, 0.2], [-0.4, -0.5]], "undecided", "Lead     -0.025 a game for A [-"),
        ([[0.3]], "undecided", "Lead     +0.3 a game for A; one seed does not show"),
        ([[0.0, 0.0], [0.0, 0.0]], "undecided", "Lead     +0 a game for A; all games gave the"),
    ],
)
def test_margins_and_returns_are_leads(leads: list[list[float]], verdict: str, line: str) -> None:
    """A score of a half means nothing where margins decide: the lead of equal runs is 0."""
    for objective, decided in (("margin", "by margins: what"), ("return", "by returns: how")):
        found = outcome(leads, objective=objective)  # type: ignore[arg-type]
        lines = outcome_lines(found)
        assert found.total.verdict == verdict
        assert [one for one in lines if one.startswith(line)], lines
        assert [one for one in lines if one.startswith(f"Decided  {decided}")]
        assert not any(one.startswith(("Score", "Elo")) for one in lines)
        told = json.loads(json.dumps(outcome_json(found), allow_nan=False))
        assert (told["objective"], told["leads"], told["lead"]) == (
            objective,
            leads,
            pytest.approx(np.mean(leads)),
        )
        assert (told["score"], told["scores"], told["elo"]) == (None, None, None)


def test_looks_are_counted_and_said(tmp_path: Path) -> None:
    """Seeds added to a comparison that was looked at make a second look, of which 95 % is not
    true; the same seeds again make none.
    """
    begun = replace(outcome([[0.5]]).comparison, data=tmp_path)
    looks = [
        looks_of(one, read_kept(one))
        for one in (replace(begun, seeds=seeds) for seeds in (3, 3, 6, 3))
    ]
    assert looks == [(3,), (3,), (3, 6), (3, 6)]
    first, third = (outcome_lines(outcome([[0.5]], told)) for told in ((3,), (3, 6, 12)))
    assert not any(line.startswith("Looks") for line in first)
    assert any(line.startswith("Looks    3, after 3, 6 and 12 seeds;") for line in third)
    assert outcome_json(outcome([[0.5]], (3, 6)))["looks"] == (3, 6)


# --- whole comparisons ----------------------------------------------------------------------------


def arguments(config: Path, *more: str) -> list[str]:
    fixed = [
        "--set-b",
        "matchmaking.past_share=0",
        "--set-a",
        "matchmaking.past_mode=pfsp_hard",
        "--frames",
        "1500",
        "--games",
        "200",
        "--seeds",
        "2",
    ]
    return [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "compare",
        str(config),
        str(config),
        *fixed,
        "--data",
        str(config.parent / "data"),
        "--json",
        *more,
    ]


def until(condition: Any, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_comparison_that_is_stopped_goes_on_to_the_same_verdict(config: Path) -> None:
    """Ctrl-C while the first population trains, kill -9 while the second does, and a third time
    between the matches.
    """
    data, log = config.parent / "data", config.parent / "log"

    def begin() -> subprocess.Popen[bytes]:
        with log.open("wb") as written:
            return subprocess.Popen(arguments(config), stdout=subprocess.DEVNULL, stderr=written)

    def has(name: str) -> bool:
        return (data / "populations" / name / "checkpoints").exists()

    def lock_is_free(name: str) -> bool:
        return (
            subprocess.run(
                ["flock", "-n", data / "populations" / name / "lock", "true"], check=False
            ).returncode
            == 0
        )

    first = begin()
    until(lambda: has("run-a1"))
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 130 and b"the same command goes on" in log.read_bytes()
    second = begin()
    until(lambda: has("run-b1"))
    os.kill(second.pid, signal.SIGKILL)
    second.wait(10)
    until(lambda: lock_is_free("run-b1"), 60)
    third = begin()
    until(lambda: b"playing the finals" in log.read_bytes(), 300)
    third.send_signal(signal.SIGINT)
    third.wait(60)
    done = subprocess.run(
        arguments(config), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert done.returncode == EXIT_CODES[told["verdict"]]
    again = subprocess.run(
        arguments(config), capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(again.stdout) == told and "training" not in again.stderr
    meetings = json.loads((data / "comparisons" / "run.json").read_bytes())["meetings"]
    assert len(meetings) == 16 and len({meeting["match"] for meeting in meetings.values()}) == 16, (
        "every match once"
    )
    refused = subprocess.run(
        arguments(config, "--set", "learning.gamma=0.5"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2 and "A: learning.gamma = 0.5: found 0.99" in refused.stderr
    (data / "comparisons" / "run.json").write_text("{")
    damaged = subprocess.run(
        arguments(config), capture_output=True, text=True, timeout=60, check=False
    )
    assert damaged.returncode == 1 and "run.json: damaged" in damaged.stderr


@pytest.mark.slow
def test_games_of_every_objective_and_of_roles_are_compared(config: Path, capsys: Output) -> None:
    for game, objective, more in (
        ("hide_and_seek", "win", ()),
        ("texas_holdem", "margin", ("--set", "env.options.num_players=3")),
        ("mpe", "return", ()),
    ):
        assert (
            compare(
                config,
                "--set",
                f"env.name={game}",
                *more,
                "--set-b",
                "learning.gamma=0.5",
                "--seeds",
                "1",
                "--games",
                "8",
                "--name",
                game,
                "--json",
            )
            == EXIT_CODES["undecided"]
        )
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (told["env"], told["objective"], told["low"]) == (game, objective, None)
        if objective == "win":
            assert 0 <= told["scores"][0][0] <= 1 and told["leads"] is None
        else:
            assert isinstance(told["leads"][0][0], float) and told["scores"] is None
