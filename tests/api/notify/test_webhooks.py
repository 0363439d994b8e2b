"""Webhooks, from what happens to a population to what a receiver gets."""

import hashlib
import hmac
import ipaddress
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.notify.addresses import TargetError, is_allowed, resolve, target_of
from api.notify.happenings import Standstill, new_bests
from api.notify.post import DeliveryError, post
from api.notify.stored import Outgoing, read_outgoing, write_outgoing
from arena.cli.app import run
from arena.cli.service_client import Client
from arena.league.database import League
from arena.league.populations import Incarnation, open_incarnation
from arena.league.service_events import events_after
from arena.league.supervised import Supervised
from arena.league.writer import LeagueWriter
from tests.api.live import live
from tests.api.notify.receiver import Receiver, receiving
from tests.api.service import Service, serving
from tests.arena.league.samples import (
    RANDOM,
    game,
    new_league,
    snapshot,
    snapshot_player,
    write_games,
)

QUICK: dict[str, Any] = {
    "webhook_hosts": ("127.0.0.1",),
    "webhook_look_s": 0.02,
    "webhook_best_s": 0.05,
    "webhook_backoff_s": 0.02,
    "webhook_tries": 3,
}
HOOK = "/v1/populations/demo/webhook"
DONE = {"finish_s": 0.0}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@contextmanager
def notifying(
    data: Path, receiver: Receiver, plan: Any = None, **changed: Any
) -> Iterator[Service]:
    """A service with a population whose webhook goes to the receiver."""
    with serving(data, **{**QUICK, **changed}) as service:
        service.create("demo", DONE if plan is None else plan)
        service.call("PUT", HOOK, {"url": receiver.url})
        yield service


def ended(service: Service) -> list[dict[str, Any]]:
    """The notices that were taken or given up, once there are any."""
    return service.wait(lambda: service.call("GET", HOOK)["ended"])


def told(service: Service) -> list[Any]:
    events, _ = events_after(service.league, 0, 100, ("webhook",))
    return [(event.population, dict(event.payload)) for event in events]


def test_a_finished_training_is_told_once(tmp_path: Path, receiver: Receiver) -> None:
    with notifying(tmp_path / "data", receiver) as service:
        service.call("POST", "/v1/populations/demo/start")
        (notice,) = ended(service)
        service.wait(lambda: told(service))
    (got,) = receiver.got
    assert got.path == "/hook?key=hidden"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert "x-arena-signature" not in got.headers
    assert got.notice == {
        "id": "demo-1",
        "name": "demo",
        "event": "finished",
        "time": notice["time"],
        "details": notice["details"],
    }
    assert got.notice["details"]["message"] == "every member reached its stop"
    assert abs(time.time() - notice["time"]) < 60
    assert (notice["tries"], notice["problem"]) == (1, None)


def test_a_failed_training_is_told_with_its_reason(tmp_path: Path, receiver: Receiver) -> None:
    plan = {"exit": 2, "say": "error: learning.gamma: too large"}
    with notifying(tmp_path / "data", receiver, plan) as service:
        service.call("POST", "/v1/populations/demo/start")
        ended(service)
        service.wait_state("demo", "failed")
    (notice,) = [got.notice for got in receiver.got]
    assert notice["event"] == "failed"
    assert notice["details"]["reason"] == "config"
    assert "learning.gamma: too large" in notice["details"]["message"]


def test_a_training_that_stands_still_is_told_once(tmp_path: Path, receiver: Receiver) -> None:
    plan = {"start_s": 60.0}
    with notifying(tmp_path / "data", receiver, plan, webhook_stalled_s=0.2) as service:
        service.call("POST", "/v1/populations/demo/start")
        (notice,) = ended(service)
        time.sleep(0.4)
        service.call("POST", "/v1/populations/demo/stop?grace_s=0.1")
    assert receiver.events == ["stalled"]
    assert notice["details"]["state"] == "starting"
    assert notice["details"]["frames"] == 0


def _row(state: str, reason: str | None = None) -> Supervised:
    return Supervised("demo", 0.0, "running", 0.0, (), 1, state, reason, "", 0.0, 0, None)


def test_progress_ends_a_standstill_and_a_restart_does_not_tell_it_again() -> None:
    seen, outgoing = Standstill(), Outgoing(0)

    def look(row: Supervised, frames: int, seen: Standstill = seen) -> list[str]:
        return [one.event for one in seen.look(outgoing, row, [frames, 0, 0], 0.0)]

    running = _row("running")
    assert look(running, 5) == []  # the first look knows no earlier one
    assert look(running, 5) == ["stalled"]
    assert look(running, 5) == []
    again = Standstill()
    assert look(running, 5, again) == look(running, 5, again) == []
    assert look(running, 6) == []
    assert look(running, 6) == ["stalled"]
    assert look(running, 7) == []
    for row in (_row("stopped"), _row("queued", "disk"), _row("starting", "held")):
        assert look(row, 7) == look(row, 7) == []


