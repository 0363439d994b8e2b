"""Populations over REST: checked, made once, listed, edited under a condition."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import api.routes.edits
from arena.programs.config_check import check
from tests.api.service import CONFIG, Service, serving


def post(
    service: Service, body: Any, status: int, path: str = "/v1/populations", **headers: str
) -> Any:
    return service.call("POST", path, body, status, **headers)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With the real check of configs against their games."""
    with serving(
        tmp_path_factory.mktemp("checked"),
        checker=(sys.executable, "-P", "-m", "arena.programs.config_check"),
    ) as running:
        yield running


def test_made_whole_with_its_members_and_defaults(checked: Service) -> None:
    config = {
        "env": {"name": "hide_and_seek"},
        "population": {"members": {"hider": 2, "seeker": 1}},
        "learning": {"gamma": 0.5},
    }
    made = post(checked, {"name": "first", "config": config}, 201)
    assert (made["id"], made["status"]["state"], made["spec"]["desired"], made["revision"]) == (
        "first",
        "created",
        "stopped",
        1,
    )
    assert (
        made["spec"]["config"]["learning"]["gamma"],
        made["spec"]["config"]["learning"]["epochs"],
    ) == (0.5, 10)
    members = checked.call("GET", "/v1/populations/first/members")["items"]
    assert [(member["name"], member["role"]) for member in members] == [
        ("m0", "hider"),
        ("m1", "hider"),
        ("m2", "seeker"),
    ]
    shown = checked.call("GET", "/v1/populations/first")
    assert {key: shown[key] for key in ("id", "revision", "spec")} == {
        key: made[key] for key in ("id", "revision", "spec")
    }


BAD = [
    (
        {"env": {"name": "connect_four"}, "learning": {"learning_rate": 0.5}},
        "/config/learning/learning_rate",
        "outside pbt.learning_rate_bounds",
    ),
    ({"env": {"name": "no_such_game"}}, "/config/env", "not known"),
    ({"env": {"name": "./my_game.py:make"}}, "/config/env", "a file of the user's"),
    ({"env": {"name": "os:system"}}, "/config/env", "not known"),
    (
        {"env": {"name": "doom", "options": {"scenario": "../../etc/passwd"}}},
        "/config/env/options/scenario",
        "etc/passwd",
    ),
    ({"env": {"name": "hide_and_seek", "options": {"surprise": 1}}}, "/config/env/options", ""),
    (
        {"env": {"name": "hide_and_seek"}, "population": {"members": {"ghost": 1}}},
        "/config/population/members/ghost",
        "ghost",
    ),
    (
        {"env": {"name": "connect_four"}, "learning": {"gama": 1, "batch_steps": 7}},
        "/config/learning/gama",
        "gamma",
    ),
    ({}, "/config/env", ""),
]


QUICK = 4


@pytest.mark.parametrize(
    ("config", "pointer", "words"),
    [*BAD[:QUICK], *(pytest.param(*case, marks=pytest.mark.slow) for case in BAD[QUICK:])],
)
def test_a_bad_config_is_refused_with_every_place(
    checked: Service, config: dict[str, Any], pointer: str, words: str
) -> None:
    problem = post(checked, {"name": "bad", "config": config}, 422)
    assert any(
        entry["pointer"].startswith(pointer) and words in entry["detail"]
        for entry in problem["errors"]
    ), problem
    checked.call("GET", "/v1/populations/bad", status=404)


def test_a_number_that_python_would_read_as_0_is_refused(checked: Service) -> None:
    config = '{"env": {"name": "connect_four"}, "learning": {"entropy_coef": 1e-400}}'
    answer = checked.client.post(
        "/v1/populations",
        content='{"name": "bad", "config": ' + config + "}",
        headers={
            "authorization": f"Bearer {checked.token('admin')}",
            "content-type": "application/json",
        },
    )
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/config/learning/entropy_coef")
    assert "as a float32 it is 0" in error["detail"]


def test_the_check_says_the_same_where_it_is_no_process() -> None:
    assert check({"env": {"name": "connect_four"}, "population": {"members": 2}}).roles == (
        ("m0", "player"),
        ("m1", "player"),
    )
    assert (
        len(check({"env": {"name": "connect_four"}, "seed": -1, "learning": {"gamma": 2}}).problems)
        == 2
    )


SPREAD: dict[str, Any] = {"name": "mpe", "options": {"scenario": "simple_spread", "N": 2}}


def test_the_check_finds_the_objective_and_refuses_one_that_the_game_does_not_have() -> None:
    for env, objective in (
        ({"name": "connect_four"}, "win"),
        ({"name": "leduc_holdem"}, "margin"),
        ({"name": "leduc_holdem", "objective": "win"}, "win"),
        (SPREAD, "return"),
    ):
        found = check({"env": env})
        assert (found.problems, found.objective, found.refusal) == ((), objective, None)
    refused = check({"env": {**SPREAD, "objective": "win"}})
    assert refused.problems == () and refused.refusal is not None
    assert refused.refusal.endswith('every place is shared; make it "return"')


