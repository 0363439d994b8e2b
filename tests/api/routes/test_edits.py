"""What an edit does beside setting values is said in its answer; members are shown as they
stand.
"""

from dataclasses import replace
from typing import Any

import pytest

from api.routes.edits import effects
from arena.data.status import MemberRow
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from tests.api.service import Service
from tests.arena.sample_status import STATUS

AT_5000 = replace(
    STATUS,
    members=(
        MemberRow("m0", 5000, 1.0, "learning"),
        MemberRow("m1", 9000, 1.0, "finished"),
        MemberRow("m2", 7, None, "failed"),
    ),
)
ANEW, OVER, START, SCORES = (
    "its trainer saves, and starts again with the new values",
    "every member has trained",
    "it is finished; start it to train on",
    "every member's score begins anew",
)


def config(**values: Any) -> RunConfig:
    return config_from_table(
        {"env": {"name": "tictactoe", "objective": "win"}, "stop_at_frames": 10_000, **values},
        "test",
    )


@pytest.mark.parametrize(
    ("state", "changed", "expected"),
    [
        ("running", {"evaluation": {"share": 0.5}}, []),
        ("running", {"learning": {"gamma": 0.5}}, [ANEW]),
        ("recovering", {"learning": {"gamma": 0.5}}, [ANEW]),
        ("stopped", {"learning": {"gamma": 0.5}}, []),
        (
            "stopped",
            {"stop_at_frames": 4_000},
            [f"{OVER} 4,000 frames already: it finishes at its next start"],
        ),
        ("running", {"stop_at_frames": 20_000}, []),
        ("running", {"stop_at_frames": 5_001}, []),
        (
            "running",
            {"stop_at_frames": 5_000},
            [f"{OVER} 5,000 frames already: the population finishes"],
        ),
        ("finished", {"stop_at_frames": 20_000}, [START]),
        ("finished", {"stop_at_frames": 4_000}, []),
        ("finished", {"evaluation": {"share": 0.5}}, []),
        ("running", {"env": {"name": "tictactoe", "objective": "margin"}}, [ANEW, SCORES]),
        ("finished", {"env": {"name": "tictactoe", "objective": "margin"}}, [SCORES]),
    ],
)
def test_what_an_edit_does_beside(state: str, changed: dict[str, Any], expected: list[str]) -> None:
    assert effects(state, config(), config(**changed), AT_5000) == expected


def test_a_new_end_of_annealing_needs_a_new_start() -> None:
    before, after = (
        config(stop_at_frames=frames, learning={"anneal_to": 0.1}) for frames in (10_000, 20_000)
    )
    assert effects("running", before, after, AT_5000) == [ANEW]


def test_of_a_population_that_never_trained_nothing_is_foreseen() -> None:
    assert effects("created", config(), config(stop_at_frames=1), None) == []


def test_the_answer_to_an_edit_has_them(service: Service) -> None:
    service.create("one", start=True)
    service.wait_checkpoint("one")
    service.wait(lambda: service.call("GET", "/v1/populations/one")["status"]["frames"] > 100)
    told = service.call("PATCH", "/v1/populations/one", {"set": {"stop_at_frames": 100}})
    assert told["effects"] == [f"{OVER} 100 frames already: the population finishes"]
    assert service.call("GET", "/v1/populations/one")["effects"] == []


def test_members_have_their_frames_and_their_first_values(service: Service) -> None:
    service.create("one")
    asked = service.call("GET", "/v1/populations/one/members")["items"]
    assert asked[0]["frames"] == 0 and asked[0]["hyperparams"]["learning_rate"] == 5e-4
    service.call("POST", "/v1/populations/one/start")
    service.wait(
        lambda: service.call("GET", "/v1/populations/one/members")["items"][0]["frames"] > 100
    )


def test_what_is_nowhere_and_what_is_wrong_are_said(service: Service) -> None:
    assert (
        service.call("GET", "/v1/nothing", None, 404)["detail"]
        == "nothing is at /v1/nothing; /openapi.json says what there is"
    )
    service.create("one")
    problem = service.call("PATCH", "/v1/populations/one", {"set": {"learning.gamma": 2}}, 422)
    assert (
        problem["detail"] == "edits: 1 problem"
        and problem["errors"][0]["pointer"] == "/set/learning.gamma"
    )
    assert (
        service.call("PATCH", "/v1/populations/one", {"set": {"stop_at_frames": 10**20}}, 422)[
            "errors"
        ][0]["pointer"]
        == "/set/stop_at_frames"
    )
    large = {
        "name": "large",
        "config": {"env": {"name": "tictactoe"}, "population": {"members": 100_000}},
    }
    assert service.call("POST", "/v1/populations?dry_run=true", large, 422)["errors"][0][
        "pointer"
    ].startswith("/config/population/members")


def test_what_changes_nothing_waits_for_nothing(service: Service) -> None:
    service.create("one")
    gamma = service.call("GET", "/v1/populations/one")["spec"]["config"]["learning"]["gamma"]
    told = service.call(
        "PATCH", "/v1/populations/one", {"set": {"learning.gamma": gamma, "evaluation.share": 0.5}}
    )
    assert told["spec"]["pending_edits"] == ["evaluation.share=0.5"]
    again = service.call("PATCH", "/v1/populations/one", {"set": {"evaluation.share": 0.5}})
    assert again["spec"]["pending_edits"] == ["evaluation.share=0.5"]


def test_an_edit_answers_what_a_look_answers(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    service.done(service.call("POST", "/v1/populations/one/pause"))
    edited = service.call("PATCH", "/v1/populations/one", {"set": {"learning.gamma": 0.9}})
    seen = service.call("GET", "/v1/populations/one")
    assert edited == seen and seen["status"]["last_checkpoint"] and seen["status"]["members"]


def test_states_of_members_agree_with_their_population(service: Service) -> None:
    """What its trainer reported last says "learning" for ever."""
    service.create("one", start=True)
    service.wait_state("one", "running")

    def state() -> str:
        return str(service.call("GET", "/v1/populations/one")["status"]["members"][0]["state"])

    assert state() == "learning"
    service.done(service.call("POST", "/v1/populations/one/pause"))
    assert state() == "paused"
    service.done(service.call("POST", "/v1/populations/one/stop"))
    assert state() == "stopped"


def test_a_finished_population_is_not_wanted_running(service: Service) -> None:
    service.create("one", {"finish_s": 0.1}, start=True)
    assert service.wait_state("one", "finished")["spec"]["desired"] == "stopped"


def test_a_damaged_config_file_is_told(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    service.done(service.call("POST", "/v1/populations/one/stop"))
    (service.data / "populations/one/config.json").write_text("")
    seen = service.call("GET", "/v1/populations/one")
    assert seen["spec"]["config"] is None and "damaged" in seen["status"]["warnings"][-1]
    refused = service.call("PATCH", "/v1/populations/one", {"set": {"learning.gamma": 0.9}}, 503)
    assert "config.json" in refused["detail"]