def play(league: League, source: Incarnation, letter: str, first: int, *places: int) -> None:
    """Evaluation games of a snapshot against `random`. places: the snapshot's, 0 for a win."""
    games = [
        game(first + number, (snapshot_player(letter), RANDOM), (place, 1 - place), "evaluation")
        for number, place in enumerate(places)
    ]
    write_games(league, source, *games)


def test_a_snapshot_is_told_when_it_is_the_best_for_the_first_time(tmp_path: Path) -> None:
    league, source = new_league(tmp_path)
    with league:
        outgoing = Outgoing(0)
        assert new_bests(league, "demo", outgoing) == []
        assert outgoing.best == []
        with LeagueWriter(league, source) as writer:
            for number, letter in enumerate("ab"):
                writer.snapshot(snapshot(letter, frames=100 * (number + 1)))

        def told() -> list[str]:
            return [one.details["snapshot"][0] for one in new_bests(league, "demo", outgoing)]

        play(league, source, "a", 0, *[0, 1] * 20)
        assert told() == ["a"]
        play(league, source, "a", 40, 0)
        assert told() == []
        play(league, source, "b", 50, *[0] * 40)
        assert told() == ["b"]
        play(league, source, "a", 100, *[0] * 900)
        assert told() == [], "it was the best before"
        assert new_bests(league, "demo", Outgoing(0)) == [], "the webhook was set after that"


