"""Pages of every list: whole, stable while rows are added, and told apart by their cursors."""

import base64
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from api.http.problems import Problem
from api.routes.pages import read_cursor, write_cursor
from arena.league.matches import create_match, finish_match
from arena.league.populations import open_incarnation
from arena.league.writer import LeagueWriter
from pbt.records import PlayerRef
from tests.api.example_upload import upload
from tests.api.routes.test_read_routes import get, write_league
from tests.api.service import Service, serving
from tests.arena.league.samples import RANDOM, event, snapshot, snapshot_player

Parameters = Mapping[str, Mapping[str, Any]]
PLACES = {"name": "demo", "match_id": "1"}


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with some of everything that is listed."""
    data = tmp_path_factory.mktemp("listed")
    write_league(data)
    with serving(data) as running:
        for number in range(3):
            running.create(f"other{number}")
            upload(running, f"import{number}")
            players = [snapshot_player("ab"[number % 2]), PlayerRef("guest", f"guest{number}")]
            made = create_match(running.league, "connect_four", {}, players, 2, number, {})
            if number != 1:
                finish_match(running.league, made, 2)
            asked = {"players": ["quick", "random"], "env": "connect_four", "seed": number}
            running.call("POST", "/v1/evaluations", asked)
            running.call("POST", "/v1/jobs", {"kind": "verification", "name": "match:1"})
        with LeagueWriter(running.league, incarnation_of_demo(running)) as writer:
            for number, letter in enumerate("cdef"):
                writer.snapshot(snapshot(letter, "m0", 500 * number))
                writer.event(event(f"event {number}"))
        yield running


def incarnation_of_demo(service: Service) -> Any:
    return open_incarnation(service.league, 1, os.getpid(), last_game=59, last_rounds={"m0": 2})


def lists(service: Service) -> list[tuple[str, Parameters]]:
    """(path, its parameters) of every list that has pages."""
    found = []
    for path, by in service.app.openapi()["paths"].items():
        parameters = {one["name"]: one["schema"] for one in by.get("get", {}).get("parameters", ())}
        if "cursor" in parameters:
            found.append((path.format(**PLACES), parameters))
    return found


def named(item: Mapping[str, Any]) -> str:
    return str(item.get("id") or json.dumps(item, sort_keys=True))


def pages(service: Service, path: str, limit: int, query: str = "") -> list[list[str]]:
    """The items of each page of a list, by their ids; those without one whole."""
    found, cursor = [], ""
    while True:
        page = get(service, f"{path}?limit={limit}{query}{cursor}")
        found.append([named(item) for item in page["items"]])
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def orders(parameters: Parameters) -> list[str]:
    return [f"&sort={sort}" for sort in parameters.get("sort", {}).get("enum", ())] or [""]


def test_every_list_has_pages(listed: Service) -> None:
    found = [path for path, _ in lists(listed)]
    assert {
        "/v1/populations",
        "/v1/matches",
        "/v1/matches/1/games",
        "/v1/evaluations",
        "/v1/imports",
        "/v1/populations/demo/games",
        "/v1/populations/demo/events",
        "/v1/populations/demo/snapshots",
        "/v1/populations/demo/rounds",
    } <= set(found)


def test_pages_hold_every_item_once_in_every_order(listed: Service) -> None:
    for path, parameters in lists(listed):
        for order in orders(parameters):
            one_by_one = pages(listed, path, 1, order)
            (together,) = pages(listed, path, 500, order)
            assert [item for page in one_by_one for item in page] == together, (path, order)
            assert len(set(together)) == len(together)
            assert all(len(page) == 1 for page in one_by_one if together)
            assert len(together) > 1 or path == "/v1/matches/1/games", path


def test_an_order_and_its_reverse(listed: Service) -> None:
    for path, parameters in lists(listed):
        for order in orders(parameters):
            if order.startswith("&sort=-"):
                forth = pages(listed, path, 500, order.replace("-", ""))
                assert pages(listed, path, 500, order)[0] == forth[0][::-1], (path, order)


def refused(service: Service, path: str, cursor: str) -> str:
    problem = get(service, f"{path}?cursor={cursor}", 422)
    assert problem["errors"][0]["pointer"] == "cursor"
    return str(problem["detail"])


def test_a_cursor_that_the_service_did_not_make_is_refused(listed: Service) -> None:
    for path, _ in lists(listed):
        for cursor in ("1", "x", "W10", "bnVsbA", "é", cut(listed, path)):
            text = refused(listed, path, cursor)
            assert text.startswith("cursor: ") and text.endswith("; leave it out to begin anew")


def cut(service: Service, path: str) -> str:
    """A cursor of the list, of which the end is lost; "x" for a list of one page."""
    return str(get(service, f"{path}?limit=1")["next"] or "x")[:-3]


def test_a_cursor_of_another_list_or_order_is_refused(listed: Service) -> None:
    found = lists(listed)
    cursors = {path: get(listed, f"{path}?limit=1")["next"] for path, _ in found}
    for path, parameters in found:
        for other, cursor in cursors.items():
            games = path.endswith("/games") and other.endswith("/games")
            if cursor is not None and other != path and not games:
                assert "another list" in refused(listed, path, cursor)
        if "sort" in parameters and cursors[path] is not None:
            default = parameters["sort"]["default"]
            turned = default.removeprefix("-") if default.startswith("-") else f"-{default}"
            get(listed, f"{path}?sort={turned}&cursor={cursors[path]}", 422)


def test_rows_that_are_added_move_no_row_to_another_page(listed: Service) -> None:
    paths = {
        "/v1/populations/demo/events": "",
        "/v1/populations/demo/snapshots": "&sort=-created",
        "/v1/matches": "",
    }
    before = {path: pages(listed, path, 2, order) for path, order in paths.items()}
    firsts = {path: get(listed, f"{path}?limit=2{order}")["next"] for path, order in paths.items()}
    with LeagueWriter(listed.league, incarnation_of_demo(listed)) as writer:
        writer.event(event("one more"))
        writer.snapshot(snapshot("9", "m0", 100))
    create_match(listed.league, "connect_four", {}, [snapshot_player("a"), RANDOM], 2, 9, {})
    for path, order in paths.items():
        again = get(listed, f"{path}?limit=2{order}&cursor={firsts[path]}")["items"]
        assert [named(item) for item in again] == before[path][1], path
        newest = get(listed, f"{path}?limit=1{order}")["items"]
        assert named(newest[0]) != before[path][0][0], path


def test_populations_by_name_and_time(listed: Service) -> None:
    def names(query: str) -> list[str]:
        return [item["id"] for item in get(listed, f"/v1/populations?{query}")["items"]]

    assert names("name=ther&sort=-name") == ["other2", "other1", "other0"]
    made = {item["id"]: item["created_at"] for item in get(listed, "/v1/populations")["items"]}
    assert names(f"since={made['other1']}") == ["other1", "other2"]
    assert names(f"until={made['other1']}") == ["demo", "other0"]
    assert names("state=created&name=0") == ["other0"]
    get(listed, "/v1/populations?name=A", 422)


def test_matches_by_player_and_time(listed: Service) -> None:
    def ids(query: str) -> list[str]:
        return sorted(
            item["id"] for item in get(listed, f"/v1/matches?{query}&limit=4&sort=created")["items"]
        )

    assert ids("player=guest0") == ["2"]
    assert ids("player=oneply") == ["1"]
    assert ids(f"player={'b' * 64}") == ["3"]
    assert ids("player=demo")[:4] == ["1", "2", "3", "4"]
    assert ids("player=demo/m1") == ["3"], "snapshot b is of m1"
    assert ids("player=demo/m7") == ids("player=unknown") == []
    assert ids("player=guest0&finished=false") == []
    made = {item["id"]: item["created_at"] for item in get(listed, "/v1/matches")["items"]}
    assert ids(f"until={made['3']}") == ["1", "2"]
    assert ids(f"since={made['3']}")[:2] == ["3", "4"]


def test_evaluations_by_player(listed: Service) -> None:
    assert len(get(listed, "/v1/evaluations?player=quick")["items"]) == 3
    assert get(listed, "/v1/evaluations?player=quic")["items"] == []


def test_snapshots_by_what_they_are(listed: Service) -> None:
    def letters(query: str) -> str:
        found = get(listed, f"/v1/populations/demo/snapshots?{query}")["items"]
        return "".join(item["id"][0] for item in found if item["id"][0] in "abcdef")

    assert letters("") == "cdabef"
    assert letters("sort=-frames") == "febadc"
    assert letters("member=m1") == "b"
    assert letters("role=player&member=m1") == "b" and letters("role=x") == ""
    assert letters("has_weights=false") == "" and letters("anchor=true") == ""
    assert letters("has_weights=true&anchor=false") == "cdabef"
    made = {
        item["id"][0]: item["created_at"]
        for item in get(listed, "/v1/populations/demo/snapshots")["items"]
    }
    assert letters(f"since={made['c']}&sort=created") == "cdef"
    assert letters(f"until={made['c']}") == "ab"


def test_events_by_what_they_are(listed: Service) -> None:
    def texts(query: str) -> list[str]:
        path = f"/v1/populations/demo/events?{query}"
        return [item["text"] for item in get(listed, path)["items"] if item["text"] != "one more"]

    assert texts("")[0] == "event 3" and texts("sort=created")[-1] == "event 3"
    kind = get(listed, "/v1/populations/demo/events")["items"][0]["kind"]
    assert texts(f"kind={kind}") == texts("") and texts("kind=nothing") == []
    assert texts("member=m9") == []
    assert texts("since=1e12") == [] and texts("until=1e12") == texts("")


def test_a_place_survives_its_cursor() -> None:
    for place, kinds in (([1.5, 3], (float, int)), (["ä", 2**63 - 1], (str, int)), ([0], (int,))):
        assert read_cursor("x", write_cursor("x", place), *kinds) == place
    assert write_cursor("x", None) is None and read_cursor("x", None, int) is None


@pytest.mark.parametrize("place", [[True], [2**63], ["1"], [1, 2], [], ["\ud800"], [1.0]])
def test_a_place_that_no_list_has_is_refused(place: list[Any]) -> None:
    text = json.dumps(["x", *place]).encode()
    with pytest.raises(Problem, match="did not make it"):
        read_cursor("x", base64.urlsafe_b64encode(text).decode(), int)


def test_a_number_that_is_none_is_refused() -> None:
    for text in (b'["x", NaN]', b'["x", 1e999]', b"[[]]", b"{}", b"\xff"):
        with pytest.raises(Problem):
            read_cursor("x", base64.urlsafe_b64encode(text).decode(), float)
