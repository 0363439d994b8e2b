"""Trains Doom duels from pixels for half an hour, and measures what the population has learned.

    python -m bench.duel --minutes 30 --folder duel --json duel.json

It trains configs/doom_duel.toml for --minutes, stops it as `arena stop` does, and lets it play its
evaluation at the end, after which the best player is known. Then follow, with sampled actions and
95 % intervals:
  third    `arena match` of the best against the snapshot of the same member that is nearest to one
           third of its frames: --games games, seats swapped
  random   the same against uniformly random actions, with the difference of frags per game
  bot      --bot-games games of a minute against the engine's own bot, once without a named skill
           and once of skill --bot-skill: frags, and the lead over the bot
  curve    --curve-points snapshots of the best member, evenly over its frames, each in
           --curve-games games against random

Of the training it reports frames per second of all members together over each tenth of it, policy
lag, and the memory of all its processes. Memory growth is the slope of a line through the samples
after the first --settle minutes, times their duration (bench/soak.py). Memory peaks while a
checkpoint is written; a sample of such a moment counts like any other.

The folder keeps the data directory, so that `arena watch run@best random --out duel.mp4 --data
FOLDER/data` shows what was learned. --minutes 0 takes up an earlier call that ended after its
training: the figures and settings of the training are read from --json, its players play, and this
call's machine and settings are reported as "played". Run it from the repository's root. The
training needs an idle machine; the games only take longer on a busy one.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.duel_games import RANDOM, against_bots, best_and_third, curve, play, say
from bench.placements import lag_figures, updates
from bench.soak import ALL, GROWTH_LIMIT_MB, sample, summary
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import NAME, Run
from tests.e2e.faults.strikes import current

CONFIG = "doom_duel"
# The snapshot at one third is played against: on a fast machine it would be gone by the end.
SETTINGS = ("snapshots.keep_newest=1000",)
SAMPLE_S = 10.0
CLOSING_LIMIT_S = 3600.0
PARTS = 10


def trained(options: argparse.Namespace) -> dict[str, Any]:
    """Train in the folder. Returns the figures of the training."""
    run = Run(options.folder.absolute(), find_config(CONFIG).read_text(encoding="utf-8"))
    try:
        return train(run, options)
    finally:
        run.close()


def train(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Run a training for some minutes, and sample its frames and its memory."""
    began_s, began_at = time.monotonic(), time.time()
    run.start("stop_at_frames=1_000_000_000", *SETTINGS, *options.settings)
    start_growing(run)
    samples: list[tuple[float, dict[str, tuple[float, int]]]] = []
    clocks: list[tuple[float, int]] = []
    while (now_s := time.monotonic() - began_s) < 60 * options.minutes:
        clocks.append((now_s, sum(member.frames for member in current(run).members)))
        samples.append((now_s, sample(run)))
        say(f"{now_s:6.0f} s  {samples[-1][1][ALL][0]:8.1f} MB  {clocks[-1][1]:,} frames")
        time.sleep(max(0.0, min(SAMPLE_S, 60 * options.minutes - now_s)))
    assert run.stop() == 0, run.errors()
    lags = lag_figures(updates(run, began_at, time.time()))
    settled = [one for one in samples if one[0] >= 60 * options.settle]
    memory = summary(settled)["memory_mb"] if len(settled) > 1 else None
    grown = None if memory is None else memory[ALL]["fitted_growth"]
    speeds = {
        "frames_per_s": speed(clocks),
        "frames_per_s_by_tenth": [speed(part) for part in tenths(clocks)],
        "frames": clocks[-1][1],
    }
    memory_looks = [(round(at_s), round(sizes[ALL][0], 1)) for at_s, sizes in samples]
    memories = {
        "memory_mb": memory,
        "memory_looks": memory_looks,
        "memory_grown_mb": grown,
        "memory_ok": None if grown is None else grown < GROWTH_LIMIT_MB,
    }
    return {**speeds, **lags, **memories}


