"""What becomes of the stored populations when they are resumed in the placement `serial`.

On one machine, with the same libraries, equal programs get equal bits: weights, games, rounds. So
two checkouts can be compared::

    python -m tests.fence.resumed /tmp/old            # this one with a checkout of another commit

`resumed.json` has what programs since 5609f7cf got, which draw the games of a new start by streams
2, by machine: tests hold today's program against it where they run on one of these. Versions at
first actions are left out, since 383d2e1 noted them only in some games. To add a machine::

    cd /tmp && PYTHONPATH=/tmp/old:/path/to/this/checkout python -m tests.fence.resumed --record

A change of formulas, of random streams or of the order of work changes the bits. Then the entries
go, with a line in CHANGELOG.md, and `--record` writes those of the commit that changed them.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from tests.fence.answers import answer
from tests.fence.record import HERE, stored_data
from tests.league_rows import league_rows

POPULATIONS = ("kept", "push", "doom")
RESUMED = HERE / "resumed.json"
GAMES = """
SELECT g.environment, g.count, g.kind, g.seed, g.steps, g.end_reason, hex(g.trajectory_hash),
    s.seat, s.place, s.returns, s.version_end
FROM games g JOIN incarnations i ON i.id = g.incarnation_id JOIN populations p
    ON p.id = i.population_id JOIN game_seats s ON s.game_id = g.id
WHERE p.name = ? AND g.superseded = 0 ORDER BY i.number, g.environment, g.count, s.seat
"""
ROUNDS = """
SELECT r.member, r.round, r.frames, r.scores, r.directive, r.verdict
FROM rounds r JOIN incarnations i ON i.id = r.incarnation_id JOIN populations p
    ON p.id = i.population_id
WHERE p.name = ? AND r.superseded = 0 ORDER BY r.member, r.round
"""

Facts = dict[str, str]


def resume(population: str) -> Facts:
    """Train it to its end in the folder of the stored data; what came of it, as hashes."""
    weights = answer(f"train --resume {population}")["weights_sha256"]
    with closing(league_rows("data/league.db")) as league:
        games = league.execute(GAMES, (population,)).fetchall()
        rounds = league.execute(ROUNDS, (population,)).fetchall()
    return {"weights": weights, "games": _digest(games), "rounds": _digest(rounds)}


def _digest(rows: list[tuple[object, ...]]) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def machine() -> str:
    """What the bits depend on: the processor with what it can do, and the libraries."""
    known = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name, flags = (re.findall(rf"^{key}\s*: (.*)$", known, re.M) for key in ("model name", "flags"))
    can = hashlib.sha256(" ".join(flags[:1]).encode()).hexdigest()[:8]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "vizdoom"))
    return f"{' '.join(name[:1])} {can}, {libraries}"


def recorded(population: str) -> Facts | None:
    """What was got on this machine before; None where it was never recorded."""
    found: dict[str, dict[str, Facts]] = json.loads(RESUMED.read_text())
    return found.get(machine(), {}).get(population)


def resume_all() -> dict[str, Facts]:
    """By the program that is imported here."""
    with stored_data():
        return {population: resume(population) for population in POPULATIONS}


def _by(tree: Path) -> dict[str, Facts]:
    """By the program of a checkout."""
    paths = os.pathsep.join((str(tree), str(HERE.parent.parent)))
    words = [sys.executable, "-P", "-m", "tests.fence.resumed", "--facts"]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Facts] = json.loads(done.stdout)
    return found


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    (word,) = sys.argv[1:]
    if word == "--facts":
        print(json.dumps(resume_all()))
    elif word == "--record":
        entries = json.loads(RESUMED.read_text()) if RESUMED.exists() else {}
        RESUMED.write_text(json.dumps({**entries, machine(): resume_all()}, indent=1) + "\n")
    else:
        raise SystemExit(not compare(_by(Path(word).resolve()), _by(HERE.parent.parent)))


def compare(old: dict[str, Facts], new: dict[str, Facts]) -> bool:
    """Print what is equal and what is not."""
    equal = True
    for population, facts in old.items():
        for what, value in facts.items():
            same = value == new[population][what]
            print(f"{population} {what}: {'equal' if same else 'different'}")
            equal = equal and same
    return equal


if __name__ == "__main__":
    main()
