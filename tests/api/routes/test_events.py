"""The stream of events: every number once, in order, and again for a client that comes back."""

import json
import os
from pathlib import Path
from typing import Any

import httpx2
import structlog
from sqlalchemy import delete

from arena.league.deletion import delete_population
from arena.league.populations import create_population, open_incarnation
from arena.league.schema import service_events
from arena.league.service_events import (
    copy_training_events,
    event_bounds,
    events_after,
    forget_old_events,
)
from arena.league.writer import LeagueWriter
from tests.api.live import live
from tests.api.service import Service
from tests.arena.league.samples import CONFIG, MEMBERS, event, new_league


def read(
    url: str, token: str, count: int, after: int | None = None, query: str = ""
) -> list[tuple[str, int, Any]]:
    """(topic, number, data) of the next events."""
    headers = {"authorization": f"Bearer {token}"} | (
        {} if after is None else {"last-event-id": str(after)}
    )
    found: list[tuple[str, int, Any]] = []
    fields: dict[str, str] = {}
    with httpx2.stream("GET", f"{url}/v1/events{query}", headers=headers, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = value
            elif not line and "data" in fields:
                found.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
                fields = {}
                if len(found) == count:
                    break
    return found


def test_replay_from_any_number_gives_the_same_rest(tmp_path: Path) -> None:
    with live(tmp_path) as (url, service):
        token = service.token("viewer")
        service.create("one", start=True)
        service.wait_state("one", "running")
        service.done(service.call("POST", "/v1/populations/one/stop"))
        _, newest = event_bounds(service.league)
        every = read(url, token, newest, after=0)
        assert [number for _, number, _ in every] == list(range(1, newest + 1))
        states = [said["state"] for topic, _, said in every if topic == "population"]
        assert states == ["created", "starting", "running", "stopping", "stopped"]
        for cut in (1, newest // 2, newest - 1):
            assert read(url, token, newest - cut, after=cut) == every[cut:]
        only = [found for found in every if found[0] == "operation"]
        assert (
            read(url, token, len(only), after=0, query="?topics=operation&population=one") == only
        )


def test_a_client_that_was_away_too_long_is_told(tmp_path: Path) -> None:
    with live(tmp_path) as (url, service):
        for name in ("a", "b", "c"):
            service.create(name)
        with service.league.write() as connection:
            connection.execute(delete(service_events).where(service_events.c.id <= 2))
        token = service.token("viewer")
        assert read(url, token, 1, after=1) == [("resync", 3, {"topic": "resync", "newest": 3})]
        assert read(url, token, 1, after=77) == [("resync", 3, {"topic": "resync", "newest": 3})]
        assert read(url, token, 1, after=2)[0][1] == 3


def test_clients_that_leave_in_the_middle_are_no_fault(tmp_path: Path) -> None:
    """More is on its way to each than it reads: the stream ends while an event waits to be sent."""
    with live(tmp_path) as (url, service), structlog.testing.capture_logs() as told:
        token = service.token("viewer")
        for number in range(20):
            service.create(f"p{number}")
        for _ in range(20):
            with httpx2.stream(
                "GET",
                f"{url}/v1/events?after=0",
                headers={"authorization": f"Bearer {token}"},
                timeout=20,
            ) as answer:
                assert next(answer.iter_bytes(16))
        service.wait(
            lambda: (
                service.client.get(
                    "/metrics", headers={"authorization": f"Bearer {token}"}
                ).text.count("arena_sse_clients 0.0")
                == 1
            )
        )
    assert [entry for entry in told if entry["log_level"] == "error"] == []


def test_no_more_streams_than_allowed_and_places_come_back(tmp_path: Path) -> None:
    with live(tmp_path, max_streams=2) as (url, service):
        headers = {"authorization": f"Bearer {service.token('viewer')}"}
        with (
            httpx2.stream("GET", f"{url}/v1/events", headers=headers),
            httpx2.stream("GET", f"{url}/v1/events", headers=headers),
        ):
            refused = httpx2.get(f"{url}/v1/events", headers=headers)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
        service.create("a")
        service.wait(
            lambda: (
                httpx2.get(f"{url}/v1/events?topics=nonsense", headers=headers).status_code == 422
            )
        )
        service.wait(lambda: service.app.state.context.streams._open.total() == 0)
        assert read(url, service.token("viewer"), 1, after=0)


def test_one_caller_cannot_take_the_streams_of_all(tmp_path: Path) -> None:
    with live(tmp_path, max_streams=3, max_streams_each=1) as (url, service):
        viewer, admin = (
            {"authorization": f"Bearer {service.token(level)}"} for level in ("viewer", "admin")
        )
        with httpx2.stream("GET", f"{url}/v1/events", headers=viewer) as first:
            assert first.status_code == 200
            refused = httpx2.get(f"{url}/v1/events", headers=viewer)
            assert (refused.status_code, "of this caller" in refused.text) == (429, True)
            with httpx2.stream("GET", f"{url}/v1/events", headers=admin) as other:
                assert other.status_code == 200


def test_streams_end_when_their_session_ends(tmp_path: Path) -> None:
    with live(tmp_path) as (url, service):
        code = service.call("POST", "/v1/session/codes", {"level": "viewer"})["code"]
        said = httpx2.post(f"{url}/v1/session", json={"code": code}).headers["set-cookie"]
        cookie = {"cookie": said.split(";")[0], "origin": url}
        with httpx2.stream("GET", f"{url}/v1/events", headers=cookie, timeout=30) as stream:
            assert stream.status_code == 200
            assert httpx2.delete(f"{url}/v1/session", headers=cookie).status_code == 204
            for _ in stream.iter_lines():
                pass
        assert httpx2.get(f"{url}/v1/populations", headers=cookie).status_code == 401


def test_training_events_are_copied_once_whatever_is_deleted_between(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    other_id = create_population(league, "other", "connect_four", CONFIG, {}, MEMBERS)
    other = open_incarnation(league, other_id, os.getpid())
    with LeagueWriter(league, incarnation) as writer, LeagueWriter(league, other) as second:
        for text in "abc":
            writer.event(event(text))
            second.event(event(text))
    assert copy_training_events(league) == 6
    assert copy_training_events(league) == 0
    # Row numbers of the deleted events are used again; their places are not.
    delete_population(league, "other")
    with LeagueWriter(
        league, open_incarnation(league, incarnation.population_id, os.getpid())
    ) as writer:
        for text in "de":
            writer.event(event(text))
    assert copy_training_events(league) == 2
    told = [(found.population, found.payload["text"]) for found in events_after(league, 0, 100)[0]]
    assert sorted(told) == sorted(
        [*[("demo", text) for text in "abcde"], *[("other", text) for text in "abc"]]
    )
    league.close()


def test_old_events_go_and_numbers_go_on(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    with LeagueWriter(league, incarnation) as writer:
        for text in "abcdef":
            writer.event(event(text))
    copy_training_events(league)
    assert forget_old_events(league, keep=2) == 4
    assert event_bounds(league) == (5, 6)
    assert forget_old_events(league, keep=2) == 0
    with league.write() as connection:
        connection.execute(delete(service_events))
    assert event_bounds(league) == (7, 6)
    assert events_after(league, 0, 10) == ([], 6)
    league.close()


def test_a_number_that_is_none_is_refused(shared: Service) -> None:
    for header in ("x", "-1", "1.5", str(2**60)):
        headers = {"authorization": f"Bearer {shared.token('viewer')}", "last-event-id": header}
        assert shared.client.get("/v1/events", headers=headers).status_code == 422
