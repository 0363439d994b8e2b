"""What an edit does beside setting values is said in its answer; members are shown as they
stand.
"""

from tests.api.service import Service


def test_the_answer_to_an_edit_has_them(service: Service) -> None:
    service.create("one", start=True)
    service.wait_checkpoint("one")
    service.wait(lambda: service.call("GET", "/v1/populations/one")["status"]["frames"] > 100)
    edit = {"set": {"stop_at_frames": 100}}
    foretold = service.call("PATCH", "/v1/populations/one?dry_run=true", edit)
    assert foretold["spec"]["pending_edits"] == [] and foretold["revision"] == 1
    told = service.call("PATCH", "/v1/populations/one", edit)
    assert told["effects"] == foretold["effects"]
    assert told["effects"][0] == "its trainer takes it at its next rest, without a new start"
    assert told["effects"][1].endswith(
        "-> 100: every member has trained 100 frames already: the population finishes"
    )
    assert service.call("GET", "/v1/populations/one")["effects"] == []


def test_a_dry_run_refuses_what_the_edit_would_be_refused_for(service: Service) -> None:
    service.create("one")
    for body, place in (
        ({"set": {"learning.gamma": 2}}, "/set/learning.gamma"),
        ({"set": {"seed": 3}}, "/set/seed"),
        ({"set": {"learning.optimizer": "rmsprop"}}, "/set/learning.optimizer"),
        ({"set": {"population.left": ["m0"]}}, "/set/population.left"),
    ):
        for query in ("", "?dry_run=true"):
            problem = service.call("PATCH", f"/v1/populations/one{query}", body, 422)
            assert problem["errors"][0]["pointer"] == place
    tagged = {"If-Match": '"7"'}
    edit = {"set": {"stop_at_frames": 100}}
    service.call("PATCH", "/v1/populations/one?dry_run=true", edit, 412, **tagged)


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
    assert {**edited, "effects": []} == seen
    assert seen["status"]["last_checkpoint"] and seen["status"]["members"]


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
