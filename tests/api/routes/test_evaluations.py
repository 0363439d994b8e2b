"""Matches over REST: asked for, watched, cancelled, gone on with. The double keeps the contract
of the process that plays them.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from api.reconcile.trainer_process import identity
from arena.league.match_requests import get_match_request
from arena.league.matches import seed_of_games
from arena.league.service_events import events_after
from tests.api.service import Service, serving
from tests.arena.programs.test_request_check import remove_weights, write_population

OPEN = ("PENDING", "RUNNING")


def ask(service: Service, name: str, **more: Any) -> str:
    return str(
        service.call(
            "POST",
            "/v1/evaluations",
            {"players": [name, "random"], "env": "connect_four", **more},
            status=202,
        )["id"]
    )


def seen(service: Service, number: str) -> Any:
    return service.call("GET", f"/v1/evaluations/{number}")


def over(service: Service, number: str) -> Any:
    return service.wait(
        lambda: found if (found := seen(service, number))["state"] not in OPEN else None
    )


def starts(service: Service, number: str) -> int:
    path = service.data / "evaluations" / number / "starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_match_is_watched_while_its_interval_shrinks(service: Service) -> None:
    number = ask(service, "quick")
    done = over(service, number)
    assert (done["state"], done["games"], done["planned"], done["report"]["verdict"]) == (
        "SUCCEEDED",
        400,
        400,
        "not decided",
    )
    told = [event.payload for event in events_after(service.league, 0, 1000, ("evaluation",))[0]]
    widths = [one["high"] - one["low"] for one in told if one["high"] is not None]
    assert len(set(widths)) > 1 and widths == sorted(widths, reverse=True)
    assert (told[0]["state"], told[-1]["state"]) == ("PENDING", "SUCCEEDED")
    assert starts(service, number) == 1


@pytest.mark.slow
def test_one_plays_and_the_others_wait_until_it_is_cancelled(service: Service) -> None:
    first, second = ask(service, "endless"), ask(service, "quick")
    service.wait(lambda: seen(service, first)["games"] > 0)
    assert (seen(service, second)["state"], starts(service, second)) == ("PENDING", 0)
    listed = service.call("GET", "/v1/evaluations?limit=1")
    assert [row["id"] for row in listed["items"]] == [second]
    assert [
        row["id"]
        for row in service.call("GET", f"/v1/evaluations?cursor={listed['next']}")["items"]
    ] == [first]
    service.call("POST", f"/v1/evaluations/{first}/cancel", status=202)
    assert over(service, first)["state"] == "STOPPED"
    assert over(service, second)["state"] == "SUCCEEDED"
    # Nothing is left to be cancelled.
    assert service.call("POST", f"/v1/evaluations/{second}/cancel")["state"] == "SUCCEEDED"


@pytest.mark.slow
def test_a_killed_process_goes_on_and_one_that_always_breaks_fails(tmp_path: Path) -> None:
    with serving(tmp_path, max_restarts=1) as service:
        number = ask(service, "endless")
        service.wait(lambda: seen(service, number)["games"] > 0)
        process = get_match_request(service.league, int(number)).process
        assert process is not None
        os.kill(int(process.split()[0]), signal.SIGKILL)
        service.wait(lambda: starts(service, number) == 2)
        service.call("POST", f"/v1/evaluations/{number}/cancel")
        over(service, number)
        # It plays on at each start; only ends without a new game add up.
        broken = ask(service, "breaks")
        service.wait(lambda: starts(service, broken) == 3)


@pytest.mark.slow
def test_what_was_asked_for_is_played_after_a_restart_of_the_service(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        number = ask(service, "endless")
        service.wait(lambda: seen(service, number)["games"] > 0)
        process = get_match_request(service.league, int(number)).process
    assert process is not None and identity(int(process.split()[0])) is None
    with serving(tmp_path) as service:
        before = seen(service, number)["games"]
        service.wait(
            lambda: starts(service, number) == 2 and seen(service, number)["games"] > before
        )


@pytest.mark.parametrize(
    "players",
    [
        ["exec:./bot", "random"],
        ["./bot.py", "random"],
        ["../first/m0", "random"],
        ["random"],
        ["a\n", "random"],
    ],
)
def test_only_names_of_the_league_are_players(shared: Service, players: list[str]) -> None:
    shared.call("POST", "/v1/evaluations", {"players": players, "env": "connect_four"}, status=422)


def test_what_contradicts_itself_is_refused(shared: Service) -> None:
    for more in (
        {"env": "./game.py:make"},
        {"games": 0},
        {"sprt": {"elo0": 5, "elo1": 5}},
        {"seed": -1},
        {"colour": 1},
        {"games": "4"},
        {"greedy": "yes"},
        {"fresh": 1},
    ):
        shared.call(
            "POST",
            "/v1/evaluations",
            {"players": ["oneply", "random"], "env": "connect_four", **more},
            status=422,
        )
    shared.call("GET", "/v1/evaluations/4711", status=404)
    shared.call("POST", "/v1/evaluations/4711/cancel", status=404)


def test_a_match_that_cannot_be_played_is_refused_when_it_is_asked_for(tmp_path: Path) -> None:
    found = {"problems": [["/players", "three players for two seats"]]}
    refuses = f"print({json.dumps(found)!r})"
    with serving(tmp_path, request_checker=(sys.executable, "-c", refuses)) as service:
        body = {"players": ["random", "random", "random"], "env": "connect_four"}
        problem = service.call("POST", "/v1/evaluations", body, status=422)
        assert problem["errors"] == [
            {"pointer": "/players", "detail": "three players for two seats"}
        ]
        assert service.call("GET", "/v1/evaluations")["items"] == []


REAL = {
    "request_checker": (sys.executable, "-P", "-m", "arena.programs.request_check"),
    "player": (sys.executable, "-P", "-m", "arena.programs.match"),
}


@pytest.mark.slow
def test_players_that_cannot_meet_or_play_are_refused_by_the_program_itself(
    tmp_path: Path,
) -> None:
    write_population(tmp_path, "one", {"name": "connect_four"}, "a", "b")
    write_population(tmp_path, "two", {"name": "tic_tac_toe"}, "c")
    remove_weights(tmp_path, "one", "b")
    with serving(tmp_path, **REAL) as service:
        for players, words in (
            (["one/m0@1k", "two/m0"], "expected players of one game"),
            (["b" * 64, "random"], "its weights were removed"),
        ):
            problem = service.call("POST", "/v1/evaluations", {"players": players}, status=422)
            assert words in problem["errors"][0]["detail"]
        assert service.call("GET", "/v1/evaluations")["items"] == []


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["removed", "lost", "damaged"])
def test_weights_that_go_before_their_match_begins_are_not_tried_again(
    tmp_path: Path, gone: str
) -> None:
    """The check had found them; the program that plays does not."""
    write_population(tmp_path, "one", {"name": "connect_four"}, "a")
    if gone == "removed":
        remove_weights(tmp_path, "one", "a")
    elif gone == "lost":
        (tmp_path / f"populations/one/snapshots/{'a' * 64}.safetensors").unlink()
    with serving(tmp_path, player=REAL["player"]) as service:
        service.wait_s = 120.0
        body = {"players": ["a" * 64, "random"]}
        number = service.call("POST", "/v1/evaluations", body, status=202)["id"]
        done = over(service, number)
        assert (done["state"], done["restarts"]) == ("FAILED", 1), done["message"]
        assert gone in done["message"]


def test_a_request_says_what_decides_and_whether_its_games_are_fresh(service: Service) -> None:
    made = seen(service, ask(service, "quick", objective="margin", fresh=True, seed=7))
    assert (made["objective"], made["fresh"], made["asked_seed"]) == ("margin", True, 7)
    assert made["seed"] == seed_of_games(7, fresh=True) != 7
    plain = seen(service, ask(service, "quick"))
    assert (plain["objective"], plain["fresh"], plain["seed"]) == (None, False, 1)
    body = {"players": ["quick", "random"], "env": "connect_four", "objective": "chips"}
    problem = service.call("POST", "/v1/evaluations", body, status=422)
    assert [error["pointer"] for error in problem["errors"]] == ["/objective"]
    assert "'win', 'margin' or 'return'" in problem["errors"][0]["detail"]


def test_a_repeated_request_is_one_match(service: Service) -> None:
    body = {"players": ["quick", "random"], "env": "connect_four"}
    first, again = (
        service.call("POST", "/v1/evaluations", body, **{"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert first["id"] == again["id"] and len(service.call("GET", "/v1/evaluations")["items"]) == 1
