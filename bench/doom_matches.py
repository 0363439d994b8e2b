"""Measures how fast matches of Doom are played, with the library in their engines and without it.

    python -m bench.doom_matches --rounds 7 --seconds 3 --json doom_matches.json

Each case plays for --seconds per round, in turn, so that a slow moment of the machine hits all of
them alike. Figures are medians over rounds. Actions are random.
  duel      one match of two
  duels     four matches of two at the same time
  eight     one match of eight players (map cig)
  alone     two engines that are not connected (-host 1), at the same time: a duel without a network

Speeds are tics of the game a second: of all matches together, and for `alone` of one engine. `gain`
is mode "helper" (with the library) over mode "barrier" (without); `share` is the duel over `alone`.
CPU time is that of all processes that took part, in microseconds per tic of the game: other work on
the machine affects it less.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from pbt.envs.doom.match import DoomMatch
from pbt.envs.doom.match_options import MatchOptions

SCENARIOS = ("multi_duel", "cig")
MODES = ("helper", "barrier")
DUELS, EIGHT = 4, 8
NO_END_TICS = 10**9


class Case(NamedTuple):
    """Matches that are played at the same time. Several cases may share a match."""

    name: str
    matches: Sequence[DoomMatch]


class Timing(NamedTuple):
    """Speed and CPU time of a case in one round."""

    tics_per_s: float
    cpu_us_per_tic: float


def match(scenario: str, players: int, mode: str, skip: int) -> DoomMatch:
    """A running match whose games do not end."""
    options = MatchOptions(
        scenario=scenario,
        players=players,
        lock_step=mode,
        frame_skip=skip,
        max_tics=NO_END_TICS,
        deadline_s=30,
        start_deadline_s=120,
    )
    game = DoomMatch(options)
    game.reset(1)
    return game


def cases(skip: int) -> list[Case]:
    """All cases, their matches running."""
    result = []
    for scenario in SCENARIOS:
        for mode in MODES:
            duels = [match(scenario, 2, mode, skip) for _ in range(DUELS)]
            result += [
                Case(f"duel {scenario} {mode}", duels[:1]),
                Case(f"duels {scenario} {mode}", duels),
            ]
        result.append(
            Case(f"alone {scenario}", [match(scenario, 1, "auto", skip) for _ in range(2)])
        )
    return result + [Case(f"eight cig {mode}", [match("cig", EIGHT, mode, skip)]) for mode in MODES]


def timed(case: Case, seconds: float, skip: int) -> Timing:
    """Step all matches of a case together for some seconds."""
    rng = np.random.default_rng(0)
    sizes = case.matches[0].roles[0].action_space.nvec  # type: ignore[attr-defined]
    seats = range(len(case.matches[0].seat_names))
    drawn = [{seat: tuple(rng.integers(0, sizes).tolist()) for seat in seats} for _ in range(256)]
    steps, began_cpu_s, began_s = 0, cpu_s(), time.perf_counter()
    while (taken_s := time.perf_counter() - began_s) < seconds:
        actions = [
            drawn[(steps * len(case.matches) + number) % len(drawn)]
            for number in range(len(case.matches))
        ]
        for one, chosen in zip(case.matches, actions, strict=True):
            one.begin(chosen)
        for one, chosen in zip(case.matches, actions, strict=True):
            one.step(chosen)
        steps += 1
    tics = steps * skip * len(case.matches)
    return Timing(tics / taken_s, (cpu_s() - began_cpu_s) / tics * 1e6)


def cpu_s() -> float:
    """CPU time of this process and all its matches; matches that do not play use none."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (own, *own.children(recursive=True)))


def summary(rounds: dict[str, list[Timing]]) -> dict[str, Any]:
    """Medians over the rounds, gains and shares."""
    speed = {
        name: statistics.median(timing.tics_per_s for timing in timings)
        for name, timings in rounds.items()
    }
    for name in speed:
        if name.startswith("alone"):
            speed[name] /= 2
    gains = {
        name.removesuffix(" helper"): speed[name] / speed[name.replace("helper", "barrier")]
        for name in speed
        if name.endswith("helper")
    }
    return {
        "tics_per_s": {name: round(value) for name, value in speed.items()},
        "cpu_us_per_tic": {
            name: round(statistics.median(timing.cpu_us_per_tic for timing in timings))
            for name, timings in rounds.items()
        },
        "gain": {name: round(value, 2) for name, value in gains.items()},
        "share": {
            scenario: round(speed[f"duel {scenario} helper"] / speed[f"alone {scenario}"], 2)
            for scenario in SCENARIOS
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0, help="per case and round")
    parser.add_argument("--frame-skip", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    all_cases = cases(options.frame_skip)
    rounds: dict[str, list[Timing]] = {case.name: [] for case in all_cases}
    try:
        for number in range(options.rounds):
            for case in all_cases:
                rounds[case.name].append(timed(case, options.seconds, options.frame_skip))
            print(f"round {number + 1} of {options.rounds}", flush=True)
    finally:
        for one in {id(one): one for case in all_cases for one in case.matches}.values():
            one.close()
    report = {
        **summary(rounds),
        "rounds": {
            name: [round(timing.tics_per_s) for timing in timings]
            for name, timings in rounds.items()
        },
        "settings": {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "frame_skip": options.frame_skip,
        },
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[0],
            "system": platform.platform(),
            "vizdoom": metadata.version("vizdoom"),
        },
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
    }
    for title in ("tics_per_s", "cpu_us_per_tic", "gain", "share"):
        print(title, *(f"  {name:28} {value}" for name, value in report[title].items()), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
