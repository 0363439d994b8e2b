"""A population begins with weights of another one: what it takes, and what is stored of it."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import arena.training.train as training
from arena.cli.app import run
from arena.data.paths import league_path, population_paths
from arena.league.ancestry import find_weights, read_histories
from arena.league.database import open_league
from arena.league.deletion import delete
from arena.league.lineage import FirstWeights, trace
from arena.league.populations import stored_config
from arena.training.schedule_config import schedule_config
from arena.training.train import resume_training
from arena.training.warm_start import StartFrom
from pbt.config.load import config_from_table
from pbt.errors import ConfigError
from pbt.snapshots import FileSnapshotStore
from tests.arena.tiny_populations import TWO_ROLES, UNRATED
from tests.arena.training.warm import BRED, beginning, first, newest, snapshots, warm, weights

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the population "first"."""
    data = tmp_path_factory.mktemp("origin")
    warm(data, "first")
    return data


@pytest.fixture
def data(origin: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(origin, tmp_path / "data"))


def verified(data: Path, name: str, capsys: Output) -> list[dict[str, str]]:
    capsys.readouterr()
    run(["verify", name, "--data", str(data), "--json"])
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)["differences"]
    return found


def same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> bool:
    return list(found) == list(expected) and all(
        torch.equal(found[name], expected[name]) for name in expected
    )


def test_all_members_begin_with_a_snapshot(data: Path, capsys: Output) -> None:
    taken = newest(data, "first", "m1").record
    assert taken.frames >= 300
    warm(data, "second", StartFrom(("first/m1",)))
    expected = weights(data, "first", taken.snapshot_id)
    for member in ("m0", "m1"):
        record = first(data, "second", member).record
        assert (record.reason, record.frames, record.version) == ("initial", 0, 0)
        assert record.parent_id == taken.snapshot_id
        assert same(weights(data, "second", record.snapshot_id), expected)
        state = beginning(data, "second").tensors[f"learner-{member}"]
        assert state["clocks"].tolist() == [0, 0, 0, 0]
        assert not any(state[name].any() for name in state if name.startswith("adam."))
    began = {
        "weights": taken.snapshot_id,
        "player": newest(data, "first", "m1").label,
        "optimizer": False,
    }
    in_folder = json.loads(population_paths(data, "second").config.read_text())
    with open_league(league_path(data), read_only=True) as league:
        for config in (in_folder, stored_config(league, "second")):
            assert config["population"]["began"] == {"m0": began, "m1": began}
    assert verified(data, "second", capsys) == []


def test_a_member_of_equal_weights_trains_as_ever(data: Path, capsys: Output) -> None:
    """The bits of a training do not depend on how its first weights came."""
    own, cold = first(data, "first", "m0").record, warm(data, "cold").weights_sha256
    started = warm(data, "warm", StartFrom(members={"m0": "first/m0@0", "m1": "first/m1@0"}))
    assert started.weights_sha256 == cold
    record = first(data, "warm", "m0").record
    assert (record.snapshot_id, record.parent_id) == (own.snapshot_id, None)
    assert verified(data, "warm", capsys) == []


def test_one_member_begins_so_and_the_other_with_its_own(data: Path) -> None:
    taken = newest(data, "first", "m0").record.snapshot_id
    warm(data, "second", StartFrom(members={"m1": taken[:12]}))
    record = first(data, "second", "m1").record
    assert same(weights(data, "second", record.snapshot_id), weights(data, "first", taken))
    own = first(data, "second", "m0").record
    assert (own.snapshot_id, own.parent_id) == (first(data, "first", "m0").record.snapshot_id, None)