def test_a_population_is_made_with_its_objective(checked: Service) -> None:
    made = post(checked, {"name": "poker", "config": {"env": {"name": "leduc_holdem"}}}, 201)
    assert made["spec"]["config"]["env"]["objective"] == "margin"
    assert made["status"]["ranked_by"] is None, "its trainer has said nothing yet"
    wins = {"env": {**SPREAD, "objective": "win"}}
    problem = post(checked, {"name": "spread", "config": wins}, 422)
    assert problem["errors"][0]["pointer"] == "/config/env/objective", problem
    path = "/v1/populations/poker"
    edited = checked.call("PATCH", path, {"set": {"env.objective": "win"}})
    assert edited["effects"] == [
        "its first start takes it",
        'env.objective "margin" -> "win": every member\'s score begins anew',
    ]
    assert edited["spec"]["pending_edits"] == ['env.objective="win"']


def test_networks_of_a_new_population_are_chosen_by_its_images_or_refused(
    checked: Service,
) -> None:
    env = {"name": "doom", "grey": True, "stack": 2}
    made = post(checked, {"name": "pixels", "config": {"env": env}}, 201)
    assert made["spec"]["config"]["model"]["encoder"] == "images"
    assert len(made["spec"]["config"]["model"]["conv"]) == 3
    model = {"encoder": "mlp", "hidden": [2048]}
    flat = {"env": {"name": "doom"}, "model": model}
    problem = post(checked, {"name": "flat", "config": flat}, 422)
    assert problem["errors"][0]["pointer"] == "/config/model"
    assert "the first layer would have 56," in problem["errors"][0]["detail"]
    checked.call("GET", "/v1/populations/flat", status=404)
    resized = {"env": {"name": "doom", "resize": [84, 84]}}
    problem = post(checked, {"name": "resized", "config": resized}, 422)
    assert problem["errors"][0]["pointer"] == "/config/env/resize"
    assert "env.options.height = 84" in problem["errors"][0]["detail"]


