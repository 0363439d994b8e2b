"""Pendulum: a game whose action is a number is trained, resumed and replayed bit for bit."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import arena
from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from pbt.config.load import load_config
from pbt.envs import registry
from pbt.envs.actions import GamePacking

CONFIG: dict[str, Any] = {
    "env": {"name": "gymnasium:Pendulum-v1", "options": {"max_episode_steps": 20}},
    "seed": 3,
    "stop_at_frames": 1024,
    "population": {"members": 2},
    "model": {"hidden": [8], "normalize_observations": True},
    "sampling": {"environments": 8, "rollout_steps": 16},
    "learning": {"batch_steps": 64, "epochs": 2, "minibatches": 2},
    "pbt": {"enabled": False},
    "snapshots": {"every_frames": 512},
    "evaluation": {"share": 0.1, "final_games": 4},
}


@pytest.mark.parametrize(
    "runtime", [{"placement": "serial"}, {"placement": "inline", "workers": 2}]
)
def test_pendulum_trains_and_goes_on(
    runtime: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    updates: list[Any] = []
    first = arena.train(
        {**CONFIG, "runtime": runtime},
        "swing",
        data=tmp_path,
        on_update=lambda update: updates.append(update.record),
        stop=lambda: len(updates) >= 4,
    )
    assert not first.finished and updates
    assert arena.resume("swing", data=tmp_path).finished
    assert run(["verify", "swing", "--data", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["played_again"]["played"] >= 8
    result = arena.evaluate("swing/m0", episodes=4, data=tmp_path)
    assert -2000.0 < result.mean_return < 0.0


def test_a_stored_game_has_the_numbers_that_were_drawn(tmp_path: Path) -> None:
    table = {**CONFIG, "stop_at_frames": 256, "runtime": {"placement": "serial"}}
    arena.train(table, "swing", data=tmp_path)
    with open_league(league_path(tmp_path), read_only=True) as league:
        games = list(population_games(league, "swing", GameFilter(kind="evaluation")))
    with closing(
        registry.spec(CONFIG["env"]["name"], allow_files=True).make(**CONFIG["env"]["options"])
    ) as game:
        packing = GamePacking.of(game)
        for record in (stored.record for stored in games):
            assert record.actions is not None and len(record.actions) == 20 * 3 * 2
            rows = packing.unpack(record.actions)
            game.reset(record.seed)
            steps = [game.step(dict([action]))[0] for action in rows]
            assert record.seats[0].returns == sum(turn.rewards[0] for turn in steps)
            assert steps[-1].over and len({row for _, row in rows}) == 20


def test_the_shipped_config_is_whole() -> None:
    config = load_config("pendulum")
    assert config.env.name == "gymnasium:Pendulum-v1" and config.stop_at_frames == 300_000
