"""Games in C against their twins in Python, over many random games.

    python -m bench.twins connect_four --games 1000000 --json bench/results/twins_connect_four.json

Both play the same actions, drawn uniformly from the mask. Every turn must be the same: seats,
rewards, ends, observations, masks; and every outcome. Games are played in chunks, each with a seed
of its own, on as many cores as asked for; those of OpenSpiel at many tables at once. A chunk is
written to the file when it is done, and the same call goes on from there. The first difference ends
the program, with the actions before it.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.throughput import hardware
from pbt.envs.adapters.openspiel import openspiel_game
from pbt.envs.adapters.openspiel_in_c import RULES
from pbt.envs.classic import connect_four, games
from pbt.envs.contract import Game, SeatTurn
from pbt.envs.groups import Turns
from pbt.envs.names import OPENSPIEL
from pbt.envs.native_games import Indices, NativeGame, NativeRules, NativeTables
from pbt.files import write_whole

if TYPE_CHECKING:
    from bench.spiel_tables import SeenTurns

TWINS: dict[str, tuple[NativeRules, Callable[..., Any]]] = {
    "connect_four": (connect_four.RULES, connect_four.TWIN),
    "tictactoe": (games.TICTACTOE_RULES, games.TICTACTOE_TWIN),
    **{name: (rules, partial(openspiel_game, name)) for name, rules in RULES.items()},
}
CHUNK, TABLES = 5_000, 50


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


class TogetherGames:
    """Games of OpenSpiel at many tables at once, in C and by OpenSpiel.

    actions  of every game, after it was played
    """

    def __init__(self, rules: NativeRules, tables: int) -> None:
        from bench.spiel_tables import SpielTables

        space, actions = rules.role.observation_space, rules.role.action_space
        self._shape, self._mask = space.shape or (), int(actions.n)  # type: ignore[attr-defined]
        self._native, self._twin = NativeTables(rules, tables), SpielTables(rules.name, tables)
        self._seeds = np.zeros(0, np.int64)
        self.actions: list[list[int]] = []

    def play(self, seeds: Indices, rng: np.random.Generator) -> None:
        """Play a game with each of the seeds, one at a table. Raises: DifferError."""
        every = np.arange(len(seeds))
        self._seeds, self.actions = seeds, [[] for _ in seeds]
        turns, masks = self._same(self._native.begin(every, seeds), self._twin.begin(every, seeds))
        while len(at := np.flatnonzero(~turns.over)):
            legal = masks[at].cumsum(axis=1, dtype=np.int64)
            places = (rng.random(len(at)) * legal[:, -1]).astype(np.int64)
            chosen = (legal > places[:, None]).argmax(axis=1)
            moves = turns.position[at], turns.seat[at], chosen
            for position, action in zip(moves[0].tolist(), chosen.tolist(), strict=True):
                self.actions[position].append(action)
            turns, masks = self._same(self._native.step(*moves), self._twin.step(*moves))
        outcomes = self._native.outcomes(every)
        for position, outcome in enumerate(outcomes):
            if outcome.ranking != self._twin.ranking(position):
                raise self._differ(position, "another outcome")

    def _same(self, turns: Turns, twin: "SeenTurns") -> tuple[Turns, NDArray[np.uint8]]:
        """The turns and masks, which are the same. Raises: DifferError."""
        for name, mine, its in zip(Turns._fields, turns, twin.turns, strict=True):
            if mine.shape != its.shape:
                raise DifferError(f"{len(mine)} turns, {len(its)} of the twin")
            if len(wrong := np.flatnonzero((mine != its).reshape(len(mine), -1).any(axis=1))):
                at = wrong[0]
                words = f"{name} {mine[at]}, {its[at]} of the twin"
                raise self._differ(int(turns.position[at]), words)
        observations = np.zeros((len(turns.seat), *self._shape), np.float32)
        masks = np.zeros((len(turns.seat), self._mask), np.uint8)
        at = np.flatnonzero(turns.seen)
        places = observations.ctypes.data, masks.ctypes.data
        self._native.observe(turns.position[at], turns.seat[at], at, *places)
        for mine, its in ((observations, twin.observations), (masks, twin.masks)):
            if mine.tobytes() == its.tobytes():
                continue
            bits = mine.reshape(len(mine), -1).view(np.uint8) != its.view(np.uint8)
            if len(wrong := np.flatnonzero(bits.any(axis=1))):
                words = "another mask" if mine is masks else "its seat sees something else"
                raise self._differ(int(turns.position[wrong[0]]), words)
        return turns, masks

    def _differ(self, position: int, words: str) -> DifferError:
        seed, actions = self._seeds[position], self.actions[position]
        return DifferError(f"game with seed {seed} after {actions}: {words}")


def chunk_of(name: str, number: int, count: int) -> Chunk:
    """Compare one chunk of games. Raises: DifferError."""
    rng, digest, decisions = np.random.default_rng([number, count]), hashlib.sha256(), 0
    for actions in compared(name, np.arange(number * count, (number + 1) * count), rng):
        digest.update(bytes([len(actions) % 256, *(action % 256 for action in actions)]))
        decisions += len(actions)
    return Chunk(number, count, decisions, digest.hexdigest())


def compared(name: str, seeds: Indices, rng: np.random.Generator) -> Iterator[list[int]]:
    """Compare games with these seeds. Returns the actions of each. Raises: DifferError."""
    rules, make = TWINS[name]
    if not name.startswith(OPENSPIEL):
        native, twin = NativeGame(rules), make()
        yield from (play(native, twin, rng, seed) for seed in seeds.tolist())
        return
    together = TogetherGames(rules, TABLES)
    for first in range(0, len(seeds), TABLES):
        together.play(seeds[first : first + TABLES], rng)
        yield from together.actions


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
