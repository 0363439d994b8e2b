"""Games by hand over REST: begun, played, refused, cut off. The slow ones are real games; a
double keeps the contract of the process behind them.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from api.http.settings import Settings
from api.reconcile import plays
from arena.league.database import open_league
from arena.league.ordered_pages import ListOrder, MatchFilter, match_page
from tests.api.service import Service, serving

NEWEST = ListOrder("created_at", descending=True)
REAL = {name: Settings.model_fields[name].default for name in ("sitting", "replayer")}


def sit(service: Service, opponent: str = "quick", **more: Any) -> Any:
    """A play, once the person is to move or it has come to nothing."""
    made = service.call(
        "POST",
        "/v1/plays",
        {"opponent": opponent, "name": "Ada", "env": "connect_four", **more},
        status=201,
    )
    return other_than(service, made, "starting")


def other_than(service: Service, play: Any, state: str) -> Any:
    """The play, once it is in another state."""
    return service.wait(
        lambda: found if (found := seen(service, play["id"]))["state"] != state else None
    )


def seen(service: Service, name: str) -> Any:
    return service.call("GET", f"/v1/plays/{name}")


def move(service: Service, play: Any, action: int, status: int = 200, at: int | None = None) -> Any:
    said = {"action": action, "at": len(play["moves"]) if at is None else at}
    return service.call("POST", f"/v1/plays/{play['id']}/moves", said, status=status)


def end(service: Service, play: Any) -> Any:
    return service.call("DELETE", f"/v1/plays/{play['id']}")


def pid_of(service: Service, play: Any) -> int:
    found: int = service.app.state.context.plays.find(play["id"]).pid
    return found


def gone(pid: int) -> bool:
    """Or waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (
        FileNotFoundError,
        ProcessLookupError,
    ):  # the latter when it goes between opening and reading
        return True


# --- with the double ------------------------------------------------------------------------------


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


# --- real games -----------------------------------------------------------------------------------


def stored(service: Service) -> list[Any]:
    return match_page(service.league, MatchFilter(), NEWEST, None, 100)[0]


def play_on(service: Service, play: Any) -> Any:
    """To its end, always the first legal action."""
    while play["state"] == "turn":
        play = move(service, play, play["legal"][0]["action"])
    return play


@pytest.mark.slow
def test_real_games_are_stored_rated_and_replayed(tmp_path: Path) -> None:
    """Two from one seed are two: the same seed is no reason to count them once."""
    with serving(tmp_path, **REAL) as service:
        boards = [play_on(service, sit(service, "oneply", seed=5)) for _ in range(2)]
        third = play_on(service, sit(service, "random", env="tictactoe", seat=1))
        assert [len(match.players) for match in stored(service)] == [2, 2, 2] and all(
            match.finished_at for match in stored(service)
        )
        for play in (*boards, third):
            key = play["result"]["game"]
            game = service.call("GET", f"/v1/games/{key}")
            assert (game["no_replay"], game["match"], game["labels"][play["seat"]]) == (
                None,
                play["result"]["match"],
                "Ada",
            )
            assert game["seats"][play["seat"]]["player_kind"] == "guest"
            assert [seat["place"] for seat in game["seats"]] == play["result"]["places"]
            replay = service.call("GET", f"/v1/games/{key}/replay")
            assert (replay["problems"], replay["grid"], replay["start"]) == (
                [],
                play["grid"],
                play["start"],
            )
            assert [(made["seat"], made["action"], made["board"]) for made in replay["moves"]] == [
                (made["seat"], made["action"], made["board"]) for made in play["moves"]
            ]
        service.create("first")
        rated = {
            row["player"]: row
            for row in service.call("GET", "/v1/ratings?population=first&all=true")["players"]
        }
        assert (rated["Ada"]["kind"], rated["Ada"]["games"], rated["oneply"]["games"]) == (
            "guest",
            2,
            2,
        )


@pytest.mark.slow
def test_who_cannot_meet_at_a_board_is_told_why(tmp_path: Path) -> None:
    with serving(tmp_path, **REAL) as service:
        body = {"opponent": "random", "name": "Ada", "env": "leduc_holdem"}
        refused = service.call("POST", "/v1/plays", body, status=422)
        assert "leduc_holdem has no board to play at" in refused["detail"]
        body = {"opponent": "random", "name": "random", "env": "connect_four"}
        refused = service.call("POST", "/v1/plays", body, status=422)
        assert "scripted player of that name" in refused["detail"]
        assert stored(service) == []


@pytest.mark.slow
def test_silence_after_a_move_is_a_loss_that_is_stored(tmp_path: Path) -> None:
    with serving(tmp_path, **REAL, play_idle_s=2.0) as service:
        play = sit(service, "oneply")
        move(service, play, 3)
        over = other_than(service, play, "turn")
        assert (over["result"]["reason"], over["result"]["places"]) == (
            "forfeit: Ada said nothing for 2 s",
            [1, 0],
        )
        assert service.call("GET", f"/v1/games/{over['result']['game']}/replay")["problems"] == []


@pytest.mark.slow
def test_a_killed_holder_leaves_neither_a_process_nor_a_game(tmp_path: Path) -> None:
    """The process that holds the other end of the pipes is killed in the middle of a game."""
    holder = f"""
import json, subprocess, sys, time
request = {{"id": "a", "opponent": "oneply", "env": "connect_four", "name": "Ada", "seat": 0, "seed": 1}}
words = [*{list(REAL["sitting"])!r}, {str(tmp_path)!r}, "600", json.dumps(request)]
process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
process.stdin.write(b'{{"action": 3, "at": 0}}\\n'); process.stdin.flush()
process.stdout.readline()
print(process.pid, flush=True)
time.sleep(600)
"""  # noqa: E501
    open_league(tmp_path / "league.db").close()
    holding = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True)
    assert holding.stdout is not None
    pid = int(holding.stdout.readline())
    assert not gone(pid)
    holding.kill()
    holding.wait()
    holding.stdout.close()
    deadline = time.monotonic() + 15
    while not gone(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with open_league(tmp_path / "league.db", read_only=True) as league:
        assert match_page(league, MatchFilter(), NEWEST, None, 10)[0] == []
