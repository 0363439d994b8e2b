"""Counts false alarms of `arena verify`: real trainings go through what a chain records.

    python -m bench.false_alarms --short 300 --real 20 --raw bench/results/false_alarms.jsonl

Each run trains a population of its own and takes a random walk over: an edit at a resume, a kill
(SIGKILL at a random moment) and the resume after it, the loss of the newest checkpoint, a member
that joins, a member that leaves, folding at small limits, an anchor, an export with an import, a
match that is killed and resumed. Then it verifies the population, its matches and its imports.
Every difference is a false alarm, since nothing was altered. `--short` runs are serial trainings of
seconds, whose commands are forks of this process, which has loaded the program already; `--real`
runs use the placements of processes, start every command anew, and last minutes.

The walk of run N depends on N alone. The raw file gets one line for each run as it ends, and runs
that it has are not repeated, so the program can be stopped and started again at any time.
"""

import argparse
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from scipy.stats import beta

from arena.data.paths import league_path, population_paths
from arena.league.compaction import Folding
from arena.league.database import open_league
from arena.league.populations import find_population
from arena.league.summaries import list_members
from arena.training.settling import settled_by_all, settled_in
from bench.commands import Command, Done, start
from pbt.checkpoint.files import read_checkpoint

NAME = "run"
LIMIT_S = 1_800.0
SHORT = """
stop_at_frames = 1200
env = { name = "ENV" }
population = { members = 3 }
model = { hidden = [8] }
sampling = { environments = 8, rollout_steps = 8 }
learning.batch_steps = 128
learning.minibatches = 1
learning.epochs = 1
learning.learning_rate = 1e-3
learning.normalize_returns = false
pbt = { period_frames = 400, warmup_frames = 400, min_games = 5, score_games = 40, copy_gap = 0.0 }
evaluation = { share = 0.2, final_games = 4 }
snapshots = { every_frames = 250, keep_newest = 4, thinned_every = 3 }
checkpoints = { every_s = 0.5, keep = 2 }
runtime = { placement = "serial" }
"""
REAL = """
stop_at_frames = 60_000
env = { name = "ENV" }
population = { members = 4 }
model = { hidden = [32] }
sampling = { environments = 32, rollout_steps = 16 }
learning.batch_steps = 1024
learning.minibatches = 1
learning.epochs = 1
learning.learning_rate = 1e-3
learning.normalize_returns = false
pbt = { period_frames = 5_000, warmup_frames = 5_000, min_games = 10, copy_gap = 0.0 }
evaluation = { share = 0.1, final_games = 20 }
snapshots = { every_frames = 2_500, keep_newest = 10, thinned_every = 4 }
checkpoints = { every_s = 5.0, keep = 2 }
runtime = { placement = "PLACEMENT" }
"""
GAMES = ("connect_four", "tictactoe", "rock_paper_scissors")
PLACEMENTS = ("inline", "central")


