"""Requested work over REST: asked for, watched, cancelled. The double keeps the contract of the
process that does it; test_real_jobs.py has the real one.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from api.routes.job_reports import VerificationReport
from api.routes.jobs import JobBody
from arena.cli.verify import verified
from arena.league.database import open_league
from arena.league.service_events import events_after
from arena.programs.job import verification_report
from arena.verification.report import VerifyRequest, no_observer
from tests.api.routes.test_read_routes import get, write_league
from tests.api.service import Service, serving
from tests.arena.league.altering import alter_game

OPEN = ("PENDING", "RUNNING")
QUICK = {"kind": "verification", "name": "match:1"}
ENDLESS = {"kind": "verification", "name": "imported"}


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("working")
    write_league(data)
    with serving(data) as running:
        yield running


def ask(service: Service, body: dict[str, Any]) -> str:
    return str(service.call("POST", "/v1/jobs", body, status=202)["id"])


def over(service: Service, number: str) -> Any:
    path = f"/v1/jobs/{number}"
    return service.wait(
        lambda: found if (found := get(service, path))["state"] not in OPEN else None
    )


def test_a_verification_is_watched_to_its_end(working: Service) -> None:
    number = ask(working, QUICK)
    done = over(working, number)
    assert JobBody.model_validate(done).model_dump() == done
    assert (done["state"], done["report"]["ok"], done["asked"]["replay"]) == (
        "SUCCEEDED",
        True,
        None,
    )
    assert done["progress"] == [{"what": "rows", "done": 1, "total": 2}]
    told = [event.payload for event in events_after(working.league, 0, 1000, ("job",))[0]]
    mine = [one["state"] for one in told if one["id"] == number]
    assert (mine[0], mine[-1]) == ("PENDING", "SUCCEEDED")


def test_work_and_matches_wait_in_one_queue_and_apart_in_lists(working: Service) -> None:
    first = ask(working, ENDLESS)
    working.wait(lambda: get(working, f"/v1/jobs/{first}")["progress"])
    match = working.call(
        "POST", "/v1/evaluations", {"players": ["quick", "random"], "env": "connect_four"}
    )["id"]
    second = ask(working, QUICK)
    assert [get(working, f"/v1/jobs/{one}")["state"] for one in (first, second)] == [
        "RUNNING",
        "PENDING",
    ]
    assert get(working, f"/v1/evaluations/{match}")["state"] == "PENDING"
    get(working, f"/v1/jobs/{match}", 404)
    get(working, f"/v1/evaluations/{second}", 404)
    listed = [one["id"] for one in get(working, "/v1/jobs")["items"]]
    assert listed[:2] == [second, first] and match not in listed
    running = get(working, "/v1/jobs?kind=verification&state=RUNNING")["items"]
    assert [one["id"] for one in running] == [first]
    assert working.call("POST", f"/v1/jobs/{first}/cancel", status=202)["cancelled"] is True
    assert over(working, first)["state"] == "STOPPED"
    assert over(working, second)["state"] == "SUCCEEDED"
    assert working.call("POST", f"/v1/jobs/{second}/cancel")["state"] == "SUCCEEDED"


def test_a_repeated_request_is_one_job(working: Service) -> None:
    key = {"idempotency-key": "once"}
    first, again = (working.call("POST", "/v1/jobs", QUICK, **key) for _ in range(2))
    assert first == again
    working.call("POST", "/v1/jobs", {**QUICK, "replay": 1}, 422, **key)


COMPARISON = {
    "kind": "comparison",
    "name": "endless",
    "a": {"env": {"name": "connect_four"}},
    "b": {"env": {"name": "connect_four"}, "learning": {"gamma": 0.9}},
    "frames": 4096,
}


def test_a_comparison_takes_the_place_of_a_training_and_not_that_of_a_match(
    tmp_path: Path,
) -> None:
    write_league(tmp_path)
    with serving(tmp_path, max_running=1) as service:
        first = ask(service, COMPARISON)
        service.wait(lambda: get(service, f"/v1/jobs/{first}")["state"] == "RUNNING")
        again = service.call("POST", "/v1/jobs", {**COMPARISON, "seeds": 4}, 409)
        assert f"is job {first}, which is not over" in again["detail"]
        service.create("one", start=True)
        assert service.wait_state("one", "queued")["status"]["reason"] == "queue"
        assert over(service, ask(service, QUICK))["state"] == "SUCCEEDED"
        service.call("POST", f"/v1/jobs/{first}/cancel", status=202)
        assert over(service, first)["state"] == "STOPPED"
        service.wait_state("one", "running")


def test_a_comparison_of_which_a_person_stopped_a_training_rests(working: Service) -> None:
    found = over(working, ask(working, {**COMPARISON, "name": "stopped"}))
    assert (found["state"], found["message"]) == ("STOPPED", "stopped-a1 was stopped")
    assert (found["restarts"], found["cancelled"]) == (0, False)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "verification", "name": "unknown"}, 404),
        ({"kind": "verification", "name": "match:77"}, 404),
        ({"kind": "verification", "name": "../league.db"}, 422),
        ({"kind": "verification", "name": "demo", "head": "xyz"}, 422),
        ({"kind": "verification", "name": "demo", "replay": -1}, 422),
        ({"kind": "cleaning", "name": "demo"}, 422),
        ({"kind": "verification", "name": "demo", "force": True}, 422),
        ({"kind": "tournament", "players": ["random"]}, 422),
        ({"kind": "tournament", "players": ["random", "exec:./bot.py"]}, 422),
        ({"kind": "tournament", "players": ["random", "oneply"], "env": "./game.py:Game"}, 422),
        ({"kind": "tournament", "players": ["random", "oneply"], "rounds": 0}, 422),
        ({"kind": "returns", "players": []}, 422),
        ({"kind": "returns", "players": ["random"], "episodes": 0}, 422),
        ({"kind": "returns", "players": ["random"], "objective": "chips"}, 422),
        ({**COMPARISON, "name": "../up"}, 422),
        ({**COMPARISON, "frames": 0}, 422),
        ({**COMPARISON, "seeds": 10**6}, 422),
    ],
)
def test_work_that_cannot_be_done_is_refused(
    working: Service, body: dict[str, Any], status: int
) -> None:
    before = len(get(working, "/v1/jobs")["items"])
    problem = working.call("POST", "/v1/jobs", body, status)
    assert problem["detail"]
    assert len(get(working, "/v1/jobs")["items"]) == before


def test_a_viewer_watches_only(working: Service) -> None:
    viewer = {"authorization": f"Bearer {working.token('viewer')}"}
    assert working.client.get("/v1/jobs", headers=viewer).status_code == 200
    assert working.client.post("/v1/jobs", json=QUICK, headers=viewer).status_code == 403


def test_the_report_is_what_the_command_finds(tmp_path: Path) -> None:
    write_league(tmp_path)
    with open_league(tmp_path / "league.db") as league:
        alter_game(league, 3, steps=99)
    found = verified(tmp_path, "demo", VerifyRequest(replay=0, allow_files=False), no_observer)
    report = verification_report(found)
    assert report["ok"] is False and report["differences"]
    assert report["differences"] == [asdict(difference) for difference in found.differences]
    assert VerificationReport.model_validate(report).model_dump() == report
