"""Games of images from `arena train` on: which networks they get, and what is refused or stored."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.cli.app import run
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.results import rated_games
from arena.league.stored_history import list_events
from arena.players.load import load_player
from arena.programs.config_check import check
from pbt.envs import registry
from pbt.envs.images import ImageShape
from pbt.film.camera import Eyes
from pbt.models.convolutions import default_layers
from tests.pbt.envs.image_games import FILE

Output = pytest.CaptureFixture[str]
CONFIG = f"""
seed = 3
stop_at_frames = 64
env = {{ name = "{FILE}:GAME" }}
population = {{ members = 1 }}
sampling = {{ environments = 4, rollout_steps = 8 }}
learning = {{ batch_steps = 32 }}
pbt = {{ enabled = false }}
snapshots = {{ every_frames = 64 }}
evaluation = {{ final_games = 2 }}
runtime = {{ placement = "serial" }}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "data"))
    for game in ("parallel", "turns", "gym"):
        (tmp_path / f"{game}.toml").write_text(CONFIG.replace("GAME", game))
    return tmp_path


def train(game: str, *words: str, name: str = "first") -> int:
    sets = [part for word in words for part in ("--set", word)]
    return run(["train", f"{game}.toml", "--name", name, "--json", *sets])


def stored(folder: Path, name: str = "first") -> dict[str, Any]:
    table: dict[str, Any] = json.loads(population_paths(folder / "data", name).config.read_bytes())
    return table


def test_a_game_of_large_images_trains_with_the_default_network(
    folder: Path, capsys: Output
) -> None:
    assert train("parallel") == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["frames"] >= 64
    assert "[280, 480, 3] to 6,272 features; model.conv changes them" in result["encoder"]
    assert said.err.count(result["encoder"]) == 1
    model = stored(folder)["model"]
    layers = default_layers([ImageShape(280, 480, 3, 2)])
    assert model["encoder"] == "images"
    assert model["conv"] == [layer.model_dump() for layer in layers]
    with open_league(league_path(folder / "data"), read_only=True) as league:
        told = [row.event.text for row in list_events(league, "first")]
    assert result["encoder"] in told


def test_resumed_populations_keep_the_network_that_was_chosen(folder: Path, capsys: Output) -> None:
    assert train("turns", "stop_at_frames=32") == 0
    model = stored(folder)["model"]
    assert model["encoder"] == "images"
    assert run(["train", "--resume", "first", "--set", "stop_at_frames=64"]) == 0
    assert stored(folder)["model"] == model
    assert run(["match", "first/m0", "random", "--games", "4"]) == 0
    assert run(["verify", "first"]) == 0
    capsys.readouterr()


def test_a_population_that_began_without_convolutions_goes_on_without(
    folder: Path, capsys: Output
) -> None:
    assert train("turns", "model.conv=[]", "stop_at_frames=32") == 0
    assert json.loads(capsys.readouterr().out)["encoder"] is None
    assert (stored(folder)["model"]["encoder"], stored(folder)["model"]["conv"]) == ("auto", [])
    assert run(["train", "--resume", "first", "--set", "stop_at_frames=64"]) == 0
    assert stored(folder)["model"]["conv"] == []


def test_a_first_layer_of_103_million_weights_is_refused_before_anything_is_written(
    folder: Path, capsys: Output
) -> None:
    assert train("parallel", "model.conv=[]") == 2
    assert (
        "model: the first layer would have 103,219,200 weights (403,200 inputs x 256); expected "
        "at most 20,000,000; set env.resize = [84, 84] or env.grey = true"
    ) in " ".join(capsys.readouterr().err.split())
    assert not (folder / "data").exists()


def test_the_service_refuses_it_as_well_and_stores_what_it_chose() -> None:
    flat = {"encoder": "mlp", "hidden": [2048]}
    (problem,) = check({"env": {"name": "doom"}, "model": flat}).unfit
    assert problem.startswith("model: the first layer would have 56,")
    found = check({"env": {"name": "doom", "grey": True}})
    assert (found.problems, found.unfit) == ((), ())
    assert found.model["encoder"] == "images"
    board = check({"env": {"name": "connect_four"}})
    assert (board.model["encoder"], board.model["conv"]) == ("auto", [])
    (refused,) = check({"env": {"name": "connect_four", "stack": 2}}).problems
    assert refused.startswith("env.stack = 2: no seat of this game sees an image")


def test_games_that_are_seen_differently_are_different_games(folder: Path, capsys: Output) -> None:
    views = ("env.resize=[24, 24]", "env.grey=true", "env.stack=2")
    assert train("turns", *views, name="grey") == 0
    assert json.loads(capsys.readouterr().out)["encoder"].startswith("convolutions")
    assert train("turns", name="colour") == 0
    assert run(["match", "grey/m0", "random", "--games", "4"]) == 0
    assert run(["verify", "grey"]) == 0
    capsys.readouterr()
    assert run(["match", "grey/m0", "colour/m0"]) == 2
    assert "env.grey = True" in capsys.readouterr().err
    assert train("turns", "env.grey=1", name="wrong") == 2
    with open_league(league_path(folder / "data"), read_only=True) as league:
        options = [options for _, options in rated_games(league)]
    seen = {"env.resize": [24, 24], "env.grey": True, "env.stack": 2}
    assert sorted(options, key=len) == [{}, seen]
    assert run(["train", "--resume", "grey", "--set", "env.grey=false"]) == 2
    assert "env.grey = False: fixed at True" in capsys.readouterr().err


def test_a_player_takes_the_games_own_observations(folder: Path, capsys: Output) -> None:
    views = ("env.resize=[24, 24]", "env.grey=true", "env.stack=2")
    assert train("turns", *views) == 0
    capsys.readouterr()
    player = load_player("first/m0", allow_files=True)
    assert player.role.observation_space.shape == (40, 60, 3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        player.reset()
        for _ in range(3):
            seen = rng.integers(0, 256, (40, 60, 3), np.uint8)
            assert player.act(seen) in (0, 1)


def test_films_show_the_games_own_images() -> None:
    spec = registry.spec(f"{FILE}:gym", allow_files=True, measured=(True, True))
    with closing(spec.make(**{"env.resize": [24, 24], "env.grey": True})) as game:
        eyes, (turn,) = Eyes("squares", game), game.reset(0)
        assert (eyes.height, eyes.width) == (40, 60)
        shown = eyes.see(turn)
        assert shown is not None
        assert shown.shape == (40, 60, 3)
        assert len(np.unique(shown.reshape(-1, 3), axis=0)) == 2