class Walk:
    """One run.

    folder  of its data
    rng     decides its steps
    frames  at which the training now ends
    steps   what was done, in order
    """

    def __init__(self, folder: Path, number: int, *, real: bool) -> None:
        self.folder, self.data = folder, folder / "data"
        self.rng = random.Random(f"{'real' if real else 'short'} {number}")
        template = (REAL if real else SHORT).replace("ENV", GAMES[number % len(GAMES)])
        template = template.replace("PLACEMENT", PLACEMENTS[number % len(PLACEMENTS)])
        (folder / f"{NAME}.toml").write_text(template)
        self.frames, self._more = (60_000, 20_000) if real else (1_200, 500)
        self._real = real
        # Moments of kills; a whole command of a short run takes a second or two.
        self._kill_s = (1.5, 25.0) if real else (0.05, 2.0)
        self.steps: list[str] = []
        self.matches = 0

    def started(self, words: Sequence[str], out: IO[str], err: IO[str]) -> Command:
        words = [*words, "--data", str(self.data), "--json"]
        return start(words, out, err, forked=not self._real)

    def arena(self, *words: str) -> Done:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            code = self.started(words, out, err).wait(timeout=LIMIT_S)
            out.seek(0)
            err.seek(0)
            return Done(code, out.read(), err.read())

    def must(self, *words: str) -> str:
        done = self.arena(*words)
        if done.returncode != 0:
            raise RuntimeError(f"arena {' '.join(words)}: {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def killed(self, *words: str) -> None:
        """Start a command and kill it at a random moment, unless it ends before."""
        with open(self.folder / "killed.log", "a") as log:
            command = self.started(words, log, log)
            with suppress(subprocess.TimeoutExpired):
                command.wait(timeout=self.rng.uniform(*self._kill_s))
            command.kill()
            command.wait(timeout=LIMIT_S)
        if self._real:
            # Its children end with it, and the lock is free then.
            time.sleep(1.0)

    # --- steps ------------------------------------------------------------------------------------

    def begin(self) -> None:
        words = ("train", str(self.folder / f"{NAME}.toml"), "--name", NAME)
        if self.rng.random() < 0.5:
            self.killed(*words)
            if not population_paths(self.data, NAME).config.exists():
                self.must(*words)
                return
            self.resume()
        else:
            self.must(*words)

    def resume(self, *edits: str) -> None:
        sets = [word for edit in edits for word in ("--set", edit)]
        self.must("train", "--resume", NAME, *sets)

    def go_on(self) -> None:
        self.frames += self._more
        self.resume(f"stop_at_frames={self.frames}")

    def edit(self) -> None:
        self.frames += self._more
        chosen = self.rng.choice(
            (
                "pbt.copy_gap=0.05",
                f"pbt.score_games={self.rng.choice((20, 60))}",
                f"pbt.opponents={self.rng.choice(('all', 'common'))}",
                "learning.learning_rate=0.002",
                "pbt.period_frames=300",
            )
        )
        self.resume(f"stop_at_frames={self.frames}", chosen)

    def kill(self) -> None:
        self.frames += self._more
        self.killed("train", "--resume", NAME, "--set", f"stop_at_frames={self.frames}")
        self.resume()

    def lose_checkpoint(self) -> None:
        folders = sorted(population_paths(self.data, NAME).checkpoints.glob("[0-9]*"))
        if len(folders) > 1:
            shutil.rmtree(folders[-1])
        self.go_on()

    def join(self) -> None:
        with open_league(league_path(self.data), read_only=True) as league:
            members = [member.name for member in list_members(league, NAME)]
            role = list_members(league, NAME)[0].role
        weights = self.rng.choice(("", members[-1]))
        new = f'population.joined.m{len(members)}={{role="{role}",weights="{weights}"}}'
        self.frames += self._more
        done = self.arena(
            "train", "--resume", NAME, "--set", new, "--set", f"stop_at_frames={self.frames}"
        )
        # The member whose weights it should take may have left.
        if done.returncode not in (0, 2):
            raise RuntimeError(done.stderr[-500:])

    def leave(self) -> None:
        self.frames += self._more
        stop = f"stop_at_frames={self.frames}"
        done = self.arena(
            "train", "--resume", NAME, "--set", 'population.left=["m1"]', "--set", stop
        )
        if done.returncode not in (0, 2):
            raise RuntimeError(done.stderr[-500:])

    def fold(self) -> None:
        with open_league(league_path(self.data)) as league:
            with league.read() as connection:
                population_id = find_population(connection, NAME).id
            connection = league.connect()
            folding = Folding(population_id, self.rng.randrange(100, 400), 50, 100)
            kept = population_paths(self.data, NAME).checkpoints.glob("[0-9]*")
            states = [read_checkpoint(one).state for one in kept]
            folding.settled = settled_by_all([settled_in(state) for state in states])
            while folding.step(connection):
                pass
            connection.close()

    def anchor(self) -> None:
        self.must("anchor", f"{NAME}/m0")
        if self.rng.random() < 0.3:
            self.must("anchor", f"{NAME}/m0", "--remove")

    def exchange(self) -> None:
        out = self.folder / f"{len(self.steps)}.safetensors"
        self.must("export", f"{NAME}/m0", "--out", str(out))
        self.must("import", str(out), "--name", f"friend{len(self.steps)}")

    def match(self) -> None:
        self.matches += 1
        seed = str(self.rng.randrange(1000))
        self.killed("match", f"{NAME}/m0", "random", "--games", "60", "--seed", seed)
        done = self.arena("match", "--resume", "last")
        if done.returncode not in (0, 2):
            raise RuntimeError(done.stderr[-500:])

    def run(self) -> dict[str, Any]:
        """Take the walk. Returns the line of the raw file."""
        steps: tuple[Callable[[], None], ...] = (
            self.go_on,
            self.edit,
            self.kill,
            self.kill,
            self.lose_checkpoint,
            self.join,
            self.leave,
            self.fold,
            self.anchor,
            self.exchange,
            self.match,
        )
        began = time.monotonic()
        self.begin()
        for step in self.rng.sample(steps, self.rng.randrange(3, 7)):
            step()
            self.steps.append(step.__name__)
        verified = dict(self.verified())
        return {"steps": self.steps, "seconds": time.monotonic() - began, **verified}

    def verified(self) -> Iterator[tuple[str, Any]]:
        """What `arena verify` said of everything."""
        reports = {NAME: self.arena("verify", NAME)}
        for number in range(1, self.matches + 1):
            done = self.arena("verify", f"match:{number}")
            # A match that was killed before its row was there is none.
            if done.returncode != 2:
                reports[f"match:{number}"] = done
        reports["imported"] = self.arena("verify", "imported")
        yield (
            "alarms",
            {
                what: json.loads(done.stdout)["differences"]
                if done.stdout
                else [done.stderr[-500:]]
                for what, done in reports.items()
                if done.returncode != 0
            },
        )
        report = json.loads(reports[NAME].stdout)
        names = ("records", "rounds", "scores", "scores_folded", "games_folded", "rows_recorded")
        yield "verified", {name: report[name] for name in (*names, "played_again")}


def done_before(raw: Path) -> list[dict[str, Any]]:
    """The runs that the raw file has."""
    return [json.loads(line) for line in raw.read_text().splitlines()] if raw.exists() else []


def summary(lines: list[dict[str, Any]]) -> str:
    """Runs, alarms, and the upper end of the 95 % interval of the rate (Clopper & Pearson 1934)."""
    said = []
    for kind in ("short", "real"):
        runs = [line for line in lines if line["kind"] == kind]
        alarms = sum(bool(line.get("alarms")) for line in runs)
        failed = sum("error" in line for line in runs)
        most = float(beta.ppf(0.975, alarms + 1, len(runs) - alarms)) if alarms < len(runs) else 1.0
        said.append(
            f"{kind}: {len(runs)} runs, {alarms} with an alarm (at most {100 * most:.2g} %), "
            f"{failed} that failed for another reason"
        )
    return "\n".join(said)


def main() -> None:
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        # As the command line does (arena.cli.app); here numpy has been loaded already.
        command = [sys.executable, "-m", "bench.false_alarms", *sys.argv[1:]]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        os.execve(sys.executable, command, environment)  # noqa: S606  the same program
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", type=int, default=300)
    parser.add_argument("--real", type=int, default=20)
    parser.add_argument("--raw", type=Path, required=True)
    asked = parser.parse_args()
    lines = done_before(asked.raw)
    known = {(line["kind"], line["number"]) for line in lines}
    for module in ("exchange", "league", "match", "train", "verify"):
        importlib.import_module(f"arena.cli.{module}")  # once, for all forks
    wanted = [("short", number) for number in range(asked.short)]
    wanted += [("real", number) for number in range(asked.real)]
    for kind, number in (one for one in wanted if one not in known):
        with tempfile.TemporaryDirectory(prefix="false-alarms-") as folder:
            try:
                line = Walk(Path(folder), number, real=kind == "real").run()
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                line = {"error": str(error)}
        lines.append({"kind": kind, "number": number, **line})
        with asked.raw.open("a") as raw:
            raw.write(json.dumps(lines[-1]) + "\n")
        alarms = lines[-1].get("alarms") or lines[-1].get("error", "")
        print(f"{kind} {number}: {alarms or 'agrees'}", file=sys.stderr, flush=True)
    print(summary(lines))


if __name__ == "__main__":
    main()
