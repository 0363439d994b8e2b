"""Games by hand over REST, with the real process behind them."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from api.http.settings import Settings
from arena.league.database import open_league
from arena.league.ordered_pages import ListOrder, MatchFilter, match_page
from tests.api.routes.by_hand import gone, move, other_than, sit
from tests.api.service import Service, serving

pytestmark = pytest.mark.slow

NEWEST = ListOrder("created_at", descending=True)
REAL = {name: Settings.model_fields[name].default for name in ("sitting", "replayer")}


def stored(service: Service) -> list[Any]:
    return match_page(service.league, MatchFilter(), NEWEST, None, 100)[0]


def play_on(service: Service, play: Any) -> Any:
    """To its end, always the first legal action."""
    while play["state"] == "turn":
        play = move(service, play, play["legal"][0]["action"])
    return play


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


def refusal(service: Service, name: str, env: str) -> str:
    """Why no game begins. A process that starts slowly says so after the request was answered."""
    said = {"opponent": "random", "name": name, "env": env}
    headers = {"authorization": f"Bearer {service.token('admin')}"}
    answer = service.client.post("/v1/plays", json=said, headers=headers)
    if answer.status_code == 201:
        return str(other_than(service, answer.json(), "starting")["message"])
    assert answer.status_code == 422, answer.text
    return str(answer.json()["detail"])


def test_who_cannot_meet_at_a_board_is_told_why(tmp_path: Path) -> None:
    with serving(tmp_path, **REAL) as service:
        assert "leduc_holdem has no board to play at" in refusal(service, "Ada", "leduc_holdem")
        assert "scripted player of that name" in refusal(service, "random", "connect_four")
        assert stored(service) == []


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


def test_a_killed_holder_leaves_neither_a_process_nor_a_game(tmp_path: Path) -> None:
    """The process that holds the other end of the pipes is killed in the middle of a game."""
    holder = f"""
import json, subprocess, sys, time
request = {{"id": "a", "opponent": "oneply", "env": "connect_four"}}
request |= {{"name": "Ada", "seat": 0, "seed": 1}}
words = [*{list(REAL["sitting"])!r}, {str(tmp_path)!r}, "600", json.dumps(request)]
process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
process.stdin.write(b'{{"action": 3, "at": 0}}\\n'); process.stdin.flush()
process.stdout.readline()
print(process.pid, flush=True)
time.sleep(600)
"""
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
