"""Games of Gymnasium and PettingZoo by their ids: each checked, and trained for half a minute.

    python -m bench.games_by_id --json bench/results/games_by_id.json

Every game goes through `arena env check` and then trains for SECONDS with the default
configuration (`arena train`, stopped by SIGINT as by Ctrl-C, so it saves). The file is written
after every game, and the same call goes on from there. Exit code 1 when a game fails.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.throughput import hardware
from pbt.files import write_whole

SECONDS = 30.0
# Loading, and saving at the end.
PATIENCE_S = 300.0
CHECK_SEEDS = 3


@dataclass(frozen=True)
class Entry:
    """A game, and what its config sets beside its name, as --set takes it."""

    name: str
    sets: tuple[str, ...] = field(default=())


GAMES = (
    Entry("gymnasium:CartPole-v1"),
    Entry("gymnasium:FrozenLake-v1", ("env.options.is_slippery=false",)),
    Entry("gymnasium:Taxi-v4"),
    Entry("pettingzoo:classic/rps_v2"),
    Entry("pettingzoo:classic/tictactoe_v3"),
    Entry("pettingzoo:classic/connect_four_v3"),
    Entry("pettingzoo:classic/leduc_holdem_v4"),
    Entry("gymnasium:Acrobot-v1"),
    Entry("gymnasium:MountainCar-v0"),
    Entry("gymnasium:CliffWalking-v1"),
    Entry("gymnasium:Blackjack-v1"),
    Entry("gymnasium:FrozenLake8x8-v1"),
    Entry("gymnasium:CartPole-v0"),
    Entry("pettingzoo:classic/texas_holdem_v4"),
    Entry("pettingzoo:classic/texas_holdem_no_limit_v6"),
    Entry("pettingzoo:classic/chess_v6"),
    Entry("pettingzoo:classic/go_v5", ("env.options.board_size=5",)),
    Entry("pettingzoo:butterfly/knights_archers_zombies_v11"),
    Entry("pettingzoo:butterfly/cooperative_pong_v6", ("env.resize=[48, 64]",)),
    Entry("pettingzoo:butterfly/pistonball_v6", ("env.options.continuous=false",)),
)


def checked(entry: Entry) -> dict[str, Any]:
    """What `arena env check` finds."""
    sets = [word for text in entry.sets for word in ("--set", text.removeprefix("env.options."))]
    done = _arena("env", "check", entry.name, "--seeds", str(CHECK_SEEDS), *sets, "--json")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"ok": False, "problems": [done.stderr.strip()[-400:]]}
    kept = ("ok", "problems", "seats", "replayable", "seed_matters", "mean_decisions")
    return {key: report[key] for key in kept}


def trained(entry: Entry, seconds: float) -> dict[str, Any]:
    """What half a minute of training comes to."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "by_id.toml"
        config.write_text(f'stop_at_frames = 1_000_000_000\n[env]\nname = "{entry.name}"\n')
        sets = [word for text in entry.sets for word in ("--set", text)]
        command = [*_PROGRAM, "train", str(config), "--data", folder, "--json", *sets]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            began_s = _first_frames(process, Path(folder))
            if began_s is not None:
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
    try:
        report = json.loads(out)
    except ValueError:
        return {"ok": False, "error": err.strip()[-400:]}
    games = report["training_games"]
    speed = round(report["frames"] / report["seconds"])
    return {
        "ok": report["frames"] > 0,
        "frames": report["frames"],
        "training_games": games,
        "frames_per_s": speed,
    }


_PROGRAM = (sys.executable, "-P", "-m", "arena")


def _arena(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*_PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)


def _first_frames(process: subprocess.Popen[str], folder: Path) -> float | None:
    """When its status named the first frames; None where it ended before."""
    status = folder / "populations" / "by_id" / "status.json"
    until_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until_s:
        if status.exists():
            members = json.loads(status.read_text())["members"]
            if any(member["frames"] for member in members):
                return time.monotonic()
        time.sleep(0.5)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the file does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--games", type=int, default=len(GAMES), help="the first so many")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    chosen = parser.parse_args(arguments)
    report: dict[str, Any] = {"hardware": hardware(), "seconds": chosen.seconds, "games": {}}
    if chosen.json.exists():
        report = json.loads(chosen.json.read_text())
    for entry in GAMES[: chosen.games]:
        if entry.name in report["games"]:
            continue
        found: dict[str, Any] = {"sets": list(entry.sets), "check": checked(entry)}
        if found["check"]["ok"]:
            found["training"] = trained(entry, chosen.seconds)
        report["games"][entry.name] = found
        write_whole(chosen.json, json.dumps(report, indent=1) + "\n")
        print(entry.name, json.dumps(found), flush=True)
    return 0 if all(_went_well(game) for game in report["games"].values()) else 1


def _went_well(game: dict[str, Any]) -> bool:
    return bool(game["check"]["ok"] and game.get("training", {}).get("ok"))


if __name__ == "__main__":
    sys.exit(main())
