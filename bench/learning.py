"""Equal learning: the curves of our training and of Sample Factory 2 on the same Doom scenario, some seeds each. No speed counts without this.

    python -m bench.learning --sample-factory sf/bin/python --seeds 1 2 3 --frames 2_000_000 --json learning.json

Same scenario files, frame-skip, resolution, network, batch, rollout and epochs, and the values of its configuration on both sides. A curve is the
mean unshaped return of the episodes that ended, over frames; its score is the mean over the last fifth of the frames. Reported per system: score of
every seed, mean and standard deviation; and whether ours reaches the peer's mean less one pooled standard deviation, and bfloat16 float32's. Also the
mean return of uniformly random actions, since a scenario on which nobody learns would show nothing.

How fast a machine is changes no curve but for the policy lag, so runs may share it with other work; the lag is reported.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bench.peers import end_all, peer_command, peer_folder, scenario_settings, start_peer
from bench.throughput import hardware
from pbt.envs.doom.game import make
from tests.e2e.faults.running import Run

Curve = list[tuple[int, float]]
"""(frames, mean return of the episodes that ended since the point before)."""

RETURN_TAGS = ("policy_stats/avg_true_objective", "reward/reward")
LIMIT_S = 4 * 3600.0


def ours(folder: Path, precision: str, seed: int, options: argparse.Namespace) -> tuple[Curve, float]:
    """The curve and the mean policy lag."""
    run = Run(folder, Path(f"configs/doom_{options.scenario}.toml").read_text(encoding="utf-8"))
    settings = [*scenario_settings(options), f"runtime.precision={precision}", f"runtime.placement={options.placement}", f"seed={seed}"]
    try:
        run.start(f"stop_at_frames={options.frames}", "population.members=1", *settings, *options.settings)
        code = run.wait(LIMIT_S)
        if code != 0:
            raise SystemExit(f"the training of seed {seed} ended with {code}:\n{run.errors()}")
        points = [json.loads(line) for line in (run.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        curve = [(int(point["frames"]), float(point["return"])) for point in points if "return" in point]
        return curve, statistics.fmean(point["lag_mean"] for point in points if "lag_mean" in point)
    finally:
        run.close()
        run.remove()


def peer(folder: Path, seed: int, options: argparse.Namespace) -> tuple[Curve, float]:
    """The same of Sample Factory, from the summaries it writes."""
    folder.mkdir(parents=True)
    command = [*peer_command(folder, options.peer_setting, options), f"--train_for_env_steps={options.frames}", f"--seed={seed}"]
    process, mark = start_peer(folder, command)
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"Sample Factory did not end; see {folder / 'log.txt'}") from None
    finally:
        end_all(mark, process)
    (summaries,) = (folder / "run").glob(".summary/0")
    events = EventAccumulator(str(summaries), size_guidance={"scalars": 0})
    events.Reload()
    known = events.Tags()["scalars"]
    tag = next((name for name in RETURN_TAGS if name in known), None)
    if tag is None:
        raise SystemExit(f"Sample Factory wrote none of {RETURN_TAGS}; it has {known}")
    lag = [event.value for event in events.Scalars("train/version_diff_avg")] if "train/version_diff_avg" in known else [float("nan")]
    return [(event.step, event.value) for event in events.Scalars(tag)], statistics.fmean(lag)


def random_return(options: argparse.Namespace, episodes: int = 50) -> float:
    """Mean return of uniformly random actions."""
    scenario = peer_folder(options.sample_factory) / "scenarios" / f"{options.scenario}.cfg"
    game = make(scenario=str(scenario), actions="single")
    rng, choices, total = np.random.default_rng(0), game.roles[0].action_space.n, 0.0  # type: ignore[attr-defined]
    for seed in range(episodes):
        turns = game.reset(seed)
        while not turns[0].over:
            turns = game.step({0: (int(rng.integers(choices)),)})
            total += turns[0].rewards[0]
    game.close()
    return total / episodes


def score(curve: Curve, frames: int) -> float:
    """Mean over the last fifth of the frames."""
    return statistics.fmean(value for at, value in curve if at > 0.8 * frames)


def compared(ours_: Sequence[float], theirs: Sequence[float]) -> dict[str, float | bool]:
    pooled = float(np.sqrt((np.var(ours_, ddof=1) + np.var(theirs, ddof=1)) / 2)) if min(len(ours_), len(theirs)) > 1 else float("nan")
    least = statistics.fmean(theirs) - pooled
    return {
        "mean": statistics.fmean(ours_),
        "against": statistics.fmean(theirs),
        "pooled_deviation": pooled,
        "reached": statistics.fmean(ours_) >= least,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample-factory", type=Path, required=True, metavar="PYTHON", help="of the environment that has it")
    parser.add_argument("--scenario", default="health_gathering_supreme")
    parser.add_argument("--systems", nargs="+", default=["bfloat16", "float32", "sample_factory"])
    parser.add_argument("--placement", default="inline")
    parser.add_argument("--peer-setting", default="2x16")
    parser.add_argument("--frame-skip", type=int, default=4)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--frames", type=int, default=2_000_000)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="of our configuration")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    options.sample_factory = options.sample_factory.absolute()
    runs: dict[str, list[dict[str, Any]]] = {system: [] for system in options.systems}
    with tempfile.TemporaryDirectory(prefix="learning-", ignore_cleanup_errors=True) as folder:
        for seed in options.seeds:
            for system in options.systems:
                place = Path(folder) / f"{system}-{seed}"
                train: Callable[[], tuple[Curve, float]] = (
                    (lambda place=place, seed=seed: peer(place, seed, options))
                    if system == "sample_factory"
                    else (lambda place=place, seed=seed, system=system: ours(place, system, seed, options))
                )
                curve, lag = train()
                runs[system].append({"seed": seed, "score": score(curve, options.frames), "lag_mean": lag, "curve": curve})
                print(f"{system} seed {seed}: {runs[system][-1]['score']:.3f}, lag {lag:.2f}", file=sys.stderr, flush=True)
                if options.json is not None:
                    options.json.write_text(json.dumps({"settings": {k: str(v) for k, v in vars(options).items()}, "runs": runs}), encoding="utf-8")
    scores = {system: [run["score"] for run in found] for system, found in runs.items()}
    report: dict[str, Any] = {"hardware": hardware(), "random": random_return(options), "scores": scores}
    for one, other in (("bfloat16", "sample_factory"), ("float32", "sample_factory"), ("bfloat16", "float32")):
        if one in scores and other in scores:
            report[f"{one} against {other}"] = compared(scores[one], scores[other])
    print(json.dumps(report, indent=1))
    if options.json is not None:
        options.json.write_text(
            json.dumps({**report, "settings": {k: str(v) for k, v in vars(options).items()}, "runs": runs}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
