"""Measures whether the demo's PBT copies where it should, and only there.

    python -m bench.pbt_demo --folder pbt_demo --equal 20 --spread 8 --json pbt_demo.json

It trains configs/demo.toml with seeds 1, 2, ... in two kinds, in turn:
  equal   all members begin with the same values, and nothing mutates, so every copy is a false one.
          Without a copy it is the demo without PBT
  spread  as it is shipped: values spread out at the start, copies and mutations
Then the best member of each spread run (`NAME@best`) meets the best of each equal run without a
copy, of the first seeds, in `arena match` with --games games. Their score is judged as `arena
compare` judges it: the runs are the evidence, not the games (`arena.stats.seed_scores`). It is also
told in Elo.

The placement is serial, in one process with one thread, so that equal seeds give equal runs. The
folder keeps the data directory. After an interruption the same command goes on; the report is
written anew after each run. The pairs of equal seeds come first, then the matches, then the rest.
When the matches are over, a run that the report has needs the folder no more. --report trains and
plays nothing: it writes what there is, also of runs that are not over. `python -m bench.pbt_gaps
FOLDER` measures how far the equal members of the same runs are apart. Run it from the repository's
root, at any load: nothing is timed.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_history import list_events, list_rounds
from arena.league.summaries import list_populations
from arena.stats.score import elo_of_score
from arena.stats.seed_scores import seed_score
from bench.throughput import hardware, settings_of

CONFIG = "demo"
SETTINGS = {
    "equal": ("pbt.spread_start=1", "pbt.mutation_probability=0"),
    "spread": (),
}
NON_INFERIOR_ELO = -30.0


def runs(equal: int, spread: int) -> list[tuple[str, int]]:
    """(kind, seed) in the order trained: both kinds in turn."""
    counts = {"equal": equal, "spread": spread}
    last = max(counts.values())
    return [
        (kind, seed) for seed in range(1, last + 1) for kind in SETTINGS if seed <= counts[kind]
    ]


def train(data: Path, kind: str, seed: int) -> None:
    """Train one run to its end, or go on with it."""
    name = f"{kind}-{seed}"
    if state(data, name) == "finished":
        return
    settings = (*SETTINGS[kind], f"seed={seed}", "runtime.placement=serial")
    fresh = [CONFIG, "--name", name, *(word for one in settings for word in ("--set", one))]
    resumed = ["--resume", name]
    begun = population_paths(data, name).config.exists()
    arena("train", *(resumed if begun else fresh), "--json", data=data)
    if state(data, name) != "finished":
        raise SystemExit(f"{name} was stopped; the same command goes on with it")


def arena(*arguments: str, data: Path) -> str:
    """Run a command to its end. Returns what it printed."""
    command = [sys.executable, "-P", "-m", "arena", *arguments, "--data", str(data)]
    threads = {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **threads}
    )
    if done.returncode not in (0, 5, 6):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


def state(data: Path, name: str) -> str | None:
    """The state of a population, None where there is none."""
    if not league_path(data).exists():
        return None
    with open_league(league_path(data)) as league:
        found = (one.state for one in list_populations(league) if one.name == name)
        return next(found, None)


def figures(data: Path, name: str) -> dict[str, Any]:
    """What PBT did in a run: its copies, and where the members began and ended."""
    with open_league(league_path(data), read_only=True) as league:
        rounds = [stored.record for stored in list_rounds(league, name)]
        starts = {
            stored.event.member: stored.event.text
            for stored in list_events(league, name)
            if stored.event.kind == "start"
        }
    copies = [
        {
            "member": one.member,
            "round": one.round,
            "frames": one.frames,
            "from": one.directive.copy_from,
            "verdict": one.verdict,
            "before": dict(one.hyperparams[one.member]),
            "after": dict(one.directive.hyperparams),
        }
        for one in rounds
        if one.directive.copy_from is not None
    ]
    finished = state(data, name) == "finished"
    return {"finished": finished, "rounds": len(rounds), "copies": copies, "starts": starts}


def match(data: Path, a: str, b: str, games: int) -> float:
    """The score of the best of population a against the best of b."""
    played = arena("match", f"{a}@best", f"{b}@best", "--games", str(games), "--json", data=data)
    return float(json.loads(played)["score"])


def strength(scores: Sequence[Sequence[float]], games: int) -> dict[str, Any]:
    """The judgement of the scores of spread runs (rows) against equal ones (columns)."""
    judged = seed_score(np.array(scores), games)
    ends = [judged.mean, judged.low, judged.high]
    in_elo = [None if end is None else elo_of_score(end) for end in ends]
    low = in_elo[1]
    return {
        "scores": scores,
        "games": games,
        "score": ends,
        "elo": in_elo,
        "not_inferior": low is not None and low > NON_INFERIOR_ELO,
    }


def summary(report: dict[str, Any]) -> list[str]:
    """The figures in a few lines."""
    lines = []
    for kind in SETTINGS:
        own = [one for name, one in report["runs"].items() if name.startswith(kind)]
        copying = sum(bool(one["copies"]) for one in own)
        copies = sum(len(one["copies"]) for one in own)
        over = sum(one["finished"] for one in own)
        lines.append(
            f"{kind}: {copying} of {len(own)} runs with a copy, {copies} copies; {over} are over"
        )
    if judged := report.get("strength"):
        score, low, high = judged["elo"]
        ends = "" if low is None else f" [{low:+.0f}, {high:+.0f}]"
        lines.append(
            f"spread with PBT against equal without: {score:+.0f}{ends} Elo, "
            f"{len(judged['scores'])} x {len(judged['scores'][0])} runs"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--equal", type=int, default=20)
    parser.add_argument("--spread", type=int, default=8)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    data = options.folder.absolute() / "data"
    report: dict[str, Any] = {"runs": {}, "matches": {}}
    if options.json.exists():
        report = json.loads(options.json.read_bytes())
    report |= {"hardware": hardware(), "settings": settings_of(options)}

    def write() -> None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print("\n".join(summary(report)), file=sys.stderr, flush=True)

    def make(kind: str, seed: int, *, meets: bool) -> None:
        """meets: the run plays matches, for which its snapshots must be there."""
        name = f"{kind}-{seed}"
        recorded = report["runs"].get(name, {"finished": False})
        if not options.report and (meets or not recorded["finished"]):
            train(data, kind, seed)
        if state(data, name) is not None:
            report["runs"][name] = figures(data, name)
        write()

    paired = min(options.equal, options.spread)
    for kind, seed in runs(paired, paired):
        make(kind, seed, meets="strength" not in report)
    if not options.report:
        meet(data, report, options, write)
    for kind, seed in runs(options.equal, options.spread)[2 * paired :]:
        make(kind, seed, meets=False)
    write()


def meet(
    data: Path, report: dict[str, Any], options: argparse.Namespace, write: Callable[[], None]
) -> None:
    """Play what is not played yet of the matches, and judge them."""
    seeds, matches = range(1, min(options.equal, options.spread) + 1), report["matches"]
    spread = [f"spread-{seed}" for seed in seeds]
    plain = [name for seed in seeds if not report["runs"][name := f"equal-{seed}"]["copies"]]
    for a, b in ((a, b) for a in spread for b in plain):
        if f"{a} {b}" not in matches:
            matches[f"{a} {b}"] = match(data, a, b, options.games)
            write()
    scores = [[matches[f"{a} {b}"] for b in plain] for a in spread]
    report["strength"] = strength(scores, options.games)


if __name__ == "__main__":
    main()
