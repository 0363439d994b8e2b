"""One contract for every kind of action: it is trained, stored, replayed, played and asked for."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena
from arena.cli.app import run
from tests.arena.guests.guest_match import program
from tests.contracts.pushing import KINDS

FILE = Path(__file__).with_name("pushing.py")
CASES = [(kind, kind in ("multi-discrete", "mixed")) for kind in KINDS]

GUEST = """
import json, random, sys

def answer(**message):
    print(json.dumps(message), flush=True)

for text in sys.stdin:
    message = json.loads(text)
    if message["type"] == "hello":
        numbers = [(-3.0 if n["low"] is None else n["low"], 3.0 if n["high"] is None else n["high"])
                   for n in message["numbers"]]
        alone = len(message["choices"]) == 1 and not numbers
        answer(protocol=1)
    elif message["type"] == "game_start":
        rng = random.Random(message["seed"])
    elif message["type"] == "act":
        legal = [message["legal"]] if alone else message["legal"]
        answer(action=[rng.choice(one) for one in legal] + [rng.uniform(*n) for n in numbers])
"""


def config(kind: str, masked: bool) -> dict[str, Any]:
    return {
        "env": {"name": f"{FILE}:make", "options": {"kind": kind, "masked": masked}},
        "seed": 2,
        "stop_at_frames": 192,
        "population": {"members": 2},
        "model": {"hidden": [8], "core": "gru", "gru_size": 4},
        "sampling": {"environments": 8, "rollout_steps": 4, "opening_plies": 1},
        "learning": {"batch_steps": 64, "epochs": 2, "minibatches": 2},
        "pbt": {"period_frames": 96, "warmup_frames": 0},
        "snapshots": {"every_frames": 96},
        "evaluation": {"share": 0.2, "final_games": 8},
        "runtime": {"placement": "serial"},
    }


@pytest.mark.parametrize(("kind", "masked"), CASES)
def test_every_kind_of_action_goes_everywhere(
    kind: str, masked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, options = (
        tmp_path / "data",
        ("--set", f"kind={kind}", "--set", f"masked={masked}".lower()),
    )
    assert run(["env", "check", f"{FILE}:make", *options]) == 0
    whole = arena.train(config(kind, masked), "whole", data=data)
    arena.train(config(kind, masked), "parts", data=data, stop=stops_after(3))
    resumed = arena.resume("parts", data=data)
    assert resumed.finished and resumed.weights_sha256 == whole.weights_sha256
    guest = program(tmp_path, GUEST)
    players = ["whole/m0", "random", guest]
    for other in players[1:]:
        result = arena.match(players[0], other, games=4, data=data)
        assert result.games == 4 and not result.errors
    capsys.readouterr()
    for name in ("parts", "match:1", "match:2"):
        assert run(["verify", name, "--data", str(data), "--json"]) == 0, capsys.readouterr()
        told = json.loads(capsys.readouterr().out)
        assert told["played_again"]["played"] >= 4 and not told["differences"]
    space = KINDS[kind]
    seen = np.array([0.5, -0.5], np.float32)
    drawn = [said(players[0], data, seen) for _ in range(2)]
    assert all(space.contains(action) for action in drawn[0])
    assert repr(drawn[0]) == repr(drawn[1])


def said(name: str, data: Path, seen: Any) -> list[Any]:
    with arena.load_player(name, data, allow_files=True, seed=4) as player:
        return [player.act(seen) for _ in range(5)]


def stops_after(turns: int) -> Any:
    left = iter(range(turns))
    return lambda: next(left, None) is None
