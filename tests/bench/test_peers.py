"""What is said of systems side by side: medians and ratios within a round, speeds of whole
updates, and bad words that are refused at once.
"""

import argparse
import sys
from pathlib import Path

import pytest

from bench import learning, light, peers
from bench.peer_runs import in_turn, measured
from bench.peers import HOT, PEER, ROOFLINE, fastest, summary
from bench.sample_factory import Figures


def test_ratios_are_taken_within_a_round() -> None:
    """The second round had a slow moment: it halves all figures, no ratio."""
    rounds: list[dict[str, Figures]] = [
        {
            "inline": {"frames_per_s": 300.0, "dropped_rows": 1.0},
            PEER: {"frames_per_s": 200.0, "dropped_rows": None},
        },
        {
            "inline": {"frames_per_s": 150.0, "dropped_rows": None},
            PEER: {"frames_per_s": 100.0, "dropped_rows": None},
        },
        {
            "inline": {"frames_per_s": 320.0, "dropped_rows": 3.0},
            PEER: {"frames_per_s": 160.0, "dropped_rows": None},
        },
    ]
    found = summary(rounds)
    assert found["inline"]["frames_per_s"] == {"median": 300.0, "min": 150.0, "max": 320.0}
    assert found["inline"]["ratio"] == {"median": 1.5, "min": 1.5, "max": 2.0}
    assert found[PEER]["ratio"] == {"median": 1.0, "min": 1.0, "max": 1.0}
    assert found["inline"]["dropped_rows"]["median"] == 2.0 and found[PEER]["dropped_rows"] is None
    assert "share_of_roofline" not in found["inline"]
    assert summary(rounds, "inline")[PEER]["ratio"] == {
        "median": pytest.approx(2 / 3),
        "min": 0.5,
        "max": pytest.approx(2 / 3),
    }


def test_the_share_of_the_reference_is_taken_within_a_round() -> None:
    rounds: list[dict[str, Figures]] = [
        {
            "inline": {"frames_per_s": 80.0},
            ROOFLINE: {"frames_per_s": 100.0, HOT: 160.0},
            PEER: {"frames_per_s": 50.0},
        },
        {
            "inline": {"frames_per_s": 30.0},
            ROOFLINE: {"frames_per_s": 50.0, HOT: 60.0},
            PEER: {"frames_per_s": 20.0},
        },
    ]
    found = summary(rounds)
    assert found["inline"]["share_of_roofline"] == {
        "median": pytest.approx(0.7),
        "min": 0.6,
        "max": 0.8,
    }
    assert found["inline"]["share_of_hot_roofline"] == {"median": 0.5, "min": 0.5, "max": 0.5}
    assert found[PEER]["share_of_roofline"]["max"] == 0.5


def test_figures_of_one_run() -> None:
    """400 frames of 4 tics a second are 100 steps; 2 CPU seconds a second for them are 20 for 1
    000.
    """
    points = [{"member": "0", "t": t, "frames": int(400 * t)} for t in (10.0, 15.0, 30.0)]
    found = measured(points, 2.0, 4, pss_mb=7.0)
    assert found == {
        "frames_per_s": 400.0, "steps_per_s": 100.0, "cpu_s_per_1000_steps": 20.0,
        "step_frames": 2_000, "step_s": 15.0, "measured_s": 20.0, "pss_mb": 7.0,
    }  # fmt: skip


def test_systems_are_run_forwards_and_backwards() -> None:
    assert [in_turn(["a", "b", "c"], number) for number in (1, 2, 3)] == [
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["a", "b", "c"],
    ]


def test_the_fastest_setting_is_kept(tmp_path: Path) -> None:
    speeds = {"2x8": 10.0, "2x16": 30.0, "4x16": 20.0}
    found = fastest(
        tmp_path,
        argparse.Namespace(peer_settings=list(speeds)),
        lambda folder, setting, options: {"frames_per_s": speeds[setting]},
    )
    assert found == ("2x16", speeds)
    assert fastest(tmp_path, argparse.Namespace(peer_settings=["2x8"])) == ("2x8", {})


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        (peers, ["--placements", "serail"], "invalid choice: 'serail'"),
        (
            peers,
            ["--peer-settings", "2x16", "2*8"],
            "'2*8' is no setting of Sample Factory: expected WORKERSxENVIRONMENTS",
        ),
        (learning, ["--placement", "serail"], "invalid choice: 'serail'"),
        (
            learning,
            ["--peer-setting", "2x16-quick"],
            "'2x16-quick' is no setting of Sample Factory",
        ),
        (light, ["--peer-settings", "x"], "'x' is no setting of Sample Factory"),
    ],
)
def test_a_bad_word_is_refused_before_anything_runs(
    program: object,
    words: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--sample-factory", "/nowhere/python", *words])
    with pytest.raises(SystemExit) as ended:
        program.main()  # type: ignore[attr-defined]
    assert ended.value.code == 2 and expected in capsys.readouterr().err
