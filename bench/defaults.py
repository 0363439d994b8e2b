"""How well the default learning values learn games that no config was made for.

    python -m bench.defaults --game cartpole --seeds 20 --json bench/results/defaults.json
    python -m bench.defaults --game cartpole --seeds 20 --before --json ...       # the old defaults

The config of every training is the game's name, the seed and the frames; [model], [sampling] and
[learning] are as the program chooses them. There is one member, since PBT begins far behind these
frames and members of a game with one seat never meet; it trains in the placement "serial", on one
thread, without evaluation games. After the training, in games of one seat, its last snapshot plays
episodes with sampled actions: their mean return. There are 100 of them; in Acrobot 1 000, where one
in some hundred lasts to the limit of 500 steps, so the mean of 100 has a deviation of 2 points. In
games of two seats it plays a match against its own snapshot at a third of the frames, and one
against `random`: 1 600 games each, and the score or, in Leduc, the margin a game in chips, with the
95 % interval.

`--before` gives the values that were the defaults until 2026-11-26. A seed that the file already
has is not run again, so a program that was stopped goes on where it was.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import torch

from arena.matches.play import play_match
from arena.matches.returns import evaluate_player
from arena.players.resolve import resolve_players
from arena.training.train import start_training
from bench.throughput import hardware
from pbt.config.defaults import left_to_defaults
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig

GAMES, PASSES_AT = 1600, 475.0
FILE = "unknown_game.py"
GAME_FILE = "import gymnasium\n\n\ndef make():\n    return gymnasium.make({!r})\n"
BEFORE: Mapping[str, Any] = {
    "sampling.environments": 64,
    "sampling.rollout_steps": 16,
    "learning.minibatches": 1,
    "learning.epochs": 1,
    "learning.learning_rate": 1e-3,
    "learning.normalize_returns": False,
    "learning.entropy_coef": 0.01,
    "learning.max_grad_norm": 4.0,
    "model.activation": "relu",
}


class UnknownGame(NamedTuple):
    """A game that is learned by defaults.

    name      of the registered game, or an id of Gymnasium
    frames    of the training
    seats     one is measured by its return, two by matches
    episodes  whose returns are measured
    """

    name: str
    frames: int
    seats: int = 1
    episodes: int = 100


UNKNOWN_GAMES = {
    "cartpole": UnknownGame("cartpole", 300_000),
    "acrobot": UnknownGame("Acrobot-v1", 300_000, episodes=1000),
    "lunarlander": UnknownGame("LunarLander-v3", 300_000),
    "tictactoe": UnknownGame("tictactoe", 200_000, 2),
    "connect_four": UnknownGame("connect_four", 200_000, 2),
    "leduc": UnknownGame("openspiel:leduc_poker", 200_000, 2),
}


def config_of(game: UnknownGame, seed: int, folder: Path, *, before: bool) -> RunConfig:
    """The config of one training. folder: where a Gymnasium game gets a file of a user's."""
    file_name = f"{folder / FILE}:make"
    table = {
        "seed": seed,
        "stop_at_frames": game.frames,
        "env": {"name": file_name if "-v" in game.name else game.name},
        "population": {"members": 1},
        "evaluation": {"share": 0.0, "final_games": 0},
        "snapshots": {"every_frames": game.frames // 3},
        "runtime": {"placement": "serial"},
    }
    values = [f"{key}={json.dumps(value)}" for key, value in BEFORE.items()]
    return config_from_table(table, "defaults", values if before else ())


def _chosen(game: UnknownGame) -> dict[str, Any]:
    config = config_of(game, 1, Path("."), before=False)
    return left_to_defaults(config, config)


def one_seed(game: UnknownGame, seed: int, *, before: bool) -> dict[str, Any]:
    """Train once and measure the last snapshot."""
    with tempfile.TemporaryDirectory(prefix="defaults-") as name:
        folder = Path(name)
        (folder / FILE).write_text(GAME_FILE.format(game.name), encoding="utf-8")
        config = config_of(game, seed, folder, before=before)
        began_s = time.monotonic()
        result = start_training(config, "run", folder / "data", lambda progress: None)
        if not result.finished:
            raise SystemExit(f"seed {seed}: stopped before its end; nothing is kept of it")
        train_s = round(time.monotonic() - began_s, 1)
        measured = returns if game.seats == 1 else matches
        return {"train_s": train_s, **measured(folder / "data", game)}


def returns(data: Path, game: UnknownGame) -> dict[str, Any]:
    spec, (player,) = resolve_players(["run/m0"], data, allow_files=True)
    found = evaluate_player(player, spec, episodes=game.episodes, seed=1).returns
    return {"return": fmean(found), "least": min(found), "episodes": len(found)}


def matches(data: Path, game: UnknownGame) -> dict[str, Any]:
    """Against the snapshot at a third of the frames, and against `random`."""
    # A snapshot comes with the first batch behind its time, so a little later.
    third = f"run/m0@{game.frames // 2}"
    spec, (last, third_player, random) = resolve_players(["run/m0", third, "random"], data)
    return {
        name: _result(play_match(last, opponent, games=GAMES, env=spec))
        for name, opponent in (("third", third_player), ("random", random))
    }


def _result(match: Any) -> list[float | None]:
    """The mean margin or the score, with the interval."""
    if match.margin is not None:
        return [match.margin.mean, match.margin.low, match.margin.high]
    return [match.duel.score, match.duel.low, match.duel.high]


def summary(game: UnknownGame, runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Over the seeds: how many passed, and means.

    A seed of two seats passes when the whole interval is on the better side: it beats its third.
    """
    done = list(runs.values())
    found: dict[str, Any] = {"seeds": len(done), "train_s": median(run["train_s"] for run in done)}
    if game.seats == 1:
        found["mean"] = fmean(run["return"] for run in done)
        found["least"] = min(run["return"] for run in done)
        if game.name == "cartpole":
            found["passed"] = sum(run["return"] >= PASSES_AT for run in done)
        return found
    even = 0.0 if "leduc" in game.name else 0.5
    lows = [run["third"][1] for run in done]
    found["passed"] = sum(low is not None and low > even for low in lows)
    return found | {name: fmean(run[name][0] for run in done) for name in ("third", "random")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", choices=UNKNOWN_GAMES, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--before", action="store_true", help="with the defaults as they were")
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args()
    torch.set_num_threads(1)
    game = UNKNOWN_GAMES[options.game]
    raw: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    raw["hardware"] = hardware()
    chosen = _chosen(game)
    when = "before" if options.before else "after"
    part = raw.setdefault(options.game, {"frames": game.frames}).setdefault(when, {"seeds": {}})
    part["values"] = chosen | BEFORE if options.before else chosen
    for seed in range(1, options.seeds + 1):
        if str(seed) in part["seeds"]:
            continue
        part["seeds"][str(seed)] = one_seed(game, seed, before=options.before)
        part["summary"] = summary(game, part["seeds"])
        options.json.write_text(json.dumps(raw, indent=1) + "\n")
        print(f"{options.game} {when} {seed}: {part['seeds'][str(seed)]}", file=sys.stderr)


if __name__ == "__main__":
    main()
