"""Checks that equal seeds and actions make equal Doom duels, and that players keep in step.

    python -m bench.doom_in_step --runs 20 --steps 100_000 --json doom_in_step.json

Both checks run with the library in the engines (mode "helper") and without it ("barrier").

Equal games: --runs times a match is started afresh and plays --games games of --tics tics with the
same seeds and the same random actions. A game's trace is everything that both players saw, measured
and were rewarded with. Reported for each mode: the number of different traces of the first game and
of all games together, how many runs had the most frequent one, whether both modes made the same
first game, and why matches ended, where any did.

In step: one match plays --steps steps of random actions at each of --skips, in games of --step-tics
tics. After every step each engine reports its tic; the match compares them, as it does in a
training, and ends when they differ. Reported: steps, games, and tics by player; where a match
ended, the step and the reason, after which the next skip or mode is tried.

This measures correctness, not speed: other work on the machine is welcome, since it varies the
order in which engines run. Exit code 1 when a match ended, or games differed.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from bench.throughput import hardware, settings_of
from pbt.envs.contract import SeatTurn
from pbt.envs.doom.match import DoomMatch
from pbt.envs.doom.match_options import MatchOptions
from pbt.errors import EnvCrash
from pbt.native import doom_preload

MODES = ("helper", "barrier")
Actions = dict[int, tuple[int, ...]]


def match(options: argparse.Namespace, mode: str, skip: int, tics: int) -> DoomMatch:
    """A match of one map and mode, not started yet."""
    return DoomMatch(
        MatchOptions(
            scenario=options.scenario,
            lock_step=mode,
            frame_skip=skip,
            max_tics=tics,
            deadline_s=30,
            start_deadline_s=60,
        )
    )


def random_actions(game: DoomMatch, rng: np.random.Generator) -> Actions:
    """A random action for every seat."""
    sizes = game.roles[0].action_space.nvec  # type: ignore[attr-defined]
    return {seat: tuple(rng.integers(0, sizes).tolist()) for seat in range(len(game.seat_names))}


# --- equal games ----------------------------------------------------------------------------------


def traces(options: argparse.Namespace, mode: str) -> tuple[str, str]:
    """(trace of the first game, trace of all games) of a fresh match. Raises: EnvCrash."""
    with closing(match(options, mode, options.frame_skip, options.tics)) as game:
        hashes = [trace(game, seed) for seed in range(options.games)]
    return hashes[0], " ".join(hashes)


def trace(game: DoomMatch, seed: int) -> str:
    """Hash of one game of random actions, which depend on the seed."""
    rng, digest = np.random.default_rng(seed), hashlib.blake2b(digest_size=8)
    turns = game.reset(seed)
    add(digest, turns)
    while not turns[0].over:
        turns = game.step(random_actions(game, rng))
        add(digest, turns)
    return digest.hexdigest()


def add(digest: "hashlib.blake2b", turns: list[SeatTurn]) -> None:
    """Add everything that the turns show to the hash."""
    for turn in turns:
        digest.update(
            turn.observation["screen"].tobytes()
            + turn.observation["variables"].tobytes()
            + repr((turn.rewards, turn.tics)).encode()
        )


def equal_games(options: argparse.Namespace, mode: str) -> dict[str, Any]:
    """Play the runs of a mode and count their different traces."""
    first, whole, crashes = Counter[str](), Counter[str](), list[str]()
    for number in range(1, options.runs + 1):
        try:
            one, every = traces(options, mode)
        except EnvCrash as error:
            crashes.append(str(error))
        else:
            first[one] += 1
            whole[every] += 1
        say(
            f"{mode}: run {number} of {options.runs}, {len(first)} different first games, "
            f"{len(whole)} different runs, {len(crashes)} ended"
        )
    (first_trace, first_often), (_, often) = (
        counts.most_common(1)[0] if counts else (None, 0) for counts in (first, whole)
    )
    return {
        "runs": options.runs,
        "first_games": len(first),
        "runs_with_the_usual_first_game": first_often,
        "usual_first_game": first_trace,
        "whole_runs": len(whole),
        "runs_with_the_usual_games": often,
        "crashes": crashes,
    }


# --- in step --------------------------------------------------------------------------------------


def in_step(options: argparse.Namespace, mode: str, skip: int) -> dict[str, Any]:
    """Play one match of many steps.

    "crash" in the report is the step in which the match ended, from 1, and why; None if it did not.
    """
    rng, steps, games, tics = np.random.default_rng(skip), 0, 0, np.zeros(2, np.int64)
    crash: dict[str, Any] | None = None
    with closing(match(options, mode, skip, options.step_tics)) as game:
        try:
            while steps < options.steps:
                turns = game.reset(games)
                games += 1
                now = np.array(game.engine_tics())
                while not turns[0].over and steps < options.steps:
                    turns = game.step(random_actions(game, rng))
                    steps += 1
                    tics += np.array(game.engine_tics()) - now
                    now = np.array(game.engine_tics())
                if games % 10 == 0:
                    say(f"{mode}, skip {skip}: {steps:,} of {options.steps:,} steps")
        except EnvCrash as error:
            crash = {"step": steps + 1, "text": str(error)}
            say(f"{mode}, skip {skip}: the match ended in step {steps + 1:,}: {error}")
    return {"steps": steps, "games": games, "tics_by_player": tics.tolist(), "crash": crash}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def lines(report: dict[str, Any]) -> list[str]:
    """The report as text."""
    texts = []
    for mode, games in report["equal_games"].items():
        runs = games["runs"]
        usual = (
            f"{games['runs_with_the_usual_first_game']} of {runs} had the usual first "
            f"game, {games['runs_with_the_usual_games']} all usual games"
        )
        texts.append(
            f"equal games, {mode}: {games['first_games']} different first games and "
            f"{games['whole_runs']} different runs of {runs}; {usual}"
        )
        texts += [f"equal games, {mode}: A MATCH ENDED: {crash}" for crash in games["crashes"]]
    if report["same_first_game"] is not None:
        texts.append(
            "the usual first game is the same with the library and without: "
            f"{'yes' if report['same_first_game'] else 'NO'}"
        )
    for mode, by_skip in report["in_step"].items():
        for skip, figures in by_skip.items():
            tics = " and ".join(f"{tics:,}" for tics in figures["tics_by_player"])
            crash = figures["crash"]
            ended = (
                ""
                if crash is None
                else f"; THE MATCH ENDED in step {crash['step']:,}: {crash['text']}"
            )
            texts.append(
                f"in step, {mode}, skip {skip}: {figures['steps']:,} steps, {tics} tics{ended}"
            )
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--scenario", default="multi_duel")
    parser.add_argument(
        "--runs", type=int, default=20, help="fresh matches of each mode; 0 for none"
    )
    parser.add_argument("--games", type=int, default=2, help="of each run")
    parser.add_argument("--tics", type=int, default=350, help="of each of these games")
    parser.add_argument("--frame-skip", type=int, default=2, help="in these games")
    parser.add_argument(
        "--steps", type=int, default=100_000, help="of each mode and skip; 0 for none"
    )
    parser.add_argument("--skips", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument(
        "--step-tics", type=int, default=2100, help="of a game in which steps are counted"
    )
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if "helper" in options.modes and doom_preload() is None:
        raise SystemExit(
            "the library is not compiled here; install a C compiler and then pbt-arena "
            "again, or give --modes barrier"
        )
    games = {mode: equal_games(options, mode) for mode in options.modes if options.runs}
    steps = {
        mode: {skip: in_step(options, mode, skip) for skip in options.skips}
        for mode in options.modes
        if options.steps
    }
    usual = [found["usual_first_game"] for found in games.values()]
    report = {
        "equal_games": games,
        "same_first_game": len(set(usual)) == 1 if len(usual) > 1 else None,
        "in_step": steps,
    }
    print("\n".join(lines(report)))
    if options.json is not None:
        options.json.write_text(
            json.dumps(
                {"hardware": hardware(), "settings": settings_of(options), **report}, indent=1
            )
            + "\n",
            encoding="utf-8",
        )
    unequal = report["same_first_game"] is False or any(
        found["whole_runs"] > 1 for found in games.values()
    )
    crashed = any(found["crashes"] for found in games.values()) or any(
        figures["crash"] for mode in steps.values() for figures in mode.values()
    )
    if crashed or unequal:
        sys.exit(1)


if __name__ == "__main__":
    main()
