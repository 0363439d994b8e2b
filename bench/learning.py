"""Compares how our training and Sample Factory 2 learn the same Doom scenario, over some seeds.

    python -m bench.learning --sample-factory sf/bin/python --seeds 1 2 3 --frames 2_000_000 \\
        --json learning.json

A comparison of speed means something only if both learn equally well. Both have the same scenario
file, ViZDoom, frame-skip, resolution, actions, network, batch of 2 048 steps, rollout of 32, one
pass over a batch, discount and Adam. Everything else is each system's own: ours as in the shipped
config, Sample Factory's defaults for Doom. The main differences:

    Sample Factory                              ours
    GAE with lambda 0.95, no V-trace            V-trace, lambda by config
                                                (health_gathering_supreme: 1)
    normalises input and returns by running     pixels by running statistics (basic: / 255),
    statistics                                  returns times a constant
    symmetric KL to the uniform policy,         entropy, weight 0.003
    weight 0.001
    clips the value's change to 0.2             does not
    learning rate 1e-4                          by config (health_gathering_supreme: 1e-4, the
                                                others: 2e-4)
    a time limit ends the episode: nothing      by config the value goes on (basic: nothing
    follows                                     follows)
    health_gathering_supreme: 1 per step in     0.04 per unit of the rise: 1 for a whole medikit,
    which health rises                          less for a part of one

Both curves have the same points: the mean unshaped return of the newest 100 training episodes that
had ended by then; there is no point before the 100th. Sample Factory writes its curve itself
(--stats_avg, every 2 s; in basic it scales rewards, which is undone here). Ours is computed from
the games in the league at every update; a game counts from the frames of the weights that chose its
last action, a few batches before it was learned from. A score is the mean of a curve over the last
fifth of the frames.

Reported per system: the score of every seed, the mean and the pooled standard deviation; whether
ours reaches Sample Factory's mean minus one such deviation, and bfloat16 that of float32 (null with
a single seed). Also the mean return of uniformly random actions, Sample Factory's ratio to it, and
whether Sample Factory at least doubled it (a negative one: rose by at least its size), since a
scenario that neither system learns would show nothing.

The speed of the machine changes a curve only through the policy lag, which is reported. So runs may
share the machine with other work.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from bench.peer_runs import in_turn
from bench.peers import (
    ACTIONS,
    PEER,
    add_shared_options,
    our_config,
    our_precision,
    parsed,
    scenario_file,
    scenario_settings,
)
from bench.placements import PLACEMENTS
from bench.sample_factory import (
    ALONE,
    LOG,
    SCENARIOS,
    end_all,
    last_words,
    peer_command,
    peer_versions,
    setting_word,
    start_peer,
)
from bench.throughput import hardware, settings_of
from pbt.envs.doom.game import make
from tests.e2e.faults.running import NAME, Run

Curve = list[tuple[int, float]]
"""Points of (frames, mean return of the newest EPISODES episodes that had ended by then)."""

EPISODES = 100
RETURN_TAG, LAG_TAG = "policy_stats/avg_true_objective", "train/version_diff_avg"
LIMIT_S = 4 * 3600.0


def ours(
    folder: Path, precision: str, seed: int, options: argparse.Namespace
) -> tuple[Curve, float | None]:
    """Train ours. Returns its curve and its mean policy lag."""
    run = Run(folder, our_config(options).read_text(encoding="utf-8"))
    settings = [
        *scenario_settings(options),
        f"runtime.precision={precision}",
        f"runtime.placement={options.placement}",
        f"seed={seed}",
    ]
    try:
        run.start(f"stop_at_frames={options.frames}", *settings, *options.settings)
        code = run.wait(LIMIT_S)
        if code != 0:
            raise SystemExit(f"the training of seed {seed} ended with {code}:\n{run.errors()}")
        points = [
            json.loads(line)
            for line in (run.paths.metrics / "metrics.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ]
        updates = [point for point in points if "version" in point]
        with open_league(league_path(run.data), read_only=True) as league:
            games = [
                game.record.seats[0]
                for game in population_games(league, NAME, GameFilter("training", voided=False))
            ]
        curve = sliding(
            [(int(point["version"]), int(point["frames"])) for point in updates],
            [(seat.version_end, seat.returns) for seat in games],
        )
        return curve, mean_or_none([point["lag_mean"] for point in updates])
    finally:
        run.close()
        run.remove()


def sliding(updates: Sequence[tuple[int, int]], games: Sequence[tuple[int, float]]) -> Curve:
    """The curve of our training.

    updates  (version, frames), in order
    games    (version that chose the last action, return), in any order
    """
    ended = sorted(games, key=lambda game: game[0])
    versions = [version for version, _ in ended]
    sums = [0.0, *accumulate(value for _, value in ended)]
    counted = [(frames, bisect_right(versions, version)) for version, frames in updates]
    return [
        (frames, (sums[count] - sums[count - EPISODES]) / EPISODES)
        for frames, count in counted
        if count >= EPISODES
    ]


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None; None without any."""
    known_values = [value for value in values if value is not None]
    return statistics.fmean(known_values) if known_values else None


