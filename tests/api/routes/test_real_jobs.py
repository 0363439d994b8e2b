"""Requested work of each kind by a real service: asked for, killed on the way, done; its report is
that of the command.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from api.routes.jobs import JobBody
from arena.cli.app import run
from arena.league.database import open_league
from tests.api.routes.test_read_routes import write_league
from tests.arena.league.altering import alter_game
from tests.served import Served, wait

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONFIG: dict[str, Any] = {
    "env": {"name": "tictactoe"},
    "population": {"members": 1},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 16},
    "learning": {"batch_steps": 128, "minibatches": 1, "epochs": 1},
    "evaluation": {"final_games": 2},
    "runtime": {"placement": "serial"},
}
FRAMES = 1024


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Its league has a population, and a game of it that was altered."""
    data = tmp_path_factory.mktemp("jobs") / "data"
    data.mkdir()
    write_league(data)
    with open_league(data / "league.db") as league:
        alter_game(league, 3, steps=99)
    running = Served(data)
    try:
        yield running
    finally:
        assert running.stop() == 0


def ask(served: Served, body: dict[str, Any]) -> str:
    return str(served.call("POST", "/v1/jobs", body)["id"])


def look(served: Served, number: str) -> Any:
    return served.call("GET", f"/v1/jobs/{number}")


def done(served: Served, number: str) -> Any:
    """The job once it is over."""

    def over() -> Any:
        found = look(served, number)
        return found if found["state"] not in ("PENDING", "RUNNING") else None

    found = wait(over, 300, served.log)
    assert found["state"] == "SUCCEEDED", found["message"]
    assert JobBody.model_validate(found).model_dump(exclude_unset=True) == found
    return found


def part(served: Served, number: str) -> Any:
    """How much of its parts is done, while it works."""
    found = look(served, number)
    assert found["state"] in ("PENDING", "RUNNING"), found
    return sum(one["done"] for one in found["progress"])


def kill_worker(served: Served, number: str) -> None:
    workers = [
        one
        for one in psutil.Process(served.process.pid).children(recursive=True)
        if one.cmdline()[-3:] == ["arena.programs.job", number, str(served.data)]
    ]
    (worker,) = workers
    os.kill(worker.pid, signal.SIGKILL)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(served: Served, body: dict[str, Any]) -> dict[str, str]:
    """Where a request is wrong, and how."""
    answer = served.ask("POST", "/v1/jobs", body)
    assert answer.status_code == 422, answer.text
    return {one["pointer"]: one["detail"] for one in answer.json()["errors"]}


def test_a_verification_finds_an_altered_row(served: Served) -> None:
    found = done(served, ask(served, {"kind": "verification", "name": "demo", "replay": 0}))
    assert found["report"]["ok"] is False and found["progress"]
    assert any("game" in one["where"] for one in found["report"]["differences"])


def test_a_tournament_that_was_killed_goes_on_to_the_report_of_the_command(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {"kind": "tournament", "players": ["random", "oneply"], "env": "connect_four"}
    number = ask(served, {**body, "games": 1000, "rounds": 3, "seed": 5})
    wait(lambda: part(served, number) > 100, 120, served.log)
    kill_worker(served, number)
    found = done(served, number)
    words = ["tournament", "random", "oneply", "--env", "connect_four", "--games", "1000"]
    report = printed(capsys, *words, "--rounds", "3", "--seed", "5", "--data", str(tmp_path))
    played = found["report"]
    for one in (*played["matches"], *report["matches"]):
        del one["match"]
    for name in ("matches", "players"):
        assert [without_nulls(one) for one in played[name]] == [
            without_nulls(one) for one in report[name]
        ]
    for name in ("model", "objective", "unit", "planned_matches", "interim"):
        assert played[name] == report[name]


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


def test_returns_are_those_of_the_command(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {"kind": "returns", "players": ["oneply", "random"], "env": "connect_four"}
    found = done(served, ask(served, {**body, "episodes": 200, "seed": 3}))
    words = ["evaluate", "oneply", "random", "--env", "connect_four", "--episodes", "200"]
    report = printed(capsys, *words, "--seed", "3", "--data", str(tmp_path))
    assert found["report"] == report
    assert found["report"]["mean_return"] > found["report"]["beside"][0]["mean_return"]


def test_a_comparison_that_was_killed_trains_on_and_ends_with_a_verdict(served: Served) -> None:
    slow = {**CONFIG, "learning": {**CONFIG["learning"], "learning_rate": 1e-6}}
    body = {"kind": "comparison", "name": "rates", "a": CONFIG, "b": slow, "frames": FRAMES}
    number = ask(served, {**body, "seeds": 2, "games": 20})
    wait(lambda: part(served, number) >= 1, 180, served.log)
    kill_worker(served, number)
    found = done(served, number)
    report = found["report"]
    assert [(one["what"], one["done"], one["total"]) for one in found["progress"]] == [
        ("trainings", 4, 4),
        ("matches", 4, 4),
    ]
    assert report["verdict"] in ("better", "worse", "undecided")
    assert report["populations"] == {
        "a": ["rates-a1", "rates-a2"],
        "b": ["rates-b1", "rates-b2"],
    }
    assert report["differences"]["learning.learning_rate"][1] == 1e-6
    for name in (*report["populations"]["a"], *report["populations"]["b"]):
        stored = served.call("GET", f"/v1/populations/{name}")
        assert stored["status"]["state"] == "finished"
    assert "/name" in refused(served, {**body, "a": slow, "b": CONFIG, "seeds": 2})


def test_a_training_of_a_comparison_that_a_person_stops_stays_stopped(served: Served) -> None:
    other = {**CONFIG, "learning": {**CONFIG["learning"], "gamma": 0.5}}
    body = {"kind": "comparison", "name": "long", "a": CONFIG, "b": other, "frames": 10**9}
    number = ask(served, body)
    wait(lambda: (served.data / "populations/long-a1/status.json").exists(), 180, served.log)
    served.call("POST", "/v1/populations/long-a1/stop")

    def over() -> Any:
        found = look(served, number)
        return found if found["state"] not in ("PENDING", "RUNNING") else None

    found = wait(over, 120, served.log)
    assert (found["state"], found["restarts"], found["cancelled"]) == ("STOPPED", 0, False)
    assert found["message"].startswith("long-a1 was stopped while it trained, by a person")
    again = ask(served, body)
    wait(lambda: served.state("long-a1") == "running", 120, served.log)
    served.call("POST", f"/v1/jobs/{again}/cancel")
    number = again
    assert wait(over, 120, served.log)["message"] == "cancelled"


def test_configs_with_a_problem_are_refused_with_its_place(served: Served) -> None:
    wrong = {**CONFIG, "learning": {"gamma": 7}}
    body = {"kind": "comparison", "name": "same", "a": CONFIG, "b": wrong, "frames": FRAMES}
    assert "learning.gamma" in refused(served, body)["/b/learning/gamma"]
