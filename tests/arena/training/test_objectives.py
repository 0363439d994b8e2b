"""The objective of a population: settled at its start, kept on resume, changed by an edit."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.objectives import objective_in_force
from arena.league.round_history import history_problems
from arena.league.stored_history import list_events, list_rounds
from arena.league.verify import verify_rounds
from arena.training.game_check import checked_game
from arena.training.start import first_start, objective_notes
from arena.training.train import resume_training, start_training
from pbt.checkpoint.files import read_checkpoint, write_checkpoint
from pbt.checkpoint.folders import checkpoint_folders
from pbt.config.load import config_from_table
from pbt.config.resume import as_it_began
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError

GAMES = """
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Throws(ParallelEnv):
    metadata = {"name": "throws"}
    possible_agents = ["left", "right"]

    def __init__(self, pays):
        self.pays = pays

    def observation_space(self, agent):
        return spaces.Discrete(2)

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

    def step(self, actions):
        left, right = self.pays(int(actions["left"]), int(actions["right"]))
        agents, self.agents = self.agents, []
        return (
            dict.fromkeys(agents, 1),
            {"left": left, "right": right},
            dict.fromkeys(agents, True),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


def together():
    return Throws(lambda x, y: (3.0 - abs(x - y),) * 2)


def pot():
    return Throws(lambda x, y: (float(x - y), float(y - x)))
"""
SMALL: dict[str, Any] = {
    "stop_at_frames": 600,
    "population": {"members": 3},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 128},
    "pbt": {"period_frames": 100, "warmup_frames": 0, "min_games": 5, "score_games": 60},
    "snapshots": {"every_frames": 300},
    "evaluation": {"share": 0.0, "final_games": 0},
    "runtime": {"placement": "serial"},
}


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.py"
    path.write_text(GAMES, encoding="utf-8")
    return path


def config(env: dict[str, Any], **more: Any) -> RunConfig:
    return config_from_table({**SMALL, **more, "env": env}, "test")


def of(games: Path, function: str, **more: Any) -> RunConfig:
    return config({"name": f"{games}:{function}", **more})


def silent(progress: object) -> None:
    """No display."""


def test_the_stored_config_holds_the_resolved_objective(games: Path) -> None:
    for env, objective in (
        ({"name": "connect_four"}, "win"),
        ({"name": "leduc_holdem"}, "margin"),
        ({"name": "leduc_holdem", "objective": "win"}, "win"),
        ({"name": "cartpole"}, "return"),
        ({"name": "mpe", "options": {"scenario": "simple_spread", "N": 2}}, "return"),
    ):
        assert first_start(config(env), "new").config.env.objective == objective
    started = first_start(of(games, "pot"), "new")
    assert started.config.env.objective == "win"
    (hint,) = started.notes
    assert "sizes 1 to 2" in hint and 'objective = "margin" would rank by the margin' in hint


def test_a_new_population_of_a_shared_game_is_refused_under_wins(games: Path) -> None:
    for refused in (
        of(games, "together"),
        config(
            {"name": "mpe", "options": {"scenario": "simple_spread", "N": 2}, "objective": "win"},
        ),
    ):
        with pytest.raises(ConfigError, match='every place is shared.*make it "return"'):
            first_start(refused, "new")
    with pytest.raises(ConfigError, match='expected 0 in every game; make it "return"'):
        first_start(of(games, "together", objective="margin"), "new")
    with pytest.raises(ConfigError, match="has no other player to beat"):
        first_start(config({"name": "cartpole", "objective": "win"}), "new")
    assert first_start(of(games, "together", objective="return"), "new").notes == []


def test_returns_of_a_zero_sum_game_are_refused_in_a_new_population_and_warned_of_in_a_stored_one(
    games: Path,
) -> None:
    tictactoe = config({"name": "tictactoe", "objective": "return"})
    with pytest.raises(ConfigError, match='every player returns 0.*make it "win"'):
        first_start(tictactoe, "new")
    with pytest.raises(ConfigError, match='every player returns 0.*make it "margin"'):
        first_start(of(games, "pot", objective="return"), "new")
    (note,) = objective_notes("old", tictactoe, tictactoe, checked_game(tictactoe, "test"))
    assert "every player returns 0" in note and "it goes on so, until" in note
    assert "--resume old --set env.objective=win" in note


def test_a_stored_population_without_an_objective_goes_on_by_wins_and_says_so(games: Path) -> None:
    def notes(stored: RunConfig) -> list[str]:
        checked = checked_game(stored, "test")
        return objective_notes("old", stored, as_it_began(stored, checked.seats), checked)

    (shared,) = notes(of(games, "together"))
    assert "every place is shared" in shared and "--set env.objective=return`" in shared
    (poker,) = notes(config({"name": "leduc_holdem"}))
    assert 'the game declares "margin"' in poker and "--set env.objective=margin`" in poker
    # One that names its objective was chosen by a person; a game of one seat had returns.
    assert notes(config({"name": "leduc_holdem", "objective": "win"})) == []
    assert notes(config({"name": "connect_four"})) == notes(config({"name": "cartpole"})) == []
    alone = as_it_began(config({"name": "cartpole"}), 1)
    assert (alone.env.objective, alone.pbt.copy_significance) == ("return", 1.0)


def make_older(data: Path, name: str) -> None:
    """Take the objective out of what is stored, as a version without objectives left it."""
    paths = population_paths(data, name)
    stored = json.loads(paths.config.read_bytes())
    del stored["env"]["objective"]
    paths.config.write_text(json.dumps(stored), encoding="utf-8")
    for folder in checkpoint_folders(paths.checkpoints):
        checkpoint = read_checkpoint(folder)
        del checkpoint.state.config["env"]["objective"]
        write_checkpoint(paths.checkpoints, checkpoint, keep=100)
    with closing(sqlite3.connect(league_path(data))) as connection, connection:
        connection.execute(
            "update populations set config = replace(config, '\"objective\":\"win\",', '')"
        )
        connection.execute("update rounds set rules = replace(rules, '\"win\"', '\"wins\"')")
    connection.close()


def problems(data: Path, name: str) -> list[str]:
    with open_league(league_path(data), read_only=True) as league:
        rounds = list_rounds(league, name)
        found = [problem for check in verify_rounds(league, name) for problem in check.problems]
        return found + [text for _, text in history_problems(league, name, rounds)]


def test_an_edit_ends_the_score_windows_and_rounds_verify_across_it(
    tmp_path: Path, games: Path
) -> None:
    start_training(of(games, "pot", objective="win"), "pot", tmp_path, silent)
    words = ("stop_at_frames=1200", "env.objective=margin")
    resume_training("pot", tmp_path, words, silent)
    paths = population_paths(tmp_path, "pot")
    assert json.loads(paths.config.read_text())["env"]["objective"] == "margin"
    with open_league(league_path(tmp_path), read_only=True) as league:
        rounds = list_rounds(league, "pot")
        edits = [one.event.text for one in list_events(league, "pot") if one.event.kind == "edit"]
    assert "edited env.objective: win -> margin; every member's score begins anew" in edits
    objectives = [one.record.rules["objective"] for one in rounds]
    assert objectives == sorted(objectives, reverse=True) and set(objectives) == {"win", "margin"}
    last_before = max(
        score.last_game for one in rounds if one.incarnation == 1 for score in one.record.scores
    )
    after = [one for one in rounds if one.incarnation == 2]
    assert after and all(
        score.first_game > last_before or score.games == 0
        for one in after
        for score in one.record.scores
    )
    assert any("margin " in one.record.verdict for one in after)
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert objective_in_force(league, "pot", 2) == "margin"
    assert problems(tmp_path, "pot") == []


def test_a_population_of_an_earlier_version_goes_on_by_wins_and_verifies(
    tmp_path: Path, games: Path
) -> None:
    start_training(of(games, "pot", objective="win"), "pot", tmp_path, silent)
    make_older(tmp_path, "pot")
    assert problems(tmp_path, "pot") == []
    resume_training("pot", tmp_path, ("stop_at_frames=1200",), silent)
    assert problems(tmp_path, "pot") == []
    paths = population_paths(tmp_path, "pot")
    assert json.loads(paths.config.read_text())["env"]["objective"] == "win"
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert objective_in_force(league, "pot", 2) == "win"
        assert objective_in_force(league, "pot", 1) == "return"
    resume_training("pot", tmp_path, ("stop_at_frames=1800", "env.objective=margin"), silent)
    assert problems(tmp_path, "pot") == []
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert {one.record.rules["objective"] for one in list_rounds(league, "pot")} == {
            "wins",
            "win",
            "margin",
        }


def test_a_cooperative_population_is_ranked_by_its_returns(tmp_path: Path, games: Path) -> None:
    result = start_training(of(games, "together", objective="return"), "pair", tmp_path, silent)
    assert result.progress.ranked_by == "return"
    assert all(0.0 < member.objective <= 3.0 for member in result.progress.members)
    assert {member.ranked is not None for member in result.status.members} == {True}
    with open_league(league_path(tmp_path), read_only=True) as league:
        verdicts = [one.record.verdict for one in list_rounds(league, "pair")]
    assert any("return +" in verdict and " a game over " in verdict for verdict in verdicts)
    assert problems(tmp_path, "pair") == []


def test_what_is_printed_says_the_objective(
    tmp_path: Path, games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pot.toml").write_text(
        f'stop_at_frames = 300\nenv = {{ name = "{games}:pot", objective = "margin" }}\n'
        "model = { hidden = [16] }\nlearning = { batch_steps = 128 }\n"
        "sampling = { environments = 8, rollout_steps = 8 }\n"
        'evaluation = { final_games = 0 }\nruntime = { placement = "serial" }\n',
        encoding="utf-8",
    )
    data = ["--data", str(tmp_path / "data")]
    assert run(["train", str(tmp_path / "pot.toml"), *data, "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    assert (trained["ranked_by"], trained["rating_unit"]) == ("margin", "a game")
    assert run(["status", "pot", *data, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ranked_by"] == "margin" and "ranked" in shown["members"][0]
    assert run(["status", "pot", *data]) == 0
    assert "margin a game" in capsys.readouterr().out
    assert run(["metrics", "pot", *data, "--json"]) == 0
    curves = json.loads(capsys.readouterr().out)
    assert all("margin" in row["values"] and "win_rate" not in row["values"] for row in curves)
