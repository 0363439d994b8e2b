"""Games by hand over REST: begun, played, refused, cut off. A double keeps the contract of the
process behind them.
"""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from api.reconcile import plays
from tests.api.routes.by_hand import end, gone, move, other_than, pid_of, seen, sit
from tests.api.service import Service, serving


def test_a_game_is_played_to_its_end_from_either_seat(service: Service) -> None:
    for seat, moves in ((0, [2, 0, 1, 0]), (1, [0, 2, 0, 1])):
        play = sit(service, seat=seat)
        assert (play["state"], play["seat"], [one["player"] for one in play["seats"]][seat]) == (
            "turn",
            seat,
            "Ada",
        )
        assert len(play["moves"]) == seat and [choice["action"] for choice in play["legal"]] == [
            0,
            1,
            2,
        ]
        play = move(service, play, 2)
        play = move(service, play, 1)
        assert (play["state"], play["legal"], [made["action"] for made in play["moves"]]) == (
            "over",
            [],
            moves,
        )
        assert play["result"]["places"] == [0, 1]
        service.wait(lambda play=play: gone(pid_of(service, play)))
        assert seen(service, play["id"]) == end(service, play) == play


def test_what_is_no_move_is_refused_and_the_game_goes_on(service: Service) -> None:
    play = sit(service)
    refused = move(service, play, 7, status=422)
    assert refused["errors"] == [{"pointer": "/action", "detail": "action 7 is not legal now"}]
    assert move(service, play, 0, status=409, at=3)["type"].endswith("conflict")
    assert seen(service, play["id"])["state"] == "turn"
    again = move(service, play, 0)
    # Sent twice, it is made once.
    move(service, play, 0, status=409)
    move(service, again, 0)
    move(service, again, 0, status=409)


def test_leaving_before_the_first_move_is_nothing_and_later_a_loss(service: Service) -> None:
    assert end(service, sit(service))["state"] == "dropped"
    play = sit(service, seat=1)
    move(service, play, 0)
    over = end(service, play)
    assert (over["state"], over["result"]["places"], over["result"]["reason"]) == (
        "over",
        [0, 1],
        "forfeit: Ada resigned",
    )


def test_so_many_are_played_at_once_and_no_more(tmp_path: Path) -> None:
    with serving(tmp_path, max_plays=2) as service:
        first, _ = sit(service), sit(service)
        body = {"opponent": "quick", "name": "Ada"}
        assert (
            "2 games are being played"
            in service.call("POST", "/v1/plays", body, status=429)["detail"]
        )
        end(service, first)
        service.wait(lambda: gone(pid_of(service, first)))
        assert sit(service)["state"] == "turn"


def test_players_that_cannot_meet_are_refused_and_nothing_is_left(service: Service) -> None:
    body = {"opponent": "refuses", "name": "Ada"}
    for _ in range(6):  # more than may be played at once
        refused = service.call("POST", "/v1/plays", body, status=422)
        assert refused["errors"] == [{"pointer": "/opponent", "detail": "refuses plays with none"}]


def test_a_process_that_breaks_says_why(service: Service) -> None:
    play = sit(service, "breaks")
    assert (play["state"], play["message"], play["seats"]) == ("failed", "broken", None)
    move(service, play, 0, status=409)
    play = sit(service, "dies")
    assert move(service, play, 0)["message"] == "its process exited with status 3"
    play = sit(service)
    os.kill(pid_of(service, play), signal.SIGKILL)
    found = other_than(service, play, "turn")
    assert (found["state"], found["message"], found["legal"]) == (
        "failed",
        "its process was killed by SIGKILL",
        [],
    )


def test_a_process_that_gives_no_answer_is_ended(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plays, "ANSWER_S", 0.2)
    play = sit(service, "hangs")
    assert "gave no answer within 0.2 s" in move(service, play, 0, status=409)["detail"]
    found = other_than(service, play, "thinking")
    assert (found["state"], found["message"]) == (
        "failed",
        "its process gave no answer within 0.2 s",
    )
    assert gone(pid_of(service, play))


def test_whoever_says_nothing_for_long_has_left(tmp_path: Path) -> None:
    with serving(tmp_path, play_idle_s=0.3) as service:
        play = sit(service)
        found = other_than(service, play, "turn")
        assert (found["state"], found["message"]) == (
            "dropped",
            "Ada said nothing for 0.3 s before their first move; nothing is stored",
        )


def test_no_process_outlives_the_service(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        pids = [pid_of(service, sit(service)), pid_of(service, sit(service, "hangs"))]
        assert not any(map(gone, pids))
    assert all(map(gone, pids))


def test_who_may_sit_down(service: Service) -> None:
    play, body = sit(service), {"opponent": "quick", "name": "Ada"}
    viewer = {"authorization": f"Bearer {service.token('viewer')}"}
    path = f"/v1/plays/{play['id']}"
    for method, where, said in (
        ("POST", "/v1/plays", body),
        ("POST", f"{path}/moves", {"action": 0, "at": 0}),
        ("DELETE", path, None),
    ):
        service.call(method, where, said, 403, **viewer)
        service.call(method, where, said, 401, authorization="")
    service.call("GET", path, None, 200, **viewer)
    service.call("GET", path, None, 401, authorization="")


@pytest.mark.parametrize(
    "wrong",
    [
        {"opponent": "exec:./bot"},
        {"opponent": "../x"},
        {"env": "./game.py:make"},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "a" * 41},
        {"name": "<b>"},
        {"seat": 2},
        {"seat": "0"},
        {"seed": -1},
        {"colour": 1},
    ],
)
def test_what_cannot_be_asked_for(shared: Service, wrong: dict[str, Any]) -> None:
    shared.call(
        "POST",
        "/v1/plays",
        {"opponent": "random", "name": "Ada", "env": "connect_four", **wrong},
        status=422,
    )


def test_an_unknown_play_is_none(shared: Service) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("POST", "/moves", {"action": 0, "at": 0}),
    ):
        assert (
            "the service was started again"
            in shared.call(method, f"/v1/plays/{'0' * 16}{path}", body, status=404)["detail"]
        )
    shared.call("GET", "/v1/plays/1", status=422)


def test_a_repeated_request_is_one_game(service: Service) -> None:
    body = {"opponent": "quick", "name": "Ada"}
    first, again = (
        service.call("POST", "/v1/plays", body, **{"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert first["id"] == again["id"]
    service.call("POST", "/v1/plays", {**body, "seat": 1}, status=422, **{"Idempotency-Key": "k"})


def test_games_are_told_one_by_one(service: Service) -> None:
    service.call("GET", "/v1/games/4711", status=404)
    service.call("GET", f"/v1/games/{2**63}", status=404)
    service.call("GET", "/v1/games/x", status=422)
    service.call("GET", "/v1/games/4711/replay", status=404)
