"""Checks that seed and actions decide a game of Doom, whatever its engine played before.

    python -m bench.doom_again --games 100 --json doom_again.json

Each scenario is played twice: as the game `doom` plays it, and without the tics by which the engine
forgets how far the weapon swung (`DoomGame._forget`). The player runs forward most of the time.
--games times an engine plays the beginning of a game, leaves it in the middle, and then plays one
of eight games of at most --decisions decisions. Reported: how many of these differed from the same
game at a fresh engine, and the CPU time of engine and player per game, both games together.

Then a copy of each scenario is measured as a user's own (`pbt/envs/measuring.py`). Reported: what
was found, with and without forgetting, and the seconds that it took. Exit code 1 when a game
differed that the game `doom` played.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

from bench.throughput import hardware, settings_of
from pbt.envs.actions import ActionSpec
from pbt.envs.doom.game import SPEC, DoomGame
from pbt.envs.doom.scene import known
from pbt.envs.measuring import as_played

SCENARIOS = ("basic", "rocket_basic", "deathmatch", "multi")
SEEDS = 8
FORWARD_SHARE = 0.8


def play(game: DoomGame, seed: int, decisions: int) -> str:
    """A hash of all that the player saw and was rewarded with."""
    rng = np.random.default_rng(seed)
    choices = ActionSpec.of(game.roles[0].action_space).choices
    digest = hashlib.blake2b(digest_size=8)
    turns = game.reset(seed)
    for _ in range(decisions):
        if turns[-1].over:
            break
        action = [int(rng.integers(size)) for size in choices]
        if rng.random() < FORWARD_SHARE:
            action[0] = 1
        (turn,) = turns = game.step({0: tuple(action)})
        digest.update(repr((turn.rewards, turn.tics, turn.over)).encode())
        if turn.observation is not None:
            seen = turn.observation
            for array in seen.values() if isinstance(seen, dict) else (seen,):
                digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()


def cpu_s() -> float:
    """CPU time of this process and its engines so far."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def again(scenario: str, options: argparse.Namespace) -> dict[str, float]:
    """How many games differ from the same ones at fresh engines, and what games cost."""
    fresh = []
    for seed in range(SEEDS):
        with closing(SPEC.make(scenario=scenario)) as game:
            assert isinstance(game, DoomGame)
            fresh.append(play(game, seed, options.decisions))
    rng = np.random.default_rng(0)
    different = 0
    with closing(SPEC.make(scenario=scenario)) as game:
        assert isinstance(game, DoomGame)
        play(game, 0, 1)
        began = cpu_s()
        for _ in range(options.games):
            play(game, int(rng.integers(100, 1000)), int(rng.integers(1, 120)))
            seed = int(rng.integers(SEEDS))
            different += play(game, seed, options.decisions) != fresh[seed]
        spent = cpu_s() - began
    return {"different": different, "cpu_ms_per_game": 1e3 * spent / (2 * options.games)}


def measured(scenario: str) -> dict[str, Any]:
    """What measuring a copy of the scenario finds, and the seconds that it takes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{scenario}.cfg"
        for path in (*known().scenarios.glob("*.cfg"), *known().scenarios.glob("*.wad")):
            shutil.copy(path, folder)
        began = time.monotonic()
        found = as_played(SPEC, {"scenario": str(file)})
        return {"replayable": found.replayable, "seconds": time.monotonic() - began}


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--decisions", type=int, default=600)
    parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scenarios: dict[str, Any] = {}
    for scenario in options.scenarios:
        found = {"forgets": again(scenario, options), "forgets_measured": measured(scenario)}
        with patch.object(DoomGame, "_forget", lambda game, engine: None):
            found |= {"keeps": again(scenario, options), "keeps_measured": measured(scenario)}
        scenarios[scenario] = found
        print(scenario, json.dumps(found), flush=True)
    sums = {
        kind: sum(found[kind]["different"] for found in scenarios.values())
        for kind in ("forgets", "keeps")
    }
    report = {
        "settings": settings_of(options),
        "hardware": hardware(),
        "different": sums,
        "games": options.games * len(scenarios),
        "scenarios": scenarios,
    }
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if sums["forgets"] else 0


if __name__ == "__main__":
    sys.exit(main())