def test_the_optimiser_comes_along_where_it_is_asked_for(tmp_path: Path, capsys: Output) -> None:
    warm(tmp_path, "bred", table=BRED)
    whole = next(one.record for one in snapshots(tmp_path, "bred") if one.record.reason == "round")
    short = {**BRED, "stop_at_frames": 200, "population": {"members": 2}}
    wanted = StartFrom((whole.snapshot_id,), {"m1": f"bred/{whole.member}@0"}, optimizer=True)
    said = rf"\(m1\).*no optimiser's moments.*{whole.snapshot_id[:12]}"
    with pytest.raises(ConfigError, match=said):
        warm(tmp_path, "heirs", wanted, short)
    warm(tmp_path, "heirs", StartFrom((whole.snapshot_id,), optimizer=True), short)
    state = beginning(tmp_path, "heirs").tensors["learner-m1"]
    origin = FileSnapshotStore(population_paths(tmp_path, "bred").snapshots).load(whole.snapshot_id)
    moments = [name for name in origin if name.startswith("adam.")]
    assert moments and all(torch.equal(state[name], origin[name]) for name in moments)
    assert state["clocks"].tolist() == [0, 0, 0, 0]
    assert verified(tmp_path, "heirs", capsys) == []


def test_a_start_that_was_killed_begins_with_the_same_weights(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    wanted = StartFrom(("first/m1",))
    whole = warm(data, "whole", wanted)

    class Killed(Exception):
        pass

    def killed(*parts: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(training, "begin", killed)
        with pytest.raises(Killed):
            warm(data, "second", wanted)
    assert not any(population_paths(data, "second").checkpoints.glob("*"))
    delete(data, "first")
    said: list[str] = []
    result = resume_training("second", data, (), lambda progress: None, said.append)
    assert result.weights_sha256 == whole.weights_sha256
    assert any("m0, m1: begins with the weights of first/m1" in line for line in said)
    assert verified(data, "second", capsys) == []


def test_the_old_population_may_be_deleted(data: Path, capsys: Output) -> None:
    taken = newest(data, "first", "m1")
    warm(data, "second", StartFrom(("first/m1",)))
    delete(data, "first")
    assert verified(data, "second", capsys) == []
    assert run(["lineage", "second/m0", "--data", str(data)]) == 0
    assert f"starts with the weights of {taken.label}" in " ".join(capsys.readouterr().out.split())
    result = resume_training("second", data, ["stop_at_frames=500"], lambda progress: None)
    assert result.finished


def test_the_lineage_names_what_it_began_with(data: Path, capsys: Output) -> None:
    taken = newest(data, "first", "m1")
    warm(data, "second", StartFrom(members={"m1": "first/m1"}))
    with open_league(league_path(data), read_only=True) as league:
        histories = read_histories(league, "second")
        chain = trace(histories, find_weights(league, "second/m1")[1])
    began = FirstWeights(taken.label, taken.record.snapshot_id, False)
    assert histories.began == {"m1": began}
    assert [(step.kind, step.frames, step.began) for step in chain.steps] == [("start", 0, began)]
    again = schedule_config(
        config_from_table(UNRATED, "test"), chain, "second/m1", {"m0": "player", "m1": "player"}
    )
    assert again.population.began["m0"].weights == taken.record.snapshot_id
    capsys.readouterr()
    assert run(["lineage", "second/m1", "--data", str(data), "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert step["began"]["player"] == taken.label and step["donor"] is None


def test_roles_begin_with_players_of_their_own(tmp_path: Path) -> None:
    warm(tmp_path, "first", table=TWO_ROLES)
    warm(tmp_path, "second", StartFrom(("first/m2", "first/m0"), {"m1": "first/m1"}), TWO_ROLES)
    parents = [first(tmp_path, "second", f"m{at}").record.parent_id for at in range(3)]
    assert parents == [newest(tmp_path, "first", f"m{at}").record.snapshot_id for at in range(3)]
    with pytest.raises(ConfigError, match=r"\(m2\): first/m0: it plays hider; expected one that"):
        warm(tmp_path, "third", StartFrom(members={"m2": "first/m0"}), TWO_ROLES)


def test_an_altered_beginning_is_found(data: Path, capsys: Output) -> None:
    taken = newest(data, "first", "m1").record.snapshot_id
    warm(data, "second", StartFrom(("first/m1",)))
    own = population_paths(data, "second").snapshots / f"{taken}.safetensors"
    content = bytearray(own.read_bytes())
    content[-1] ^= 1
    own.write_bytes(content)
    found = verified(data, "second", capsys)
    assert any("the weights that m0 began with (first/m1@" in one["where"] for one in found)
