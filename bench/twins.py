"""Games in C against their twins in Python, over many random games.

    python -m bench.twins connect_four --games 1000000 --json bench/results/twins_connect_four.json

Both play the same actions, drawn uniformly from the mask. Every turn must be the same: seats,
rewards, ends, observations, masks; and every outcome. Games are played in chunks, each with a seed
of its own, on as many cores as asked for. A chunk is written to the file when it is done, and the
same call goes on from there. The first difference ends the program, with the actions before it.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.throughput import hardware
from pbt.envs.classic import connect_four, games
from pbt.envs.contract import Game, SeatTurn
from pbt.envs.native_games import NativeGame, NativeRules
from pbt.files import write_whole

TWINS: dict[str, tuple[NativeRules, Callable[..., Any]]] = {
    "connect_four": (connect_four.RULES, connect_four.TWIN),
    "tictactoe": (games.TICTACTOE_RULES, games.TICTACTOE_TWIN),
}
CHUNK = 5_000


class Chunk(NamedTuple):
    """Games that were compared, and the SHA-256 of all their actions."""

    number: int
    games: int
    decisions: int
    sha256: str


class DifferError(Exception):
    """The two games differ."""


def differences(native: Sequence[SeatTurn], twin: Sequence[SeatTurn]) -> list[str]:
    """How two lists of turns differ; [] where they do not.

    Masks of seats that act no more are not compared.
    """
    if len(native) != len(twin):
        return [f"{len(native)} turns, {len(twin)} of the twin"]
    found = []
    for one, other in zip(native, twin, strict=True):
        for name in ("seat", "rewards", "terminated", "truncated", "tics"):
            mine, its = getattr(one, name), getattr(other, name)
            if (list(mine) != list(its)) if name == "rewards" else (mine != its):
                found.append(f"{name} {mine}, {its} of the twin")
        seen, its = np.asarray(one.observation), np.asarray(other.observation)
        if seen.dtype != its.dtype or not np.array_equal(seen, its):
            found.append(f"seat {one.seat} sees something else")
        if not one.over and not np.array_equal(one.mask, other.mask):
            found.append(f"seat {one.seat} has another mask")
    return found


def play(native: Game, twin: Game, rng: np.random.Generator, seed: int) -> list[int]:
    """Play one game on both. Returns its actions. Raises: DifferError."""
    turns, others, actions = native.reset(seed), twin.reset(seed), list[int]()
    while True:
        if found := differences(turns, others):
            raise DifferError(f"game with seed {seed} after {actions}: {'; '.join(found)}")
        due = next((turn for turn in turns if not turn.over), None)
        if due is None:
            break
        assert due.mask is not None
        legal = np.flatnonzero(due.mask)
        actions.append(int(legal[int(rng.random() * len(legal))]))
        action = {due.seat: (actions[-1],)}
        turns, others = native.step(action), twin.step(action)
    if native.outcome() != twin.outcome():
        raise DifferError(f"game with seed {seed} after {actions}: another outcome")
    return actions


def chunk_of(name: str, number: int, count: int) -> Chunk:
    """Compare one chunk of games. Raises: DifferError."""
    rules, make = TWINS[name]
    native, twin, rng = NativeGame(rules), make(), np.random.default_rng([number, count])
    digest, decisions = hashlib.sha256(), 0
    for game in range(count):
        actions = play(native, twin, rng, number * count + game)
        digest.update(bytes([len(actions) % 256, *(action % 256 for action in actions)]))
        decisions += len(actions)
    return Chunk(number, count, decisions, digest.hexdigest())


def main() -> int:
    """Returns 1 when the two games differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", choices=sorted(TWINS))
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    done: dict[str, list[Any]] = {}
    if options.json.exists():
        done = json.loads(options.json.read_text(encoding="utf-8"))["chunks"]
    wanted = [one for one in range(options.games // CHUNK) if str(one) not in done]
    with ProcessPoolExecutor(options.processes) as pool:
        while numbers := wanted[: options.processes]:
            del wanted[: options.processes]
            futures = [pool.submit(chunk_of, options.game, number, CHUNK) for number in numbers]
            try:
                chunks = [future.result() for future in futures]
            except DifferError as error:
                print(error, file=sys.stderr)
                return 1
            done |= {str(chunk.number): list(chunk[1:]) for chunk in chunks}
            report = {"game": options.game, **hardware(), "games": 0, "chunks": done}
            report["games"] = sum(count for count, *_ in done.values())
            write_whole(options.json, json.dumps(report, indent=1) + "\n")
            print(f"{report['games']:,} games are the same", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
