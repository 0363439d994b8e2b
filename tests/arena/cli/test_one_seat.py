"""Games of one seat, which have no winner: commands show returns and points in place of ratings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.returns import best_by_return, return_standings
from tests.arena.tiny_populations import CONNECT_FOUR, train

Output = pytest.CaptureFixture[str]
CARTPOLE = {
    **CONNECT_FOUR,
    "env": {"name": "cartpole"},
    "stop_at_frames": 600,
    # Large steps, so that it acts otherwise than at random after few of them.
    "learning": {
        "batch_steps": 128,
        "epochs": 1,
        "learning_rate": 0.03,
        "normalize_returns": False,
    },
    "evaluation": {"share": 0.0, "final_games": 40},
}

COUNTING = """
import gymnasium
from gymnasium import spaces


class Counting(gymnasium.Env):
    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(2)

    def __init__(self, steps):
        self.steps = steps

    def reset(self, *, seed=None, options=None):
        self.left, self.ones = self.steps, 0
        return self.left, {}

    def step(self, action):
        self.left -= 1
        self.ones += int(action)
        return self.left, 10.0 * action, self.left == 0, False, {"points": self.ones}


def make(steps=4):
    return Counting(steps)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    train(folder, "alone", CARTPOLE)
    return str(folder)


@pytest.fixture
def counting(tmp_path: Path) -> str:
    path = tmp_path / "counting.py"
    path.write_text(COUNTING, encoding="utf-8")
    return f"{path}:make"


def test_best_is_the_highest_lower_end_of_the_returns(data: str, capsys: Output) -> None:
    with open_league(league_path(Path(data)), read_only=True) as league:
        table = return_standings(league, "alone")
    assert [row.low for row in table] == sorted(
        (row.low for row in table if row.low is not None), reverse=True
    )
    assert all(
        row.low is not None and row.high is not None and row.low < row.mean < row.high
        for row in table
    )
    best = best_by_return(table)
    assert best is not None and best.games >= 30
    assert best_by_return([replace(row, games=29) for row in table]) is None
    assert run(["league", "alone", "--data", data]) == 0
    assert f"alone@best is {best.label}: the highest lower end" in capsys.readouterr().out
    assert run(["league", "alone", "--data", data, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["best"] == best.snapshot.record.snapshot_id
    assert [player["mean_return"] for player in report["players"]] == [row.mean for row in table]


def test_others_are_shown_beside_a_player_over_the_same_episodes(data: str, capsys: Output) -> None:
    assert (
        run(["evaluate", "alone@best", "random", "--episodes", "20", "--data", data, "--json"]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    (other,) = report["beside"]
    lead, low, high = other["lead"]
    assert lead == pytest.approx(report["mean_return"] - other["mean_return"])
    assert low < lead < high
    assert other["player"]["name"] == "random"
    assert report["points"] is None
    assert run(["evaluate", "alone@best", "random", "--episodes", "20", "--data", data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "Return",
        "Length",
        "Seats",
        "random",
        "Return",
        "Length",
        "Seats",
        "Lead",
    ]
    assert lines[-1].startswith(f"Lead     {lead:+.4g} [{low:+.4g}, {high:+.4g}]   of alone/m")


def test_equal_players_have_no_lead_with_an_interval(capsys: Output) -> None:
    assert (
        run(["evaluate", "random", "random", "--env", "cartpole", "--episodes", "5", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["beside"][0]["lead"] is None


def test_points_are_shown_with_their_interval(counting: str, capsys: Output) -> None:
    assert run(["evaluate", "random", "--env", counting, "--episodes", "30", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["points"]["mean"] == pytest.approx(report["mean_return"] / 10.0)
    assert report["points"]["low"] < report["points"]["mean"] < report["points"]["high"]
    assert run(["evaluate", "random", "--env", counting, "--episodes", "30"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "Return",
        "Points",
        "Length",
        "Seats",
    ]


def test_a_list_of_games_says_the_return(data: str, capsys: Output) -> None:
    assert run(["games", "alone", "--data", data]) == 0
    assert "(return " in capsys.readouterr().out


def test_what_comes_next_is_an_evaluation(capsys: Output, tmp_path: Path) -> None:
    quick = [
        "stop_at_frames=100",
        "learning.batch_steps=64",
        "sampling.environments=4",
        "sampling.rollout_steps=8",
        "evaluation.final_games=0",
    ]
    (tmp_path / "pole.toml").write_text(
        'stop_at_frames = 100\n[env]\nname = "cartpole"\n[runtime]\nplacement = "serial"\n',
        encoding="utf-8",
    )
    words = [
        word
        for setting in (*quick, "model.hidden=[8]", "population.members=1", "pbt.enabled=false")
        for word in ("--set", setting)
    ]
    assert (
        run(["train", str(tmp_path / "pole.toml"), *words, "--data", str(tmp_path / "data")]) == 0
    )
    assert f"arena evaluate pole/m0 random --data {tmp_path / 'data'}" in capsys.readouterr().err


def test_a_game_is_checked_with_options(counting: str, capsys: Output) -> None:
    assert run(["env", "check", counting, "--seeds", "2", "--set", "steps=3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mean_decisions"] == 3.0
    assert run(["env", "check", counting, "--set", "steps"]) == 2
    assert "--set steps: no value" in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting", ["steps=3", "env.options.steps=3"], ids=["short", "as in a config"]
)
def test_a_game_that_nobody_was_trained_for_is_evaluated_with_options(
    setting: str, counting: str, capsys: Output
) -> None:
    assert (
        run(
            [
                "evaluate",
                "random",
                "random",
                "--env",
                counting,
                "--episodes",
                "5",
                "--set",
                setting,
                "--json",
            ]
        )
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert (report["mean_length"], report["env_options"]) == (3.0, {"steps": 3})
    assert report["beside"][0]["mean_length"] == 3.0
    assert (
        run(
            ["evaluate", "random", "random", "--env", counting, "--episodes", "5", "--set", setting]
        )
        == 0
    )
    assert [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("Options")
    ] == ["Options  steps = 3"]


def test_options_need_a_game_and_nobody_who_was_trained(
    data: str, counting: str, capsys: Output
) -> None:
    wrong = (
        (
            ["random", "--set", "steps=3"],
            (
                "--set steps = 3: found no --env; expected the game that takes it: add --env "
                "NAME, or leave --set out"
            ),
        ),
        (["alone/m0", "--set", "gravity=2.5"], "--set gravity = 2.5: found no --env"),
        (
            ["random", "alone/m0", "--env", "cartpole", "--set", "gravity=2.5"],
            "plays cartpole; expected scripted players",
        ),
        (
            ["random", "--env", "cartpole", "--set", "stepps=3"],
            "env.options: stepps = 3: cartpole does not take this",
        ),
        (["random", "--env", counting, "--set", "steps"], "--set steps: no value"),
    )
    for arguments, message in wrong:
        assert run(["evaluate", *arguments, "--data", data]) == 2
        captured = capsys.readouterr()
        assert message in captured.err and captured.out == ""
