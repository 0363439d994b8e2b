"""Strength for CPU time: a real short training, what stands of them, and means over seeds."""

import json
from pathlib import Path

import pytest

from bench import strength


def test_mean_and_worst_over_seeds() -> None:
    runs = [
        {"seconds": 10.0, "cpu_s": 19.0, "scores": {"oneply": {"score": 0.5}}},
        {"seconds": 12.0, "cpu_s": 21.0, "scores": {"oneply": {"score": 0.7}}},
    ]
    assert strength.summary(runs) == {
        "oneply": {"mean": pytest.approx(0.6), "worst": 0.5},
        "seconds": {"mean": 11.0, "worst": 12.0},
        "cpu_s": {"mean": 20.0, "worst": 21.0},
    }


def test_a_long_search_plays_fewer_games() -> None:
    asked = {
        name: strength.games_against(name, 400) for name in ("oneply", "mcts:100", "mcts:1000")
    }
    assert asked == {"oneply": 400, "mcts:100": 400, "mcts:1000": 200}


def test_runs_of_other_settings_are_refused(tmp_path: Path) -> None:
    report = tmp_path / "strength.json"
    stored = {"settings": {"config": "demo", "seeds": [1]}, "runs": {"1": {}}}
    report.write_text(json.dumps(stored))
    assert strength.earlier(report, {"config": "demo", "seeds": [1, 2]}) == {"1": {}}
    with pytest.raises(SystemExit, match="name another file"):
        strength.earlier(report, {"config": "connect_four", "seeds": [1]})


@pytest.mark.slow
def test_a_seed_is_trained_and_plays_and_a_second_call_trains_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "strength.json"
    small = ["stop_at_frames=3000", "population.members=1", "pbt.enabled=false"]
    small += ["evaluation.final_games=0", "sampling.environments=16", "snapshots.every_frames=1000"]
    settings = [word for one in small for word in ("--set", one)]
    places = ["--folder", str(tmp_path), "--json", str(report), "--no-grade"]
    games = ["--player", "trained/m0", "--games", "4", "--opponents", "oneply", "mcts:5"]
    call = ["--seeds", "3", *settings, *games, *places]
    assert strength.main(call) == 0
    stored = json.loads(report.read_bytes())
    (run,) = stored["runs"].values()
    assert run["cpu_s"] > 1.0 and run["seconds"] > 1.0
    assert [one["games"] for one in run["scores"].values()] == [4, 4]
    assert not any(one["forfeits"] or one["errors"] for one in run["scores"].values())
    capfd.readouterr()
    assert strength.main(call) == 0
    assert json.loads(report.read_bytes()) == stored
    assert "oneply" in capfd.readouterr().out
