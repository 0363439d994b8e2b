"""Counts how old the weights were that acted in the rows of a long training in rounds.

    python -m bench.rhythm_lags --config doom_duel --seconds 600 --json rhythm_lags.json

In `hts` every row has to be one round old, and of no age in a member's first round; in `sync` none
has an age (docs/rhythms.md). Every row carries the round that acted in it, and learners tell the
least and the largest age of each update, in rounds, and the largest in versions of the weights. The
command ends with 1 where one is otherwise, or no update was made.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.memory import MemorySink
from bench.throughput import hardware
from pbt.config.load import load_config
from pbt.envs import registry
from pbt.files import write_whole
from pbt.runtime.build import build_engine
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore


class Until:
    """A ControlSource that stops a run at a moment."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def stop_requested(self) -> bool:
        return time.monotonic() >= self.end


def played(options: argparse.Namespace) -> tuple[MemorySink, int]:
    """A training of --seconds: what it told, and the rows that it learned from."""
    changes = [*options.settings, f"runtime.sync={options.sync}"]
    config = resolve(load_config(options.config, changes), cores=options.cores, cuda=False)
    sink = MemorySink()
    with tempfile.TemporaryDirectory() as folder:
        spec, store = registry.spec(config.env.name), FileSnapshotStore(Path(folder))
        engine = build_engine(config, spec, sink, store, Until(options.seconds))
        try:
            engine.controller.start()
            engine.run(lambda: None)
            return sink, engine.scheduler.rows_trained
        finally:
            engine.close()


def counted(sink: MemorySink, sync: str) -> dict[str, Any]:
    """How many updates had which ages, and how many of them break the rhythm's promise."""
    ages, broken = Counter[str](), 0
    seen = set[str]()
    for member, _, one in sink.points:
        least, most = one["round_lag_min"], one["round_lag_max"]
        ages[f"rounds {least:g} to {most:g}, versions up to {one['lag_max']:g}"] += 1
        first, expected = member not in seen, float(sync == "hts")
        good = least == most and (most == expected or (first and most == 0.0))
        broken += not (good and one["lag_max"] <= expected)
        seen.add(member)
    return {"updates": sum(ages.values()), "ages": dict(ages), "broken": broken}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default="doom_duel")
    parser.add_argument("--sync", choices=("sync", "hts"), default="hts")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--cores", type=int, default=2, help="that `auto` values may count on")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    sink, rows = played(options)
    found = counted(sink, options.sync)
    told = {"config": options.config, "settings": options.settings, "sync": options.sync}
    told |= {"seconds": options.seconds, "rows": rows, "games": len(sink.games), **found}
    write_whole(options.json, json.dumps({"hardware": hardware(), **told}, indent=1) + "\n")
    print(json.dumps(told))
    return int(bool(found["broken"]) or not found["updates"])


if __name__ == "__main__":
    sys.exit(main())
