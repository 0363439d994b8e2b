"""Measures how long processes wait for each other with one set of tables and with two.

    python -m bench.idle_shares --json idle_shares.json

One worker has TABLES games whose steps sleep for --step-ms each, so all of them take T, and one
policy server sleeps for d at each call (`runtime.inference_delay_s`), whatever the rows. No core is
needed. With one set of tables each side waits while the other works; with two, one is stepped while
the other is acted for (Stooke and Abbeel 2018, "Accelerated methods for deep reinforcement
learning", section 4.1). The time of one step of all tables is then

    one set    T + d
    two sets   the larger of T and 2 d

of which a worker waits for all but T, and a server for all but d for each set. With two sets a
rollout of STEPS steps has a beginning and an end at which only one side works, which take d or
T / 2 of it, whichever is shorter. Systems are a rhythm and a number of sets, all in `central`:
`async` with one and with two (double buffering), `sync` and `alternating`. For each --ratio of d to
T the time of a step and both idle shares are told beside their laws. What a step takes beside
sleeping, `own_s`, is measured with games and servers that do not sleep, and added to the worker's
time.

The command ends with 1 where a time is off by more than 10 %, or an idle share by more than a tenth
of itself and 0.02. Run it on a machine with nothing else to do.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.memory import MemorySink
from bench.stragglers import GAME
from bench.throughput import hardware
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.files import write_whole
from pbt.runtime.build import build_engine
from pbt.runtime.engine import Engine
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore

TABLES, STEPS = 8, 16
# Rhythm and sets of tables.
SYSTEMS = (("async", 1), ("async", 2), ("sync", 1), ("alternating", 2))
TOLERANCE, NEAR_ZERO = 0.1, 0.02


class Moment(NamedTuple):
    """What had been done at a moment: rows, and seconds of work by name of a process."""

    time_s: float
    rows: int
    waited_s: float
    served_s: float


class Window:
    """Follows a run from the end of its warm-up to the end of its measurement, and stops it."""

    def __init__(self, warmup_s: float, seconds: float) -> None:
        self._warmup_s, self._seconds = warmup_s, seconds
        self.moments: list[Moment] = []
        self._due_s: float | None = None
        self._rows = 0

    def stop_requested(self) -> bool:
        return len(self.moments) == 2

    def look(self, engine: Engine) -> None:
        """Take a moment when it is due, at the first rows that are told of then."""
        rows = engine.rows_produced()
        changed, self._rows = rows != self._rows, rows
        if self._due_s is None and rows:
            self._due_s = time.monotonic() + self._warmup_s
        if self._due_s is None or not changed or time.monotonic() < self._due_s:
            return
        stages = {one.name: one.stage_s for one in engine.processes()}
        waited, served = stages["worker-0"]["wait"], stages["server-0"]["infer"]
        self.moments.append(Moment(time.monotonic(), rows, waited, served))
        self._due_s = time.monotonic() + self._seconds


def config_of(rhythm: str, sets: int, step_s: float, delay_s: float) -> RunConfig:
    table = {
        "env": {"name": GAME, "options": {"mean_ms": 1000.0 * step_s, "shape": 0.0}},
        "population": {"members": 1},
        "model": {"hidden": [16]},
        "sampling": {"environments": TABLES, "rollout_steps": STEPS},
        "learning": {"batch_steps": TABLES * STEPS, "minibatches": 1, "epochs": 1},
        "pbt": {"enabled": False},
        "evaluation": {"share": 0.0, "final_games": 0},
        "runtime": {
            "placement": "central",
            "workers": 1,
            "groups": sets,
            "sync": rhythm,
            "sync_steps": STEPS,
            "inference_delay_s": delay_s,
        },
    }
    return resolve(config_from_table(table, "bench.idle_shares"), cores=2, cuda=False)


def measured(
    rhythm: str, sets: int, step_s: float, delay_s: float, seconds: float
) -> dict[str, float]:
    """Seconds of a step of all tables, and the idle shares of the worker and the server."""
    config, window = config_of(rhythm, sets, step_s, delay_s), Window(seconds / 4, seconds)
    with tempfile.TemporaryDirectory() as folder:
        spec = registry.spec(config.env.name, allow_files=True, measured=(False, False))
        store = FileSnapshotStore(Path(folder))
        engine = build_engine(config, spec, MemorySink(), store, window)
        try:
            engine.controller.start()
            engine.run(lambda: window.look(engine))
        finally:
            engine.close()
    first, last = window.moments
    passed = last.time_s - first.time_s
    return {
        "step_s": passed * TABLES / (last.rows - first.rows),
        "worker": (last.waited_s - first.waited_s) / passed,
        "server": 1.0 - (last.served_s - first.served_s) / passed,
    }


def law(rhythm: str, sets: int, playing_s: float, delay_s: float, own_s: float) -> dict[str, float]:
    """What the times of this module's description give."""
    step_s = own_s + (playing_s + delay_s if sets == 1 else max(playing_s, sets * delay_s))
    if rhythm == "alternating":
        step_s += min(delay_s, playing_s / 2.0) / STEPS
    return {
        "step_s": step_s,
        "worker": 1.0 - (playing_s + own_s) / step_s,
        "server": 1.0 - sets * delay_s / step_s,
    }


def follows(found: dict[str, float], expected: dict[str, float]) -> bool:
    """Whether a measurement is within the stated distance of its law."""
    times = abs(found["step_s"] / expected["step_s"] - 1.0) <= TOLERANCE
    shares = (abs(found[name] - expected[name]) for name in ("worker", "server"))
    bounds = (max(NEAR_ZERO, TOLERANCE * expected[name]) for name in ("worker", "server"))
    return times and all(off <= bound for off, bound in zip(shares, bounds, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratio", type=float, nargs="+", default=[0.2, 0.5, 1.0, 2.0, 5.0])
    parser.add_argument("--step-ms", type=float, default=8.0, help="of one game")
    parser.add_argument("--steps", type=int, default=64, help="of all games, in a measurement")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    step_s = options.step_ms / 1000.0
    playing_s = TABLES * step_s
    told: dict[str, Any] = {"hardware": hardware(), "tables": TABLES, "playing_s": playing_s}
    told["points"] = []
    for rhythm, sets in SYSTEMS:
        own_s = measured(rhythm, sets, 0.0, 0.0, 3.0)["step_s"]
        for ratio in options.ratio:
            delay_s = ratio * playing_s
            expected = law(rhythm, sets, playing_s, delay_s, own_s)
            seconds = options.steps * expected["step_s"]
            found = measured(rhythm, sets, step_s, delay_s, seconds)
            point = {"rhythm": rhythm, "sets": sets, "ratio": ratio, "own_s": own_s}
            point |= {"measured": found, "law": expected, "follows": follows(found, expected)}
            told["points"].append(point)
            write_whole(options.json, json.dumps(told, indent=1) + "\n")
            print(json.dumps(point), flush=True)
    return int(not all(point["follows"] for point in told["points"]))


if __name__ == "__main__":
    sys.exit(main())
