"""The service says of each population what the functions behind the terminal say."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from api.routes import populations
from api.routes.assessment_bodies import AssessmentBody, PopulationSummaryBody
from arena.assessment.assessor import Assessor
from arena.data.status import MemberRow
from arena.league.database import open_league
from arena.league.populations import set_state
from tests.api.service import CONFIG, Service, serving
from tests.arena.assessment.test_league import GOAL, ROWS, grows, league_of, tell


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of a league with a finished population that learned."""
    data = tmp_path_factory.mktemp("told")
    with league_of(data, grows) as league:
        set_state(league, 1, "finished")
    tell(data, *ROWS)
    with serving(data) as running:
        yield running


def get(service: Service, path: str, status: int = 200) -> Any:
    return service.call("GET", path, None, status)


def test_it_is_the_answer_of_the_function(told: Service) -> None:
    found = get(told, "/v1/populations/demo/assessment")
    with open_league(told.data / "league.db", read_only=True) as league:
        made = Assessor(league, told.data).assess("demo")
    assert AssessmentBody(**found) == AssessmentBody(**asdict(made))
    assert found["conclusion"] == "learning" and found["sentence"].startswith("finished; learned:")
    assert found["gain"]["low"] > 0 and found["best"]["of"] == 20
    assert found["anchors"][0]["player"] == "random"
    assert {one["health"] for one in found["members"]} == {"ok"}


def test_the_list_has_its_short_form(told: Service) -> None:
    whole = get(told, "/v1/populations/demo/assessment")
    (item,) = get(told, "/v1/populations")["items"]
    short = item["summary"]
    PopulationSummaryBody(**short)
    same = ("game", "progress", "seconds_left", "conclusion", "sentence", "unit", "best")
    assert {key: short[key] for key in same} == {key: whole[key] for key in same}
    assert short["members"] == 4 and short["trend"] == whole["roles"][0]["trend"]
    assert item["id"] == "demo" and item["status"]["state"] == "finished"


def test_an_unchanged_assessment_is_not_sent_again(told: Service) -> None:
    path = "/v1/populations/demo/assessment"
    bearer = {"authorization": f"Bearer {told.token('viewer')}"}
    first = told.client.get(path, headers=bearer)
    again = told.client.get(path, headers={**bearer, "if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304) and not again.content


def test_an_unknown_population_and_one_that_never_trained(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        get(service, "/v1/populations/none/assessment", 404)
        get(service, "/v1/populations/..%2Fnone/assessment", 404)
        service.create("new")
        found = get(service, "/v1/populations/new/assessment")
        assert found["conclusion"] == "too_early" and found["state"] == "created"
        assert "no evaluation game was played yet" in found["sentence"]
        assert [one["health"] for one in found["members"]] == ["unknown"]
        (item,) = get(service, "/v1/populations")["items"]
        assert item["summary"]["game"] == CONFIG["env"]["name"]
        assert item["summary"]["best"] is None and item["summary"]["last_pbt"] is None


def test_a_planted_fault_is_told_in_the_page_and_in_the_list(tmp_path: Path) -> None:
    with league_of(tmp_path, grows, games=200):
        pass
    refusing = MemberRow("m2", GOAL, 1.0, "finished", 0.5, updates=10, refused_updates=90)
    tell(tmp_path, *ROWS[:2], refusing, ROWS[3])
    with serving(tmp_path) as service:
        found = get(service, "/v1/populations/demo/assessment")
        assert found["conclusion"] == "broken"
        assert found["sentence"].startswith("broken: m2: 90 of 100 updates were refused")
        assert (found["updates_taken"], found["updates_refused"]) == (310, 90)
        (item,) = get(service, "/v1/populations")["items"]
        assert item["summary"]["conclusion"] == "broken"


def test_files_that_lie_do_not_break_it(tmp_path: Path) -> None:
    with league_of(tmp_path, grows, games=60):
        pass
    root = tmp_path / "populations" / "demo"
    (root / "config.json").write_text("{")
    (root / "metrics").mkdir()
    (root / "metrics" / "metrics.jsonl").write_bytes(b'{"member": 1}\n\xff\xfe\n{"frames"')
    with serving(tmp_path) as service:
        (root / "status.json").write_text('{"population": "demo"}')
        found = get(service, "/v1/populations/demo/assessment")
        assert {one["state"] for one in found["members"]} == {"unknown"}


def test_a_list_of_many_that_no_request_asked_for_comes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(populations, "LIST_PATIENCE_S", 0.0)
    with serving(tmp_path) as service:
        service.create("one")
        (item,) = get(service, "/v1/populations")["items"]
        assert item["summary"]["conclusion"] is None and item["summary"]["sentence"] == ""
        get(service, "/v1/populations/one/assessment")
        (item,) = get(service, "/v1/populations")["items"]
        assert item["summary"]["conclusion"] == "too_early"
