"""Games of Gymnasium and PettingZoo by their ids: each checked, and trained for half a minute.

    python -m bench.games_by_id --json bench/results/games_by_id.json

Every game goes through `arena env check` and then trains for SECONDS with the default
configuration (`arena train`, stopped by SIGINT as by Ctrl-C, so it saves). The file is written
after every game, and the same call goes on from there: it plays what the file lacks, and what
failed. Exit code 1 when a game fails.

It needs one package more than the project: `pip install -e . gymnasium==1.4.* pymunk
"pettingzoo[classic,butterfly]==1.27.*"`, best in an environment of its own.
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
CHECK_SEEDS, CHECK_S = 3, 1200.0


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
    command = [*_PROGRAM, "env", "check", entry.name, "--seeds", str(CHECK_SEEDS), *sets, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_S, check=False)
        report = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"ok": False, "problems": [f"the check took longer than {CHECK_S:.0f} s"]}
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
        out, err = Path(folder) / "out", Path(folder) / "err"
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(command, stdout=output, stderr=errors)
        try:
            if _has_frames(process, Path(folder)):
                time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return {"ok": False, "error": f"it did not end within {PATIENCE_S:.0f} s of a Ctrl-C"}
        finally:
            process.kill()
            process.wait()
        try:
            report = json.loads(out.read_bytes())
        except ValueError:
            return {"ok": False, "error": err.read_text(errors="replace").strip()[-400:]}
    games = report["training_games"]
    speed = round(report["frames"] / report["seconds"])
    return {
        "ok": report["frames"] > 0,
        "frames": report["frames"],
        "training_games": games,
        "frames_per_s": speed,
    }


_PROGRAM = (sys.executable, "-P", "-m", "arena")


def _has_frames(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until its status names the first frames. False where it ends before, or takes long."""
    status = folder / "populations" / "by_id" / "status.json"
    until_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until_s:
        if status.exists():
            members = json.loads(status.read_text())["members"]
            if any(member["frames"] for member in members):
                return True
        time.sleep(0.5)
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the file does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--games", type=int, default=len(GAMES), help="the first so many")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    chosen = parser.parse_args(arguments)
    report: dict[str, Any] = {"hardware": hardware(), "seconds": chosen.seconds, "games": {}}
    if chosen.json.exists():
        before = json.loads(chosen.json.read_text())
        at = {"commit": before["hardware"]["commit"], "seconds": before["seconds"]}
        report["games"] = {name: {**at, **game} for name, game in before["games"].items()}
    at = {"commit": report["hardware"]["commit"], "seconds": chosen.seconds}
    for entry in GAMES[: chosen.games]:
        if entry.name in report["games"] and _went_well(report["games"][entry.name]):
            continue
        found: dict[str, Any] = {**at, "sets": list(entry.sets), "check": checked(entry)}
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
