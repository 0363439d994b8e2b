"""Guests that a test writes, and games with them at real tables."""

import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from arena.matches.game_faults import GameFaults
from arena.matches.tables import FrozenTables, PlannedGame
from arena.players.resolve import resolve_players
from pbt.transport.messages import GameEnd, GamePlan

HONEST = """
import json, os, sys, time

def answer(**message):
    print(json.dumps(message), flush=True)

for text in sys.stdin:
    message = json.loads(text)
    if message["type"] == "hello":
        answer(protocol=1)
    elif message["type"] == "game_start":
        game = message["game"]
    elif message["type"] == "act":
        {act}
"""
LOWEST = HONEST.replace("{act}", 'answer(action=message["legal"][0])')


def program(folder: Path, text: str, name: str = "bot.py") -> str:
    """An executable file with this code; returns the player's name."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"exec:{path}"


def acting(folder: Path, act: str, name: str = "bot.py") -> str:
    """A program that runs `act` for every question; `answer` and `message` are defined there."""
    return program(folder, HONEST.replace("{act}", act), name)


@dataclass
class Played:
    ends: list[GameEnd]
    seconds: float

    @property
    def reasons(self) -> list[str]:
        return [end.reason for end in self.ends]


def play(
    players: list[str],
    games: int,
    env: str = "connect_four",
    *,
    tables: int = 4,
    timeout_s: float = 5.0,
    seed: int = 1,
) -> Played:
    """Games in which the first player sits in seat 0 and seat 1 in turn."""
    spec, resolved = resolve_players(
        players, Path("none"), env, allow_files=True, move_timeout_s=timeout_s
    )
    plans = planned(games, len(spec.make().seat_names))
    ends: list[GameEnd] = []
    began_s = time.monotonic()
    faults = GameFaults(None, spec, resolved[0])
    with closing(
        FrozenTables(spec, spec.make(), resolved, tables, seed, lambda: next(plans, None), faults)
    ) as frozen:
        while len(ends) < games:
            ends += frozen.turn()
    return Played(sorted(ends, key=lambda end: end.plan.game_count), time.monotonic() - began_s)


def planned(games: int, seats: int) -> Iterator[PlannedGame]:
    for index in range(games):
        plan = GamePlan(
            index,
            "evaluation",
            100 + index // 2,
            (),
            ("test", index),
            2,
            100 + index // 2,
            record_actions=True,
        )
        yield PlannedGame(tuple((seat + index) % 2 for seat in range(seats)), plan)


def running(marker: str) -> list[Any]:
    """Processes with this text in their command."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if marker in " ".join(process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]
