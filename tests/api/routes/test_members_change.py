"""Members come and go over REST: named once, of a role there is, never the last of it, and in
force when a trainer says so.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.league.database import open_league
from arena.league.retention import anchors
from tests.api.routes.test_read_routes import write_league
from tests.api.service import Service, serving

MEMBERS = "/v1/populations/demo/members"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Service]:
    """A population of m0 and m1, which a person trained, and its snapshots."""
    write_league(tmp_path / "data")
    with serving(tmp_path / "data") as running:
        running.done(running.call("POST", "/v1/populations/demo/stop"))
        yield running


def pending(service: Service) -> list[str]:
    return list(service.call("GET", "/v1/populations/demo")["spec"]["pending_edits"])


def test_names_go_on_and_none_is_given_twice(demo: Service) -> None:
    made = [
        demo.call("POST", MEMBERS, body, 202)
        for body in ({}, {"weights": "m0"}, {"role": "player", "weights": "m1"})
    ]
    assert [(one["member"], one["role"], one["change"]) for one in made] == [
        (f"m{number}", "player", "join") for number in (2, 3, 4)
    ]
    gone = demo.call("DELETE", f"{MEMBERS}/m2", None, 202)
    assert (gone["member"], gone["change"], gone["pending_edits"]) == ("m2", "leave", pending(demo))
    assert demo.call("POST", MEMBERS, {}, 202)["member"] == "m5"
    assert pending(demo)[:3] == [
        'population.joined.m2.role="player"',
        'population.joined.m3.role="player"',
        'population.joined.m3.weights="m0"',
    ]
    assert 'population.left=["m2"]' in pending(demo)


def test_who_is_to_join_has_no_weights_to_give_yet(demo: Service) -> None:
    """Both would be built from one checkpoint, which does not hold the first."""
    demo.call("POST", MEMBERS, {}, 202)
    before = pending(demo)
    assert "m2 has no weights yet" in demo.call("POST", MEMBERS, {"weights": "m2"}, 409)["detail"]
    assert pending(demo) == before


def test_a_refused_change_keeps_no_snapshot(demo: Service) -> None:
    demo.call("POST", MEMBERS, {"weights": "a" * 64}, 412, **{"If-Match": '"99"'})
    with open_league(demo.data / "league.db", read_only=True) as league:
        assert "a" * 64 not in anchors(league)


def test_a_snapshot_to_begin_with_is_kept(demo: Service) -> None:
    made = demo.call("POST", MEMBERS, {"weights": "a" * 64}, 202)
    assert f'population.joined.m2.weights="{"a" * 64}"' in made["pending_edits"]
    with open_league(demo.data / "league.db", read_only=True) as league:
        assert "a" * 64 in anchors(league)


BAD = [
    ({"role": "goalkeeper"}, "/role"),
    ({"weights": "m7"}, "/weights"),
    ({"weights": "e" * 64}, "/weights"),
    ({"weights": "../../etc/passwd"}, "/weights"),
    ({"role": 'player"\nseed=3'}, "/role"),
    ({"surprise": 1}, "/surprise"),
    ([], ""),
]


@pytest.mark.parametrize(("body", "place"), BAD)
def test_what_cannot_join(demo: Service, body: object, place: str) -> None:
    problem = demo.call("POST", MEMBERS, body, 422)
    assert place in str(problem["errors"]) and pending(demo) == []


def test_who_cannot_leave(demo: Service) -> None:
    assert "no member 'm9'" in demo.call("DELETE", f"{MEMBERS}/m9", None, 404)["detail"]
    demo.call("DELETE", f"{MEMBERS}/unknown", None, 422)
    demo.call("DELETE", f"{MEMBERS}/m0", None, 202)
    assert demo.call("DELETE", f"{MEMBERS}/m0", None, 404)["type"].endswith("not-found")
    assert (
        "the only one that plays player"
        in demo.call("DELETE", f"{MEMBERS}/m1", None, 409)["detail"]
    )
    demo.call("POST", MEMBERS, {}, 202)
    demo.call("DELETE", f"{MEMBERS}/m1", None, 202)
    assert demo.call("POST", MEMBERS, {"weights": "m1"}, 422)["errors"][0]["pointer"] == "/weights"


def test_who_plays_is_no_value_to_set(demo: Service) -> None:
    problem = demo.call(
        "PATCH", "/v1/populations/demo", {"set": {"population.left": ["m0", "m1"]}}, 422
    )
    assert problem["errors"][0]["pointer"] == "/set/population.left" and pending(demo) == []


def test_a_repeated_request_has_one_effect(demo: Service) -> None:
    keyed = {"Idempotency-Key": "k1"}
    gone = [demo.call("DELETE", f"{MEMBERS}/m1", None, 202, **keyed) for _ in range(2)]
    assert gone[0] == gone[1] and len(pending(demo)) == 1
    made = [demo.call("POST", MEMBERS, {"weights": "m0"}, 202, **keyed) for _ in range(2)]
    assert made[0] == made[1] and len(pending(demo)) == 3
    demo.call("POST", MEMBERS, {}, 422, **keyed)
    demo.call("POST", MEMBERS, {}, 412, **{"If-Match": '"1"'})


def test_many_at_once_cross_nowhere(demo: Service) -> None:
    """Eight clients add a member each; every one gets a name of its own."""
    named: list[str] = []
    clients = [
        threading.Thread(target=lambda: named.append(demo.call("POST", MEMBERS, {}, 202)["member"]))
        for _ in range(8)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert sorted(named, key=lambda name: int(name[1:])) == [
        f"m{number}" for number in range(2, 10)
    ]
    assert len(pending(demo)) == 8


def test_a_running_trainer_takes_them_without_a_new_start(service: Service) -> None:
    service.create("first", {}, start=True)
    service.wait_state("first", "running")
    service.call("POST", "/v1/populations/first/members", {}, 202)
    service.wait(lambda: not service.call("GET", "/v1/populations/first")["spec"]["pending_edits"])
    assert len(service.starts("first")) == 1
    assert (service.data / "populations/first/taken").read_text().split() == [
        'population.joined.m1.role="player"'
    ]


def test_a_dry_run_tells_who_would_come_and_go_and_changes_nothing(demo: Service) -> None:
    foretold = demo.call("POST", f"{MEMBERS}?dry_run=true", {"weights": "m0"}, 200)
    assert foretold["member"] == "m2" and pending(demo) == []
    assert foretold["effects"][0] == "its next start takes it"
    assert foretold["effects"][1].startswith("m2 joins as player with a copy of m0")
    assert foretold["effects"][2].startswith("2 -> 3 members play player")
    demo.call("POST", f"{MEMBERS}?dry_run=true", {"weights": "m7"}, 422)
    made = demo.call("POST", MEMBERS, {"weights": "m0"}, 202)
    assert made["effects"] == foretold["effects"]
    gone = demo.call("DELETE", f"{MEMBERS}/m1?dry_run=true", None, 200)
    assert gone["effects"][1].startswith("m1 leaves") and gone["pending_edits"] == pending(demo)
    assert "3 -> 2 members play player" in gone["effects"][2]
    demo.call("DELETE", f"{MEMBERS}/m9?dry_run=true", None, 404)
