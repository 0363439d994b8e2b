"""Trains connect four with declared seeds, and measures what comes out: strength for CPU time.

    python -m bench.strength --config demo --seeds 1 2 3 4 5 --folder strength --json strength.json

One after the other, every seed trains a population of its own with `arena train`, with whatever
processes the config asks for. Its player, `--player`, then meets each opponent in `arena match`:

  oneply          the scripted player that wins where it can and blocks where it must
  mcts:100, ...   OpenSpiel's tree search of so many simulations (bench/mcts_bot.py), as a guest
                  whose seed is that of the match

and `bench.grade` says how often its moves keep the value of a critical position. Reported for each
seed: seconds and CPU seconds of the training, all processes together, the score against each
opponent (a drawn game counts half) with its 95 % interval, and the grade; over seeds the mean and
the worst. The file is written after every seed. The same call goes on with the seeds that lack; a
seed that was cut off begins anew, since its time is part of the result. Run it from the
repository's root on a machine with nothing else to do. It needs `pip install open-spiel bitbully`.
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.throughput import ROOT, hardware, settings_of
from pbt.files import write_whole

NAME = "trained"
# A search of more simulations takes seconds for each game.
LONG_SEARCH, GAMES_OF_LONG_SEARCH = 500, 200
# Of what `arena match --json` says.
STORED = ("score", "low", "high", "games", "forfeits", "errors")


def opponent_named(name: str) -> str:
    """What `arena match` calls an opponent."""
    kind, _, simulations = name.partition(":")
    if kind != "mcts":
        return name
    program = ROOT / "bench" / "mcts_bot.py"
    return f"exec:{sys.executable} {program} --simulations {int(simulations)}"


def games_against(name: str, games: int) -> int:
    """How many games are played against an opponent."""
    kind, _, simulations = name.partition(":")
    long = kind == "mcts" and int(simulations) > LONG_SEARCH
    return min(games, GAMES_OF_LONG_SEARCH) if long else games


def printed(*command: str) -> str:
    """What a program of this project prints; it may say more on standard error.

    Raises: SystemExit when it fails.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", *command], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trained(data: Path, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Train one seed from nothing: its seconds, and its CPU seconds."""
    settings = [*options.settings, f"seed={seed}"]
    words = [word for one in settings for word in ("--set", one)]
    began, used = time.monotonic(), _children_s()
    printed("arena", "train", options.config, "--name", NAME, "--data", str(data), "--json", *words)
    return {"seconds": time.monotonic() - began, "cpu_s": _children_s() - used}


def measured(data: Path, player: str, options: argparse.Namespace) -> dict[str, Any]:
    """The scores of a player against each opponent, and its grade."""
    scores: dict[str, Any] = {}
    for opponent in options.opponents:
        games = games_against(opponent, options.games)
        command = ("arena", "match", player, opponent_named(opponent), "--games", str(games))
        said = json.loads(printed(*command, "--no-record", "--json", "--data", str(data)))
        scores[opponent] = {key: said[key] for key in STORED}
    if not options.grade:
        return {"scores": scores}
    file = data / "grade.json"
    printed("bench.grade", player, "--data", str(data), "--json", str(file))
    graded = json.loads(file.read_bytes())["players"]
    (plays,) = (one["plays"] for one in graded.values())
    return {"scores": scores, "keeps": {key: plays[key] for key in ("share", "low", "high")}}


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean and worst over seeds of every quantity; of times the worst is the longest."""
    columns: dict[str, list[float]] = {
        opponent: [run["scores"][opponent]["score"] for run in runs]
        for opponent in runs[0]["scores"]
    }
    if "keeps" in runs[0]:
        columns["keeps"] = [run["keeps"]["share"] for run in runs]
    found = {
        name: {"mean": statistics.fmean(values), "worst": min(values)}
        for name, values in columns.items()
    }
    for name in ("seconds", "cpu_s"):
        values = [run[name] for run in runs]
        found[name] = {"mean": statistics.fmean(values), "worst": max(values)}
    return found


def earlier(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Runs of a call that was cut off, or of other seeds, by seed.

    Raises: SystemExit when the file has runs of other settings.
    """
    if not path.exists():
        return {}
    stored = json.loads(path.read_bytes())
    if {**stored["settings"], "seeds": None} != {**settings, "seeds": None}:
        raise SystemExit(
            f"{path}: found runs of {stored['settings']}; expected {settings}; name another file "
            "with --json, or remove this one"
        )
    runs: dict[str, Any] = stored["runs"]
    return runs


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="demo")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--player", default=f"{NAME}@best", help=f"the population is {NAME}")
    parser.add_argument("--opponents", nargs="*", default=["oneply", "mcts:100"])
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--grade", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    plan = {"measured_on": hardware(), "settings": settings_of(options)}
    runs = earlier(options.json, plan["settings"])
    for seed in options.seeds:
        if str(seed) in runs:
            continue
        data = options.folder.absolute() / f"seed-{seed}"
        shutil.rmtree(data, ignore_errors=True)
        times = trained(data, seed, options)
        runs[str(seed)] = {**times, **measured(data, options.player, options)}
        over = summary(list(runs.values()))
        write_whole(
            options.json, json.dumps({**plan, "runs": runs, "summary": over}, indent=1) + "\n"
        )
        print(f"seed {seed}: {json.dumps(runs[str(seed)])}", flush=True)
    for name, found in summary(list(runs.values())).items():
        print(f"{name:<10} mean {found['mean']:.3f}, worst {found['worst']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