def close(data: Path) -> None:
    """Play the evaluation at the end, after which the best player is known.

    Games of it that were played before are not repeated.
    """
    say("the evaluation at the end")
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "train",
        "--resume",
        NAME,
        "--set",
        "stop_at_frames=1",
        "--data",
        str(data),
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=CLOSING_LIMIT_S)


def speed(clocks: Sequence[tuple[float, int]]) -> float:
    """Frames of all members per second."""
    (first_s, first), (last_s, last) = clocks[0], clocks[-1]
    return (last - first) / max(last_s - first_s, 1e-9)


def tenths(clocks: Sequence[tuple[float, int]]) -> list[Sequence[tuple[float, int]]]:
    """The samples of each tenth of the training; neighbouring tenths share a sample."""
    edges = [(len(clocks) - 1) * part // PARTS for part in range(PARTS + 1)]
    return [clocks[begin : end + 1] for begin, end in pairwise(edges) if end > begin]


def write(report: dict[str, Any], to: Path | None) -> None:
    if to is not None:
        to.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def begun(options: argparse.Namespace) -> dict[str, Any]:
    """The report so far: of this call, or of the call that trained, with this one as "played".

    "training" is None where no report of the training is found.
    """
    this_call = {"hardware": hardware(), "settings": settings_of(options)}
    if options.minutes:
        return this_call
    if options.json is None or not options.json.exists():
        say(
            f"nothing is known of the training in {options.folder}; give --json FILE as for the "
            "call that trained"
        )
        return {**this_call, "training": None}
    before = json.loads(options.json.read_text(encoding="utf-8"))
    return {
        **{name: before.get(name) for name in ("hardware", "settings", "training")},
        "played": this_call,
    }


def lines(report: dict[str, Any]) -> list[str]:
    """The report as text."""
    texts = []
    if (training := report["training"]) is not None:
        grown_mb = training["memory_grown_mb"]
        memory = (
            "memory was not watched for long enough"
            if grown_mb is None
            else f"memory grew {grown_mb:+.1f} MB"
        )
        texts.append(
            f"trained {training['frames']:,} frames at {training['frames_per_s']:,.0f} a "
            f"second; lag {training['lag_mean']}; {memory}"
        )
    for name in ("third", "random"):
        match, ahead = report[name], report[name]["frags_ahead"]
        score = f"{match['score']:.3f} [{match['low']:.3f}, {match['high']:.3f}]"
        texts.append(
            f"{match['a']} against {match['b']}: {score} over {match['games']} games, "
            f"{frags(ahead['mean'], ahead)}"
        )
    for word, bot in report["bots"].items():
        won = f"won {bot['won']:.0%}, drew {bot['drawn']:.0%} of {bot['games']} games"
        texts.append(f"against a bot {word}: {won}, {frags(bot['lead'], bot)}")
    return texts


def frags(mean: float, interval: Mapping[str, float | None]) -> str:
    """Mean frags with their interval: "low" and "high", None where all games were equal."""
    if interval["low"] is None:
        return f"{mean:+.2f} frags in every game"
    return f"{mean:+.2f} [{interval['low']:+.2f}, {interval['high']:+.2f}] frags a game"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help="of training; 0 to play with what the folder holds",
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="a new folder, which keeps the data"
    )
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--bot-games", type=int, default=100)
    parser.add_argument("--bot-skill", type=int, default=50)
    parser.add_argument("--curve-points", type=int, default=6)
    parser.add_argument("--curve-games", type=int, default=40)
    parser.add_argument(
        "--settle", type=float, default=5.0, help="minutes before memory is measured"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override a value of the config; may be given often",
    )
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    report = begun(options)
    data = options.folder.absolute() / "data"
    try:
        if options.minutes:
            report["training"] = trained(options)
            write(report, options.json)
        close(data)
        best, member, third = best_and_third(data)
        for name, opponent in (("third", third), ("random", RANDOM)):
            report[name] = play(data, best, opponent, options.games)
            say(f"{name}: {report[name]}")
        report["bots"] = against_bots(data, best, options)
        report["curve"] = curve(data, member, options)
    finally:
        write(report, options.json)
    print("\n".join(lines(report)))


if __name__ == "__main__":
    main()
