"""Populations over REST that begin with weights of another one."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from arena.data.paths import population_paths
from arena.training.warm_start import StartFrom
from tests.api.service import Service, serving
from tests.arena.tiny_populations import UNRATED, train
from tests.arena.training.warm import newest, warm

CREATE = "/v1/populations"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose league has "first", and "heirs" that began with its weights."""
    data = tmp_path_factory.mktemp("trained") / "data"
    train(data, "first", UNRATED)
    warm(data, "heirs", StartFrom(members={"m1": "first/m0"}))
    checker = (sys.executable, "-P", "-m", "arena.programs.config_check")
    with serving(data, checker=checker) as running:
        yield running


def config(**began: dict[str, Any]) -> dict[str, Any]:
    return {**UNRATED, "population": {"members": 2, "began": began}}


def test_they_are_found_stored_and_copied(trained: Service) -> None:
    record = newest(trained.data, "first", "m1")
    body = {"name": "second", "config": config(m0={"weights": "first/m1"})}
    foretold = trained.call("POST", f"{CREATE}?dry_run=true", body, 200)
    assert not population_paths(trained.data, "second").root.exists()
    made = trained.call("POST", CREATE, body, 201)["spec"]["config"]
    began = {"weights": record.record.snapshot_id, "player": record.label, "optimizer": False}
    assert made["population"]["began"] == {"m0": began}
    assert foretold["config"]["population"]["began"] == {"m0": began}
    own = population_paths(trained.data, "second").snapshots
    assert [path.stem for path in own.iterdir()] == [record.record.snapshot_id]
    refused = trained.call("PATCH", f"{CREATE}/second", {"set": {"population.began": 3}}, 422)
    assert "members" in refused["detail"]


@pytest.mark.parametrize(
    ("began", "words"),
    [
        ({"m0": {"weights": "first/m9"}}, "has no member 'm9'"),
        ({"m0": {"weights": "first/m0", "optimizer": True}}, "no optimiser's moments"),
        ({"m0": {}}, "weights"),
    ],
)
def test_what_does_not_fit_is_refused(trained: Service, began: dict[str, Any], words: str) -> None:
    problem = trained.call("POST", CREATE, {"name": "bad", "config": config(**began)}, 422)
    assert words in str(problem) and "/config/population/began" in str(problem)
    assert str(trained.data) not in str(problem)
    trained.call("GET", f"{CREATE}/bad", status=404)


def test_they_are_shown_where_copies_are(trained: Service) -> None:
    record = newest(trained.data, "first", "m0")
    began = {"player": record.label, "snapshot": record.record.snapshot_id, "optimizer": False}
    values = trained.call("GET", f"{CREATE}/heirs/hyperparameters")
    assert values["began"] == {"m1": began} and values["origins"] == {}
    steps = trained.call("GET", f"{CREATE}/heirs/lineage?player=m1")["steps"]
    assert [step["began"] for step in steps] == [began]
    found = trained.call("GET", f"{CREATE}/heirs/snapshots?member=m1")["items"][0]
    assert found["parent_id"] == began["snapshot"]