def test_a_check_that_hangs_ends_without_the_service() -> None:
    program = (
        "import time, arena.programs.config_check as check; check.LIMIT_S = 1; "
        "check.check = lambda *_: time.sleep(60); check.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], input="{}", text=True, timeout=50)
    assert done.returncode == -signal.SIGALRM


def test_dry_run_keeps_nothing(shared: Service) -> None:
    said = post(shared, {"name": "dry", "config": CONFIG}, 200, "/v1/populations?dry_run=true")
    assert said["config"]["env"]["name"] == "connect_four"
    shared.call("GET", "/v1/populations/dry", status=404)


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", "a" * 65, "-a", "a b", "ä", "a\n", "."])
def test_bad_names(shared: Service, name: str) -> None:
    problem = post(shared, {"name": name, "config": CONFIG}, 422)
    assert problem["errors"][0]["pointer"] == "/name"


def test_a_repeated_request_has_one_effect_and_one_answer(service: Service) -> None:
    body = {"name": "once", "config": CONFIG}
    first = post(service, body, 201, **{"Idempotency-Key": "k1"})
    assert post(service, body, 201, **{"Idempotency-Key": "k1"}) == first
    assert post(service, {**body, "start": True}, 422, **{"Idempotency-Key": "k1"})[
        "type"
    ].endswith("reused-key")
    assert post(service, body, 409, **{"Idempotency-Key": "k2"})["type"].endswith("conflict")
    post(service, body, 409)
    start = "/v1/populations/once/start"
    begun = service.call("POST", start, None, 202, **{"Idempotency-Key": "k1"})
    service.done(begun)
    service.done(service.call("POST", "/v1/populations/once/stop"))
    # Long afterwards the retry of the start starts nothing.
    assert service.call("POST", start, None, 202, **{"Idempotency-Key": "k1"}) == begun
    assert service.state("once") == "stopped"


def test_if_match(service: Service) -> None:
    service.create("one")
    answer = service.client.get(
        "/v1/populations/one", headers={"authorization": f"Bearer {service.token('viewer')}"}
    )
    tag = answer.headers["etag"]
    body = {"set": {"evaluation.share": 0.5}}
    service.call("PATCH", "/v1/populations/one", body, 412, **{"If-Match": '"99"'})
    service.call("PATCH", "/v1/populations/one", body, 412, **{"If-Match": "nonsense"})
    edited = service.call("PATCH", "/v1/populations/one", body, 200, **{"If-Match": tag})
    assert edited["revision"] == 2
    service.call("PATCH", "/v1/populations/one", body, 412, **{"If-Match": tag})
    service.call("DELETE", "/v1/populations/one", None, 412, **{"If-Match": tag})


def edit(service: Service, name: str, values: dict[str, Any], status: int, **headers: str) -> Any:
    return service.call("PATCH", f"/v1/populations/{name}", {"set": values}, status, **headers)


def test_an_edit_is_held_against_the_game(checked: Service) -> None:
    """What its trainer would refuse at each start is refused here."""
    post(checked, {"name": "shaped", "config": {"env": {"name": "hide_and_seek"}}}, 201)
    problem = edit(checked, "shaped", {"learning.shaping.bogus": 1.0}, 422)
    assert (
        "bogus" in problem["errors"][0]["detail"]
        and problem["errors"][0]["pointer"] == "/set/learning.shaping.bogus"
    )
    edit(checked, "shaped", {"matchmaking.resident": 1}, 422)
    assert checked.call("GET", "/v1/populations/shaped")["spec"]["pending_edits"] == []


def test_null_takes_a_shaping_term_out(service: Service) -> None:
    """Also one that should never have been taken: there is a way back."""
    service.create("one")
    edit(service, "one", {"learning.shaping.bogus": 1.0, "learning.shaping.kept": 0.5}, 200)
    edited = edit(service, "one", {"learning.shaping.bogus": None, "learning.gamma": 0.9}, 200)
    assert edited["spec"]["pending_edits"][2:] == [
        "learning.gamma=0.9",
        'learning.shaping={"kept" = 0.5}',
    ]
    assert "kept" in edit(service, "one", {"learning.shaping.bogus": None}, 422)["detail"]
    edit(service, "one", {"learning.gamma": None}, 422)


def test_edits_that_contradict_together_are_not_both_taken(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is sound as things stood; the first one comes between the check of the second and its
    row.
    """
    service.create("one")
    store = api.routes.edits.edit
    others = iter([{"pbt.score_games": 100}])

    def late(*given: Any, **named: Any) -> Any:
        for other in others:
            edit(service, "one", other, 200)
        return store(*given, **named)

    monkeypatch.setattr("api.routes.edits.edit", late)
    problem = edit(service, "one", {"pbt.min_games": 150}, 422)
    assert "more than pbt.score_games = 100" in str(problem["errors"])
    assert service.call("GET", "/v1/populations/one")["spec"]["pending_edits"] == [
        "pbt.score_games=100"
    ]


def test_a_repeated_request_gets_its_answer_whatever_became_of_it(service: Service) -> None:
    keyed = {"Idempotency-Key": "k1"}
    made = post(service, {"name": "one", "config": CONFIG}, 201, **keyed)
    edited = edit(service, "one", {"learning.shaping.a": 1.0}, 200, **keyed)
    removed = edit(service, "one", {"learning.shaping.a": None}, 200, **{"Idempotency-Key": "k2"})
    service.done(service.call("DELETE", "/v1/populations/one"))
    service.app.state.context.supervisor._measure = lambda: None
    service.app.state.context.supervisor.disk = "hard"
    assert edit(service, "one", {"learning.shaping.a": 1.0}, 200, **keyed) == edited
    assert (
        edit(service, "one", {"learning.shaping.a": None}, 200, **{"Idempotency-Key": "k2"})
        == removed
    )
    assert post(service, {"name": "one", "config": CONFIG}, 201, **keyed) == made
    edit(service, "one", {"learning.shaping.a": 2.0}, 422, **keyed)


EDITS = [
    ({"seed": 2}, "seed"),
    ({"model.hidden": [1]}, "model"),
    ({"evaluation.share": 2}, "evaluation"),
    ({"evaluation.shar": 0.5}, "evaluation"),
    ({"env.name": "hide_and_seek"}, "env"),
    ({"evaluation": None}, ""),
    ({"evaluation.share": {"a": 1}}, ""),
    ({"a=1\nb": 1}, ""),
]


@pytest.mark.parametrize(("values", "place"), EDITS)
def test_edits_that_cannot_be_taken(shared: Service, values: dict[str, Any], place: str) -> None:
    if not any(item["id"] == "edited" for item in shared.call("GET", "/v1/populations")["items"]):
        shared.create("edited")
    problem = shared.call("PATCH", "/v1/populations/edited", {"set": values}, 422)
    assert place in str(problem["errors"])
    assert shared.call("GET", "/v1/populations/edited")["spec"]["pending_edits"] == []


def test_pages_of_the_list(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        for number in range(5):
            service.create(f"p{number}")
        pages, cursor = [], ""
        while True:
            page = service.call("GET", f"/v1/populations?limit=2{cursor}")
            pages.append([item["id"] for item in page["items"]])
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
            if len(pages) == 1:
                service.create("late")
        assert pages == [["p0", "p1"], ["p2", "p3"], ["p4", "late"]]
        assert service.call("GET", "/v1/populations?state=running")["items"] == []
        service.call("GET", "/v1/populations?cursor=bm9wZQ", status=422)
        assert (
            service.call("GET", "/v1/populations?state=nonsense", status=422)["errors"][0][
                "pointer"
            ]
            == "state"
        )