def test_a_new_best_is_sent(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    with notifying(data, receiver, {}) as service:
        service.wait(
            lambda: (found := read_outgoing(data / "populations/demo")) and found.best == []
        )
        _play_a_best(service)
        (notice,) = ended(service)
    assert receiver.events == ["best"]
    assert notice["details"]["player"].startswith("demo/m0@")
    assert notice["details"]["snapshot"] == "a" * 64


def _play_a_best(service: Service) -> None:
    source = open_incarnation(service.league, 1, 1)
    with LeagueWriter(service.league, source) as writer:
        writer.snapshot(snapshot("a", frames=100))
    play(service.league, source, "a", 0, *[0] * 40)


# --- how it is sent ---------------------------------------------------------------------------


def test_a_secret_signs_the_body_and_is_never_shown(tmp_path: Path, receiver: Receiver) -> None:
    with notifying(tmp_path / "data", receiver) as service:
        body = {"url": receiver.url, "secret": "a long secret", "events": ["finished"]}
        shown = service.call("PUT", HOOK, body)
        service.call("POST", "/v1/populations/demo/start")
        ended(service)
        shown = json.dumps([shown, service.call("GET", HOOK), told(service)])
        assert "secret" not in shown
        assert "hidden" not in shown
        stored = tmp_path / "data/populations/demo/webhook.json"
        assert stored.stat().st_mode & 0o77 == 0
    (got,) = receiver.got
    expected = hmac.new(b"a long secret", got.body, hashlib.sha256).hexdigest()
    assert got.headers["x-arena-signature"] == f"sha256={expected}"


def test_events_that_were_not_asked_for_are_not_sent(tmp_path: Path, receiver: Receiver) -> None:
    with notifying(tmp_path / "data", receiver) as service:
        service.call("PUT", HOOK, {"url": receiver.url, "events": ["failed", "best"]})
        service.call("POST", "/v1/populations/demo/start")
        service.wait_state("demo", "finished")
        time.sleep(0.2)
        assert service.call("GET", HOOK)["ended"] == []
    assert receiver.got == []


def test_a_redirect_is_not_followed(tmp_path: Path, receiver: Receiver) -> None:
    with receiving() as other, notifying(tmp_path / "data", receiver) as service:
        receiver.answer, receiver.headers = (lambda count: 307), {"location": other.url}
        service.call("POST", "/v1/populations/demo/start")
        (notice,) = ended(service)
        assert "it answered 307, a redirect, which is not followed" in notice["problem"]
        assert notice["tries"] == 1
        warnings = service.call("GET", "/v1/populations/demo")["status"]["warnings"]
        assert any("webhook: 'finished' was not delivered: " in one for one in warnings)
        ((name, said),) = service.wait(lambda: told(service))
        assert (name, said["event"], said["delivered"]) == ("demo", "finished", False)
        assert len(receiver.got) == 1
        assert other.got == []


def test_a_receiver_that_fails_is_tried_a_few_times(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answer = lambda count: 503 if count < 3 else 204
    with notifying(tmp_path / "data", receiver) as service:
        service.call("POST", "/v1/populations/demo/start")
        (notice,) = ended(service)
        assert (notice["tries"], notice["problem"]) == (3, None)
        assert len({one.body for one in receiver.got}) == 1, "its id stays the same"
        receiver.answer = lambda count: 500
        service.call("POST", "/v1/populations/demo/start")
        service.wait(lambda: len(ended(service)) == 2)
        assert "it answered 500" in service.call("GET", HOOK)["ended"][1]["problem"]
    assert len(receiver.got) == 6


def test_a_slow_receiver_is_cut_off_and_holds_up_nothing(
    tmp_path: Path, receiver: Receiver
) -> None:
    """Each byte comes in time, the whole answer does not."""
    receiver.drip_s = 0.05
    with notifying(tmp_path / "data", receiver, webhook_tries=1, webhook_timeout_s=0.3) as service:
        with receiving() as other:
            service.create("other", DONE)
            service.call("PUT", "/v1/populations/other/webhook", {"url": other.url})
            service.call("POST", "/v1/populations/demo/start")
            service.wait(lambda: receiver.got)
            began = time.monotonic()
            service.call("POST", "/v1/populations/other/start")
            service.wait(lambda: other.got)
        (notice,) = ended(service)
        assert "no answer within 0.3 s" in notice["problem"]
        assert notice["ended_at"] - notice["time"] < 5
        assert time.monotonic() - began < 20


def test_a_receiver_that_is_away_is_named(tmp_path: Path, receiver: Receiver) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # it does not listen
        with notifying(tmp_path / "data", receiver) as service:
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
            service.call("PUT", HOOK, {"url": url})
            service.call("POST", "/v1/populations/demo/start")
            (notice,) = ended(service)
            assert notice["tries"] == 3
            assert "Connection refused" in notice["problem"]


# --- across restarts --------------------------------------------------------------------------


def test_a_restart_of_the_service_sends_nothing_again(tmp_path: Path, receiver: Receiver) -> None:
    data = tmp_path / "data"
    with notifying(data, receiver) as service:
        service.call("POST", "/v1/populations/demo/start")
        ended(service)
    with serving(data, **QUICK) as service:
        time.sleep(0.3)
        assert [one["id"] for one in ended(service)] == ["demo-1"]
        service.call("POST", "/v1/populations/demo/start")
        service.wait(lambda: len(ended(service)) == 2)
    assert [got.notice["id"] for got in receiver.got] == ["demo-1", "demo-2"]


def test_what_waits_is_sent_after_a_restart_and_what_was_begun_is_not(
    tmp_path: Path, receiver: Receiver
) -> None:
    data = tmp_path / "data"
    root = data / "populations/demo"
    receiver.answer = lambda count: 500
    with notifying(data, receiver, webhook_backoff_s=60.0) as service:
        service.call("POST", "/v1/populations/demo/start")
        service.wait(lambda: any(one["problem"] for one in service.call("GET", HOOK)["waiting"]))
        warnings = service.call("GET", "/v1/populations/demo")["status"]["warnings"]
        assert any("was not taken at attempt 1: " in one for one in warnings)
    receiver.answer = lambda count: 200
    outgoing = read_outgoing(root)
    assert outgoing is not None
    (waiting,) = outgoing.waiting
    assert not waiting.sending
    for sending in (False, True):  # True: as a kill in the middle leaves it
        now = replace(waiting, sending=sending, next_at=0.0)
        write_outgoing(root, replace(outgoing, waiting=[now]))
        with serving(data, **QUICK) as service:
            (notice,) = ended(service)
        if sending:
            assert notice["problem"] == "the service ended while it was sent"
    assert [got.notice["id"] for got in receiver.got] == ["demo-1", "demo-1"]


def test_a_webhook_is_told_nothing_of_earlier_days(tmp_path: Path, receiver: Receiver) -> None:
    with notifying(tmp_path / "data", receiver) as service:
        service.call("DELETE", HOOK, status=204)
        service.call("GET", HOOK, status=404)
        service.call("DELETE", HOOK, status=404)
        service.call("POST", "/v1/populations/demo/start")
        service.wait_state("demo", "finished")
        service.call("PUT", HOOK, {"url": receiver.url})
        time.sleep(0.2)
        assert service.call("GET", HOOK)["waiting"] == []
    assert receiver.got == []


def test_a_webhook_goes_with_its_population(tmp_path: Path, receiver: Receiver) -> None:
    with notifying(tmp_path / "data", receiver) as service:
        service.call("DELETE", "/v1/populations/demo")
        service.wait_gone("demo")
        service.wait(lambda: not (tmp_path / "data/populations/demo").exists())
        service.create("demo")
        service.call("GET", HOOK, status=404)


def test_the_command_sets_shows_and_removes_it(
    tmp_path: Path,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "secret").write_text("a long secret\n")
    with live(tmp_path / "data", **QUICK) as (url, service):
        service.create("demo", DONE)
        client = Client(url, service.token("admin"))
        monkeypatch.setattr(Client, "find", lambda data: client)
        words = ["population", "webhook", "demo"]
        options = ["--event", "finished", "--secret-file", str(tmp_path / "secret")]
        assert run([*words, receiver.url, *options]) == 0
        service.call("POST", "/v1/populations/demo/start")
        ended(service)
        assert run(words) == 0
        said = capsys.readouterr().out
        assert f"http://127.0.0.1:{receiver.port}: finished; signed" in said
        assert re.search(r"demo-1 .* finished +1 +delivered", said)
        assert run([*words, "https://elsewhere.example/"]) == 2
        assert run([*words, "--remove"]) == 0
        assert run([*words, "--json"]) == 2
        assert "population 'demo' has no webhook" in capsys.readouterr().err


# --- where it may go --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://localhost:9/x", "the host localhost is not allowed; allowed are: 127.0.0.1"),
        ("http://hooks.example.org/x", "the host hooks.example.org is not allowed"),
        ("http://127.0.0.1.evil.example/", "is not allowed"),
        ("http://127.0.0.1:x/", "Port could not be cast"),
        ("http://evil@127.0.0.1/", "no user, no password"),
        ("ftp://127.0.0.1/", "expected https://HOST/PATH"),
        ("file:///etc/passwd", "expected https://HOST/PATH"),
        ("http://127.0.0.1/ x", "without spaces"),
        ("http://127.0.0.1/\r\nX: y", "without spaces"),
        ("//127.0.0.1/", "expected https://HOST/PATH"),
    ],
)
def test_addresses_that_are_refused(service: Service, url: str, problem: str) -> None:
    service.app.state.context.settings = service.app.state.context.settings.model_copy(
        update={"webhook_hosts": ("127.0.0.1",)}
    )
    service.create("demo")
    refused = service.call("PUT", HOOK, {"url": url}, status=422)
    assert problem in refused["detail"]
    assert refused["errors"][0]["pointer"] == "/url"
    service.call("GET", HOOK, status=404)