def peer(folder: Path, seed: int, options: argparse.Namespace) -> tuple[Curve, float | None]:
    """Train Sample Factory. Returns its curve and its mean policy lag, from its summaries."""
    folder.mkdir(parents=True)
    command = peer_command(folder, options.peer_setting, options)
    command += [
        f"--train_for_env_steps={options.frames}",
        f"--seed={seed}",
        f"--stats_avg={EPISODES}",
        "--experiment_summaries_interval=2",
    ]
    process, mark = start_peer(folder, command)
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        raise SystemExit(
            f"Sample Factory did not end within {LIMIT_S:g} s:\n{last_words(folder / LOG)}"
        ) from None
    finally:
        end_all(mark, process)
    if code != 0:
        raise SystemExit(
            f"Sample Factory, seed {seed}, ended with {code}:\n{last_words(folder / LOG)}"
        )
    events = EventAccumulator(str(folder / "run" / ".summary" / "0"), size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    if RETURN_TAG not in tags:
        raise SystemExit(
            f"Sample Factory wrote no {RETURN_TAG}, which it does after {EPISODES} episodes; "
            f"train for more frames; it wrote {tags}"
        )
    scale = SCENARIOS[options.scenario].peer_scale
    lag = mean_or_none(
        [event.value for event in events.Scalars(LAG_TAG)] if LAG_TAG in tags else []
    )
    return [(event.step, event.value / scale) for event in events.Scalars(RETURN_TAG)], lag


def random_return(options: argparse.Namespace, episodes: int = 50) -> float:
    """Mean unshaped return of uniformly random actions."""
    game = make(
        scenario=str(scenario_file(options)),
        actions=ACTIONS,
        frame_skip=options.frame_skip,
        variables=[],
    )
    rng, choices, total = np.random.default_rng(0), game.roles[0].action_space.n, 0.0  # type: ignore[attr-defined]
    try:
        for seed in range(episodes):
            turns = game.reset(seed)
            while not turns[0].over:
                turns = game.step({0: (int(rng.integers(choices)),)})
                total += turns[0].rewards[0]
    finally:
        game.close()
    return total / episodes


def score(curve: Curve, frames: int) -> float:
    """Mean of a curve over the last fifth of the frames. Raises: SystemExit without a point."""
    if not (values := [value for at, value in curve if at > 0.8 * frames]):
        raise SystemExit(
            f"no {EPISODES} episodes had ended in {frames} frames; train for more of them "
            "with --frames"
        )
    return statistics.fmean(values)


def compared(ours_: Sequence[float], theirs: Sequence[float]) -> dict[str, float | bool | None]:
    """Whether our mean reaches theirs minus the pooled deviation.

    Deviation and verdict are None unless both have several seeds.
    """
    several = min(len(ours_), len(theirs)) > 1
    pooled = (
        float(np.sqrt((np.var(ours_, ddof=1) + np.var(theirs, ddof=1)) / 2)) if several else None
    )
    mean, against = statistics.fmean(ours_), statistics.fmean(theirs)
    return {
        "mean": mean,
        "against": against,
        "pooled_deviation": pooled,
        "reached": None if pooled is None else mean >= against - pooled,
    }


def beside_random(theirs: Sequence[float], random: float) -> dict[str, float | bool | None]:
    """Sample Factory's mean beside the return of random actions.

    The ratio is None where the random return is not positive. "doubled": the mean is above it by at
    least its own size.
    """
    mean = statistics.fmean(theirs)
    return {
        "random": random,
        "peer": mean,
        "peer / random": mean / random if random > 0 else None,
        "doubled": mean >= random + abs(random),
    }


def verdicts(scores: Mapping[str, Sequence[float]], random: float) -> dict[str, Any]:
    """All comparisons of the systems that were run. random: return of random actions."""
    by_pair: dict[str, Any] = {}
    if PEER in scores:
        by_pair["learnable"] = beside_random(scores[PEER], random)
    for one, other in (("bfloat16", PEER), ("float32", PEER), ("bfloat16", "float32")):
        if one in scores and other in scores:
            by_pair[f"{one} against {other}"] = compared(scores[one], scores[other])
    return by_pair


def write(path: Path | None, report: Mapping[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_shared_options(parser, ALONE)
    parser.add_argument(
        "--systems",
        nargs="+",
        choices=["bfloat16", "float32", PEER],
        default=["bfloat16", "float32", PEER],
    )
    parser.add_argument("--placement", choices=PLACEMENTS, default="inline")
    parser.add_argument("--peer-setting", type=setting_word, default="2x16")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--frames", type=int, default=2_000_000)
    options = parsed(parser)
    report: dict[str, Any] = {
        "hardware": hardware(),
        "peer": peer_versions(options.sample_factory),
        "precision of auto": our_precision(options),
    }
    report |= {"settings": settings_of(options), "random": random_return(options)}
    runs: dict[str, list[dict[str, Any]]] = {system: [] for system in options.systems}
    with tempfile.TemporaryDirectory(prefix="learning-", ignore_cleanup_errors=True) as folder:
        for number, seed in enumerate(options.seeds, 1):
            for system in in_turn(options.systems, number):
                place = Path(folder) / f"{system}-{seed}"
                curve, lag = (
                    peer(place, seed, options)
                    if system == PEER
                    else ours(place, system, seed, options)
                )
                runs[system].append(
                    {
                        "seed": seed,
                        "score": score(curve, options.frames),
                        "lag_mean": lag,
                        "curve": curve,
                    }
                )
                print(
                    f"{system} seed {seed}: {runs[system][-1]['score']:.3f}",
                    file=sys.stderr,
                    flush=True,
                )
                write(options.json, {**report, "runs": runs})
    report["scores"] = {system: [run["score"] for run in found] for system, found in runs.items()}
    report |= verdicts(report["scores"], report["random"])
    print(json.dumps(report, indent=1, allow_nan=False))
    write(options.json, {**report, "runs": runs})


if __name__ == "__main__":
    main()
