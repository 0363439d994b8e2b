"""Measures how fast connect four is played and learned, layer by layer, in one interleaved run.

    python -m bench.throughput --rounds 7 --seconds 4 --json throughput.json

Each layer is timed for --seconds per round, in turn, so that a slow moment of the machine hits all
of them alike:
  raw_env      PettingZoo's raw environment: last(), a random legal action, step()
  env          the same with PettingZoo's own wrappers
  adapter      our adapter alone, with the same random play
  simulation   rollout worker and policy server with the scripted random player in every seat:
               everything but networks and learning
  training     the population of a shipped config of connect four, from its first frame on
A frame is one move of one agent.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pettingzoo.classic import connect_four_v3

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.config.load import load_config
from pbt.envs import registry
from pbt.envs.actions import GamePacking
from pbt.envs.contract import Game, SeatTurn
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import PlayerRef
from pbt.runtime.assembly import assemble
from pbt.runtime.serial import SerialEngine
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, SeatPlan
from pbt.transport.slab import Slab, role_layout

ROOT = Path(__file__).resolve().parents[1]
GAME = "connect_four"
Timed = Callable[[float], float]
"""Measures frames per second over at least the given number of seconds."""


def random_legal(mask: NDArray[Any], rng: np.random.Generator) -> int:
    """A random legal action; all are equally likely.

    `rng.choice` does the same, but takes longer than the step of a light game.
    """
    legal = np.flatnonzero(mask)
    return int(legal[int(rng.random() * len(legal))])


def pettingzoo_speed(make: Callable[[], object]) -> Timed:
    """The speed of a PettingZoo environment with random legal actions."""

    def run(seconds: float) -> float:
        env, rng, frames, started = make(), np.random.default_rng(0), 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            env.reset(seed=frames)  # type: ignore[attr-defined]
            for _ in env.agent_iter():  # type: ignore[attr-defined]
                observation, _, terminated, truncated, _ = env.last()  # type: ignore[attr-defined]
                if terminated or truncated:
                    env.step(None)  # type: ignore[attr-defined]
                    continue
                action = random_legal(observation["action_mask"], rng)
                env.step(action)  # type: ignore[attr-defined]
                frames += 1
        return frames / (time.perf_counter() - started)

    return run


def adapter_speed(seconds: float, name: str = GAME, **options: object) -> float:
    """Frames per second of a registered game with random legal actions."""
    game, rng, frames, started = (
        registry.spec(name).make(**options),
        np.random.default_rng(0),
        0,
        time.perf_counter(),
    )
    specs = GamePacking.of(game).specs

    def choose(turn: SeatTurn) -> tuple[int, ...]:
        if turn.mask is None:
            return tuple(int(rng.random() * size) for size in specs[turn.seat].choices)
        return (random_legal(turn.mask, rng),)

    while time.perf_counter() - started < seconds:
        turns = game.reset(frames)
        while acting := [turn for turn in turns if not turn.over]:
            turns = game.step({turn.seat: choose(turn) for turn in acting})
            frames += len(acting)
    return frames / (time.perf_counter() - started)


def simulation_speed(tables: int, make: Callable[[], Game] | None = None) -> Timed:
    """The speed of a rollout worker and a policy server with random players.

    make: makes the game of a table; None: as it is played in a training
    """

    def run(seconds: float) -> float:
        made = make or registry.spec(GAME).make
        game = made()
        layout = role_layout(game.roles[0], game.reward_terms, 16, 0)
        slab = Slab(layout, 2 * tables)
        server = PolicyServer([slab], 1)
        server.attach(0, ScriptedPolicy(layout.actions.random_act))
        seat = SeatPlan(PlayerRef("scripted", "random"), 0, 0, False)
        counts = [0] * tables

        def next_game(table: int) -> GamePlan:
            counts[table] += 1
            return GamePlan(
                counts[table], "evaluation", 0, (seat, seat), ("bench", table, counts[table])
            )

        worker = RolloutWorker(
            made, Partition.whole(tables, [slab.slots]), [slab], GamesFrom(next_game), 1
        )
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            for ready in server.serve_all(worker.requests()):
                worker.receive(ready)
            worker.advance()
        return server.rows_served / (time.perf_counter() - started)

    return run


class Training:
    """One population of connect four, which goes on training from round to round.

    Raises: SystemExit for a config of another game.
    """

    def __init__(self, config_name: str, threads: int | None) -> None:
        config = load_config(
            config_name,
            [
                "stop_at_frames=1_000_000_000",
                *([f"runtime.torch_threads={threads}"] if threads else []),
            ],
        )
        if config.env.name != GAME:
            advice = (
                "give a config of connect four, such as demo; for other games see "
                "bench/placements.py and bench/peers.py"
            )
            raise SystemExit(
                f"--config {config_name}: it trains {config.env.name}, but all other layers play "
                f"{GAME}; {advice}"
            )
        sink, store = MemorySink(), MemoryStore()
        self.population = assemble(config, registry.spec(GAME), sink, store)
        self.population.controller.start()
        self.engine = SerialEngine(self.population, sink, NoControl())
        self._threads = config.runtime.torch_threads
        for _ in range(20):
            self.engine.turn()

    def __call__(self, seconds: float) -> float:
        torch.set_num_threads(self._threads)
        before, started = self._frames(), time.perf_counter()
        while time.perf_counter() - started < seconds:
            self.engine.turn()
        return (self._frames() - before) / (time.perf_counter() - started)

    def _frames(self) -> int:
        return sum(handle.learner.frames for handle in self.population.learners)


def hardware() -> dict[str, object]:
    """The machine, the versions and the commit of a measurement."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown",
    )
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    ).stdout.strip()
    cores = len(os.sched_getaffinity(0))
    versions = {
        name: _version(name) for name in ("torch", "numpy", "gymnasium", "mujoco", "vizdoom")
    }
    return {
        "cpu": model,
        "cores": cores,
        "python": platform.python_version(),
        **versions,
        "commit": commit or "unknown",
    }


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of a benchmark, without paths of this machine."""
    return {
        name: value
        for name, value in vars(options).items()
        if name != "json" and not isinstance(value, Path)
    }


def _version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="demo")
    parser.add_argument(
        "--threads",
        type=int,
        default=None,
        help="torch threads of the training layer; default: as the config has it",
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    training = Training(options.config, options.threads)
    layers: dict[str, Timed] = {
        "raw_env": pettingzoo_speed(connect_four_v3.raw_env),
        "env": pettingzoo_speed(connect_four_v3.env),
        "adapter": adapter_speed,
        "simulation": simulation_speed(training.population.blueprint.tables),
        "training": training,
    }
    speeds: dict[str, list[float]] = {name: [] for name in layers}
    for done in range(options.rounds):
        for name, timed in layers.items():
            speeds[name].append(timed(options.seconds))
        print(
            f"round {done + 1}: "
            + "  ".join(f"{name} {values[-1]:,.0f}" for name, values in speeds.items()),
            flush=True,
        )
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    stages = {
        name: seconds / sum(training.engine.stage_s.values())
        for name, seconds in training.engine.stage_s.items()
    }
    report = {
        "hardware": hardware(),
        "config": options.config,
        "frames_per_s": {
            name: {"median": medians[name], "min": min(values), "max": max(values)}
            for name, values in speeds.items()
        },
        "adapter_share_of_raw_env": statistics.median(
            a / b for a, b in zip(speeds["adapter"], speeds["raw_env"], strict=True)
        ),
        "adapter_share_of_env": statistics.median(
            a / b for a, b in zip(speeds["adapter"], speeds["env"], strict=True)
        ),
        "training_share_of_simulation": statistics.median(
            a / b for a, b in zip(speeds["training"], speeds["simulation"], strict=True)
        ),
        "training_time_shares": stages,
    }
    print(json.dumps(report, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
