"""Weights that a new population cannot begin with are refused before anything is written."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.adopted_weights import adopt_weights
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.retention import mark_weights_removed
from arena.training.train import resume_training
from arena.training.warm_start import StartFrom, wanted_weights
from pbt.errors import ConfigError, LostWeightsError
from tests.arena.tiny_populations import UNRATED
from tests.arena.training.warm import first, newest, warm

WIDER = {**UNRATED, "model": {"hidden": [32]}}
BY_DQN = {**UNRATED, "learning": {**UNRATED.get("learning", {}), "algorithm": "dqn"}}
OTHER_GAME = {**UNRATED, "env": {"name": "tictactoe"}}


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("origin")
    warm(data, "first")
    return data


def files(data: Path) -> set[str]:
    """All of them, but for those that SQLite keeps beside a league that is read."""
    found = {path.relative_to(data).as_posix() for path in data.rglob("*")}
    return found - {"league.db-shm", "league.db-wal"}


def refused(data: Path, wanted: StartFrom, table: Mapping[str, Any] = UNRATED) -> str:
    before, league = files(data), league_path(data).read_bytes()
    with pytest.raises(ConfigError) as caught:
        warm(data, "second", wanted, table)
    assert files(data) == before and league_path(data).read_bytes() == league
    return str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "table", "words"),
    [
        (
            StartFrom(("first/m0",)),
            OTHER_GAME,
            ["population.began (m0, m1): first/m0: it plays connect_four; expected a player of"],
        ),
        (
            StartFrom(("first/m0",)),
            WIDER,
            [
                "it does not fit the network: model.",
                "expected float32 [32, ",
                "model.hidden = [16] there and [32] here: set them alike",
            ],
        ),
        (
            StartFrom(("first/m0",)),
            BY_DQN,
            ["model.rule.epsilon: found nothing", "it learned by another algorithm; name one of"],
        ),
        (StartFrom(("first/m9",)), UNRATED, ["population first has no member 'm9'"]),
        (StartFrom(("nowhere/m0",)), UNRATED, ["no population 'nowhere'"]),
        (StartFrom(("first",)), UNRATED, ["'first' is a population; expected one player of it"]),
        (StartFrom(("abcdef123456",)), UNRATED, ["no snapshot id begins with 'abcdef123456'"]),
        (StartFrom(("random",)), UNRATED, ["found a built-in player, which has no weights"]),
        (StartFrom(("./x.safetensors",)), UNRATED, ["found a file; expected a snapshot: demo/m2"]),
        (StartFrom(("best.safetensors",)), UNRATED, ["`arena import` takes the weights of a file"]),
        (StartFrom(("~/runs/x",)), UNRATED, ["found a file; expected a snapshot"]),
        (StartFrom(members={"m0": ""}), UNRATED, ["found no name; expected a snapshot"]),
        (StartFrom(("exec:./bot",)), UNRATED, ["found a program, which has no weights"]),
        (
            StartFrom(members={"m7": "first/m0"}),
            UNRATED,
            ["population.began (m7): first/m0: no such member; there are m0, m1"],
        ),
        (
            StartFrom(("first/m0", "first/m1")),
            UNRATED,
            ["first/m1: all members that play player begin with first/m0 already"],
        ),
        (
            StartFrom(("first/m0",), optimizer=True),
            UNRATED,
            ["it holds no optimiser's moments; expected", "there is none here"],
        ),
        (
            StartFrom(("first/m9",), {"m7": "first/m0"}),
            UNRATED,
            ["has 2 problems", "m9", "m7"],
        ),
    ],
)
def test_it_says_what_does_not_fit(
    origin: Path, wanted: StartFrom, table: Mapping[str, Any], words: list[str]
) -> None:
    said = refused(origin, wanted, table)
    assert all(word in said for word in words), said


def test_what_the_config_names_is_checked_as_well(origin: Path) -> None:
    table = {**UNRATED, "population": {"members": 2, "began": {"m0": {"weights": "first/m9"}}}}
    assert "population.began (m0): first/m9" in refused(origin, StartFrom(), table)
    table = {**UNRATED, "population": {"members": 2, "began": {"m2": {"weights": "first/m0"}}}}
    assert "population.began.m2: no such member in this game" in refused(origin, StartFrom(), table)


def test_weights_that_were_removed_or_lost(origin: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(origin, tmp_path / "data"))
    start, final = first(data, "first", "m0").record, newest(data, "first", "m0").record
    folder = population_paths(data, "first").snapshots
    with open_league(league_path(data)) as league:
        mark_weights_removed(league, [start.snapshot_id], "first")
    (folder / f"{start.snapshot_id}.safetensors").unlink()
    assert "weights were removed" in refused(data, StartFrom((start.snapshot_id,)))
    assert "no snapshot at or below 0 frames" in refused(data, StartFrom(("first/m0@0",)))
    (folder / f"{final.snapshot_id}.safetensors").unlink()
    assert "lost: no such file; restore it" in refused(data, StartFrom(("first/m0",)))
    with pytest.raises(LostWeightsError, match="no intact file of it is left"):
        adopt_weights(population_paths(data, "second"), [final.snapshot_id])


def test_words_of_the_command_line(origin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wanted_weights(["a/m0", "m1=b@best", "a/m0"], optimizer=True) == StartFrom(
        ("a/m0",), {"m1": "b@best"}, True
    )
    with pytest.raises(ConfigError, match="m1 begins with a/m0 already"):
        wanted_weights(["m1=a/m0", "m1=a/m1"])
    for word in ("m0=", "m0 = first/m0", "0=first/m0", "prey=first/m0"):
        with pytest.raises(ConfigError, match=f"{word}: not a member with its player; expected"):
            wanted_weights([word])
    with pytest.raises(ConfigError, match="moments come with weights"):
        wanted_weights([], optimizer=True)
    data = ["--data", str(origin)]
    assert run(["train", "--resume", "first", "--from", "first/m0", *data]) == 2
    assert "first has begun, and goes on with its own weights" in capsys.readouterr().err
    assert run(["train", "demo", "--with-optimizer", *data]) == 2
    assert "found no --from" in capsys.readouterr().err
    assert run(["train", "demo", "--from", "first/m0", *data]) == 2
    assert "it does not fit the network" in capsys.readouterr().err


def test_a_population_that_has_begun_keeps_what_it_began_with(origin: Path) -> None:
    edit = "population.began.m0.weights=first/m1"
    with pytest.raises(ConfigError, match=r"population.began.m0.weights.*fixed at nothing"):
        resume_training("first", origin, [edit], lambda progress: None)
