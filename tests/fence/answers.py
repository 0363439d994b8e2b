"""The keys of what commands print with `--json`, taken from calls over the stored data directory.

A list of texts such as ``arena league: rows[].elo``: the call, and the path of a key in what it
printed. The calls of `QUICK` take seconds; `SERVED` needs a service that trains, `SLOW` Doom.
"""

import csv
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.fence.program import call

COMPARED = "--set-b learning.gamma=0.9 --frames 300 --seeds 1 --games 4"
GUESTS = "'exec:./beside/bot.py 1' 'exec:./beside/bot.py 2'"
LONG = "--set stop_at_frames=1_000_000"
THREE = "--env mpe --set one_role=true --set scenario=simple_spread"
QUICK = {
    "anchor": "anchor kept/m1",
    "compare": f"compare beside/versus.toml beside/versus.toml {COMPARED}",
    "config show": "config show beside/kept.toml",
    "config show, origins": "config show beside/kept.toml --origin",
    "delete": "delete versus-a1 --dry-run",
    "doctor": "doctor",
    "env check": "env check tictactoe --seeds 1",
    "env list": "env list",
    "evaluate": "evaluate kept/m0 random --episodes 2",
    "evaluate, points": "evaluate doom/m0 --episodes 2",
    "export": "export kept/m0 --out m0.safetensors",
    "films": "films doom",
    "games": "games kept --kind evaluation",
    "import": "import beside/friend.safetensors --name again",
    "league": "league kept",
    "league, returns": "league doom",
    "lineage": "lineage kept/m0",
    "match": "match kept/m0 kept/m1 --games 2 --sprt 0,100 --assert score>=0",
    "match, one seat": "match random random --env cartpole --games 2",
    "match, three seats": f"match random {GUESTS} {THREE} --objective win --games 3",
    "matrix": "matrix kept",
    "metrics": "metrics kept",
    "populations": "populations",
    "replay": "replay match:1:0",
    "rounds list": "rounds list kept",
    "status": "status kept",
    "stop": "stop kept",
    "tournament": "tournament kept/m0 random --games 2",
    "verify": "verify kept",
    "train": "train beside/kept.toml --name fresh --set stop_at_frames=400",
}
"""What is called, by a name: in this order, in the folder that holds `beside` and `data`."""
SERVED = {
    "population create": f"population create beside/served.toml --name asked {LONG}",
    "population start": "population start asked",
    "population status": "population status asked",
    "population pause": "population pause asked",
    "population join": "population join asked",
    "population leave": "population leave asked m0",
    "population set": "population set asked evaluation.share=0.2",
    "population resume": "population resume asked",
    "population stop": "population stop asked",
    "population list": "population list",
    "population logs": "population logs asked",
    "population delete": "population delete asked --yes",
    "open": "open --no-browser",
}
"""In this order, while a service runs."""
SLOW = {
    "watch": "watch doom/m0 --games 1 --out film.mp4",
    "train, points": "train beside/doom.toml --name doomed --set stop_at_frames=400",
}
WITHOUT_DATA = ("config", "env")
"""Commands that take no `--data`."""
NAMED_BY_DATA = {
    "dropped", "shares", "stage_s", "stage_seconds", "env_options", "origins", "differences",
    "values", "hyperparams", "rewards", "config",
}  # fmt: skip
"""Below these stand names that depend on the run, or the keys of a config, listed elsewhere."""
START_S = 60.0


def answer(line: str) -> Any:
    """What the call printed with `--json`."""
    words = shlex.split(line)
    where = () if words[0] in WITHOUT_DATA else ("--data", "data")
    done = call(*words, "--json", *where)
    assert done.out, f"arena {line}: exit code {done.code}: {done.said}"
    return json.loads(done.out)


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Every key below a JSON value, by its path; `[]` stands for any element of a list."""
    if isinstance(value, dict):
        for name, entry in value.items():
            below = f"{path}.{name}" if path else str(name)
            yield below
            if name not in NAMED_BY_DATA:
                yield from keys(entry, below)
    elif isinstance(value, list):
        for entry in value:
            yield from keys(entry, f"{path}[]")


def json_keys(calls: Mapping[str, str]) -> set[str]:
    """Make the calls, and tell which keys they printed."""
    return {f"arena {name}: {key}" for name, line in calls.items() for key in keys(answer(line))}


@contextmanager
def service() -> Iterator[None]:
    """`arena serve` over `data`, in a process of its own."""
    words = ["serve", "--port", "0", "--soft-disk-gb", "0", "--hard-disk-gb", "0", "--data", "data"]
    with Path("serve.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "arena", *words], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_S
        while call("population", "list", "--data", "data").code:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(START_S)


def curves(population: str) -> set[str]:
    """Names of its training curves, and of the columns that say where its time went."""
    found = {f"curve {name}" for row in answer(f"metrics {population}") for name in row["values"]}
    printed = call("metrics", population, "--telemetry", "--data", "data").out
    for column in next(csv.reader([printed.partition("\n")[0]])):
        kind, dot, name = column.rpartition(".")
        if kind != "dropped":
            # Before the dot stands what the processes do, which depends on the placement.
            found.add(f"telemetry *.{name}" if dot else f"telemetry {column}")
    return found


def league() -> set[str]:
    """Tables and columns of the league, as it is after a command that writes."""
    with closing(sqlite3.connect("data/league.db")) as database:
        asked = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        rows = database.execute(f"{asked} WHERE m.type = 'table'").fetchall()
    return {f"{table}.{column}" for table, column in rows if not table.startswith("sqlite_")}


def files(population: str) -> set[str]:
    """Of the data directory and of one population; numbers, hashes, names are left out.

    A checkpoint is one folder: what lies in it may be of another format one day.
    """
    data = Path("data")
    found = {path for path in data.iterdir() if path.is_file()}
    found |= {path for path in (data / "populations" / population).rglob("*") if path.is_file()}
    return {_general(path.relative_to(data).as_posix(), population) for path in found}


def _general(path: str, population: str) -> str:
    plain = re.sub(r"[0-9a-f]{64}", "HASH", path.replace(f"/{population}/", "/NAME/"))
    return re.sub(r"/checkpoints/N/.*", "/checkpoints/N/", re.sub(r"\d+", "N", plain))