def test_no_host_is_allowed_unless_the_settings_name_it(service: Service) -> None:
    service.create("demo")
    refused = service.call("PUT", HOOK, {"url": "https://hooks.example.org/"}, status=422)
    assert "allowed are: none; `arena serve --webhook-host NAME` adds one" in refused["detail"]


def test_a_host_that_is_not_allowed_any_more_is_not_called(
    tmp_path: Path, receiver: Receiver
) -> None:
    with notifying(tmp_path / "data", receiver):
        pass
    with serving(tmp_path / "data", **{**QUICK, "webhook_hosts": ()}) as service:
        service.call("POST", "/v1/populations/demo/start")
        (notice,) = ended(service)
        assert "the host 127.0.0.1 is not allowed" in notice["problem"]
        assert notice["tries"] == 1
    assert receiver.got == []


def _resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Names have these addresses. Returns the names that were asked for."""
    asked: list[str] = []

    def found(host: str, port: int, **more: Any) -> list[Any]:
        asked.append(host)
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_a_name_that_means_no_public_address_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _resolving(monkeypatch, address)
    target = target_of("https://hooks.example.org/x")
    with pytest.raises(TargetError, match="is not public"):
        resolve(target, ("hooks.example.org",))
    assert ipaddress.ip_address(
        resolve(target, ("hooks.example.org", address))
    ) == ipaddress.ip_address(address)


def test_a_public_address_of_several_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _resolving(monkeypatch, "127.0.0.1", "93.184.215.14")
    assert resolve(target_of("https://a.example/"), ("A.example",)) == "93.184.215.14"
    assert asked == ["a.example"]
    assert is_allowed(ipaddress.ip_address("127.0.0.1"), ("localhost",))


def test_the_connection_goes_to_the_address_that_was_checked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that means something else a moment later is not asked again."""
    monkeypatch.setattr(socket, "gethostbyname", None)
    real = socket.getaddrinfo
    asked: list[Any] = []

    def watched(host: Any, *more: Any, **others: Any) -> Any:
        asked.append(host)
        return real(host, *more, **others)

    monkeypatch.setattr(socket, "getaddrinfo", watched)
    target = target_of(f"http://rebound.example:{receiver.port}/x")
    post(target, "127.0.0.1", b"{}", None, 5.0)
    assert asked == ["127.0.0.1"]
    (got,) = receiver.got
    assert got.headers["host"] == f"rebound.example:{receiver.port}"


def test_a_receiver_without_tls_is_refused_by_https(receiver: Receiver) -> None:
    target = target_of(f"https://127.0.0.1:{receiver.port}/")
    with pytest.raises(DeliveryError, match=r"https://127\.0\.0\.1:\d+: .*SSL"):
        post(target, "127.0.0.1", b"{}", None, 5.0)
