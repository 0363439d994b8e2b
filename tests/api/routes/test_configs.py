"""A population's config beside its template, and populations made as others were."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbt.config.load import load_config
from tests.api.routes.test_read_routes import write_league
from tests.api.service import Service, serving

DIFFERENCE = "/v1/populations/one/config-difference"


def connect_four(service: Service, name: str, **changed: Any) -> None:
    table = load_config("connect_four").model_dump(mode="json", exclude_unset=True)
    service.call("POST", "/v1/populations", {"name": name, "config": {**table, **changed}})


def test_a_config_beside_the_template_it_came_from(service: Service) -> None:
    connect_four(service, "one", seed=7)
    service.call("PATCH", "/v1/populations/one", {"set": {"evaluation.share": 0.25}})
    connect_four(service, "two")
    found = service.call("GET", DIFFERENCE)
    assert found["beside"] == {"kind": "template", "name": "connect_four"}
    chosen = [one for one in found["differences"] if not one["decided"]]
    assert [(one["key"], one["value"], one["other"]) for one in chosen] == [
        ("seed", "7", "1"),
        ("evaluation.share", "0.25", str(load_config("connect_four").evaluation.share)),
    ]
    assert {"kind": "defaults", "name": ""} in found["choices"]
    assert found["choices"][-1] == {"kind": "population", "name": "two"}
    assert "env.objective" in [one["key"] for one in found["differences"] if one["decided"]]


def test_a_config_beside_others(service: Service) -> None:
    connect_four(service, "one", seed=7)
    connect_four(service, "two", seed=8)
    noughts = {"env": {"name": "tictactoe"}}
    service.call("POST", "/v1/populations", {"name": "three", "config": noughts})
    (only,) = service.call("GET", f"{DIFFERENCE}?beside=population:two")["differences"]
    assert (only["key"], only["value"], only["other"]) == ("seed", "7", "8")
    defaults = service.call("GET", f"{DIFFERENCE}?beside=defaults")["differences"]
    assert len(defaults) > 3 and all(one["key"] != "env.name" for one in defaults)
    assert "no population 'three' plays connect_four" in str(
        service.call("GET", f"{DIFFERENCE}?beside=population:three", None, 404)
    )
    service.call("GET", f"{DIFFERENCE}?beside=template:leduc", None, 404)
    service.call("GET", f"{DIFFERENCE}?beside=population:../x", None, 422)
    # A game without a template stands beside the defaults.
    alone = service.call("GET", "/v1/populations/three/config-difference")
    assert alone["beside"] == {"kind": "defaults", "name": ""}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Service]:
    """A population of m0 and m1 that was trained."""
    write_league(tmp_path / "data")
    with serving(tmp_path / "data") as running:
        yield running


CLONE = "/v1/populations/demo/clone"


def test_a_clone_has_the_config_and_what_was_changed(demo: Service) -> None:
    demo.call("POST", "/v1/populations/demo/members", {"weights": "m0"}, 202)
    demo.call("DELETE", "/v1/populations/demo/members/m1", None, 202)
    demo.call("PATCH", "/v1/populations/demo", {"set": {"evaluation.share": 0.5}})
    body = {"name": "again", "set": {"seed": 9, "learning.gamma": 0.5}}
    foretold = demo.call("POST", f"{CLONE}?dry_run=true", body, 200)
    keys = {one["key"]: one["value"] for one in foretold["differences"]}
    assert keys["seed"] == "9" and keys["learning.gamma"] == "0.5"
    demo.call("GET", "/v1/populations/again", None, 404)
    made = demo.call("POST", CLONE, body, 201)
    config = made["spec"]["config"]
    assert config == foretold["config"] and config["evaluation"]["share"] == 0.5
    # m0 and m2 play, so it has two members that are counted anew.
    assert config["population"] == {"members": 2, "began": {}, "joined": {}, "left": []}
    assert made["status"]["state"] == "created"


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        ({"name": "demo"}, 409, "demo"),
        ({"name": "x", "set": {"learning.gamma": 2}}, 422, "/set/learning.gamma"),
        ({"name": "x", "set": {"learning.gama": 0.5}}, 422, "/set/learning.gama"),
        ({"name": "x", "set": {"population.members": 0}}, 422, "/set/population.members"),
        ({"name": "x", "set": {"learning.learning_rate": 0.5}}, 422, "learning_rate"),
        ({"name": "../x"}, 422, "/name"),
    ],
)
def test_what_no_clone_can_be(demo: Service, body: object, status: int, place: str) -> None:
    assert place in str(demo.call("POST", CLONE, body, status))


def test_a_clone_that_is_asked_for_twice_is_made_once(demo: Service) -> None:
    keyed = {"Idempotency-Key": "k1"}
    made = [demo.call("POST", CLONE, {"name": "again"}, 201, **keyed) for _ in range(2)]
    assert made[0] == made[1]
    demo.call("POST", "/v1/populations/unknown/clone", {"name": "x"}, 404)
