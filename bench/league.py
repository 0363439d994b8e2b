"""Measures how quick the league is when it is large.

    python -m bench.league --training 10000000 --evaluations 200000 --json league.json

It builds a league through the writer that training uses, and times its readers. The population has
eight members of growing strength, which make snapshots at equal distances. Training games between
members are folded (counted instead of stored) as in every training. Evaluation games stand evenly
among them: between two snapshots of about the same age or, one in five, between a snapshot and a
scripted player. Results are drawn by the Bradley-Terry model with 20 % draws. --data DIR keeps the
league, and measures it again when it is already there.

Reported: games written per second; bytes of the files; and, as medians of --repeats with least and
greatest, the seconds of whole commands (`arena league NAME` and others) and of the parts of a
refit: reading the pairs, fitting, circles.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.populations import create_population, open_incarnation, set_state
from arena.league.ratings import population_table, rate
from arena.league.results import population_results
from arena.league.schema import folded_results, folds, game_blocks, games
from arena.league.writer import LeagueWriter
from arena.stats.cycles import cyclic_share, significant_cycles
from bench.throughput import hardware
from pbt.config.load import load_config
from pbt.records import GameKind, GameRecord, PlayerRef, SeatRecord, SnapshotRecord

NAME, CONFIG = "large", "connect_four"
MEMBERS = tuple(f"m{i}" for i in range(8))
SNAPSHOTS_PER_MEMBER = 60
WAITING_GAMES = 20_000
DRAW_SHARE = 0.2
SCRIPTED = {PlayerRef("scripted", "random"): 0.0, PlayerRef("scripted", "oneply"): 300.0}
STEPS = 24
ACTIONS = bytes(4 * STEPS)
COMMANDS = (
    ("league", NAME),
    ("league", NAME, "--json"),
    ("matrix", NAME),
    ("populations",),
    ("--help",),
)


def build(data: Path, training: int, evaluations: int) -> float:
    """Write the league. Returns the seconds it took."""
    started = time.monotonic()
    with open_league(league_path(data)) as league:
        config = load_config(CONFIG).model_dump(mode="json")
        population_id = create_population(
            league, NAME, CONFIG, config, {}, [(member, "player") for member in MEMBERS]
        )
        with LeagueWriter(league, open_incarnation(league, population_id, 1)) as writer:
            for number, item in enumerate(_items(training, evaluations)):
                if isinstance(item, SnapshotRecord):
                    writer.snapshot(item)
                else:
                    writer.game(item)
                if number % 1_000 == 0:
                    _wait(writer, number, training + evaluations)
            writer.drain(600)
        set_state(league, population_id, "finished")
    return time.monotonic() - started


def _wait(writer: LeagueWriter, done: int, total: int) -> None:
    """Wait until few enough games are in memory for the writer."""
    if done % 100_000 == 0:
        print(f"\r{done / total:.1%} written", end="", file=sys.stderr, flush=True)
    while writer.backlog > WAITING_GAMES:
        time.sleep(0.01)


def _items(training: int, evaluations: int) -> Iterator[GameRecord | SnapshotRecord]:
    """Games and snapshots in the order of a training."""
    rng = random.Random(1)
    made: list[tuple[PlayerRef, float]] = []
    total, snapshots = training + evaluations, SNAPSHOTS_PER_MEMBER * len(MEMBERS)
    live = [PlayerRef("member", member) for member in MEMBERS]
    evaluated = 0
    for number in range(total):
        if number * snapshots // total >= len(made):
            record = _snapshot(len(made))
            made.append(
                (
                    PlayerRef("snapshot", record.snapshot_id),
                    1500.0 * number / total + rng.gauss(0, 100),
                )
            )
            yield record
        if evaluated * total < number * evaluations:
            evaluated += 1
            yield _game(rng, number, *_evaluated(rng, made), evaluation=True)
        else:
            a, b = rng.sample(live, 2)
            yield _game(rng, number, (a, 0.0), (b, 0.0), evaluation=False)


def _snapshot(index: int) -> SnapshotRecord:
    member = MEMBERS[index % len(MEMBERS)]
    age = index // len(MEMBERS)
    return SnapshotRecord(
        sha256(str(index).encode()).hexdigest(),
        member,
        "player",
        0,
        age * 500,
        age * 1_000_000,
        "schedule",
        None,
        400_000,
    )


def _evaluated(
    rng: random.Random, made: Sequence[tuple[PlayerRef, float]]
) -> tuple[tuple[PlayerRef, float], tuple[PlayerRef, float]]:
    near = made[-80:]
    if len(near) < 2 or rng.random() < 0.2:
        return rng.choice(near), rng.choice(list(SCRIPTED.items()))
    first, second = rng.sample(near, 2)
    return first, second


def _game(
    rng: random.Random,
    number: int,
    a: tuple[PlayerRef, float],
    b: tuple[PlayerRef, float],
    *,
    evaluation: bool,
) -> GameRecord:
    win = 1 / (1 + 10 ** ((b[1] - a[1]) / 400))
    places = (0, 0) if rng.random() < DRAW_SHARE else (0, 1) if rng.random() < win else (1, 0)
    seats = tuple(
        SeatRecord(player[0], 0, number, number, place, 1.0 - 2.0 * place)
        for player, place in zip((a, b), places, strict=True)
    )
    kind: GameKind = "evaluation" if evaluation else "training"
    seed, trajectory = rng.getrandbits(31), f"{rng.getrandbits(64):016x}"
    return GameRecord(
        number,
        number % 64,
        number // 64,
        kind,
        seed,
        seats,
        STEPS,
        STEPS,
        "rules",
        trajectory,
        ACTIONS if evaluation else None,
    )


def stored(league: League) -> dict[str, int]:
    """Numbers of rows of games and of folded games, of blocks and their games, of folded games."""
    with league.read() as connection:
        rows = [
            int(connection.execute(select(func.count()).select_from(table)).scalar_one())
            for table in (games, folded_results, game_blocks)
        ]
        in_blocks = connection.execute(select(func.coalesce(func.sum(game_blocks.c.count), 0)))
        folded = int(
            connection.execute(select(func.coalesce(func.sum(folds.c.games), 0))).scalar_one()
        )
        kept = int(in_blocks.scalar_one())
    return {
        "game_rows": rows[0],
        "folded_rows": rows[1],
        "blocks": rows[2],
        "games_in_blocks": kept,
        "folded_games": folded,
    }


def timed(action: Callable[[], object], repeats: int) -> dict[str, float]:
    """Seconds on the clock (median, least, greatest) and of processors, children included.

    Processor time also means something while other work uses the machine.
    """
    taken, used = [], []
    for _ in range(repeats):
        started, before = time.perf_counter(), sum(os.times()[:4])
        action()
        taken.append(time.perf_counter() - started)
        used.append(sum(os.times()[:4]) - before)
    return {
        "median_s": statistics.median(taken),
        "min_s": min(taken),
        "max_s": max(taken),
        "cpu_s": statistics.median(used),
    }


def measure(data: Path, repeats: int) -> dict[str, Any]:
    """Time whole commands, then the parts of a refit in this process."""
    commands = {
        " ".join(arguments): timed(partial(_call, arguments, data), repeats)
        for arguments in COMMANDS
    }
    with open_league(league_path(data), read_only=True) as league:
        results = population_results(league, NAME)
        matrix = results.matrix
        parts = {
            "read_games": timed(lambda: population_results(league, NAME), repeats),
            "fit": timed(lambda: rate(results), repeats),
            "circles": timed(lambda: (significant_cycles(matrix), cyclic_share(matrix)), repeats),
            "table": timed(lambda: population_table(league, NAME), repeats),
        }
        held = stored(league)
    sizes = {path.name: path.stat().st_size for path in sorted(data.glob("league.db*"))}
    rated = {"players": len(matrix.players), "pairs": int((matrix.games > 0).sum()) // 2}
    return {"processes": commands, "refit": parts, **rated, "rows": held, "bytes": sizes}


def _call(arguments: Sequence[str], data: Path) -> None:
    options = () if arguments == ("--help",) else ("--data", str(data))
    subprocess.run(
        [sys.executable, "-P", "-m", "arena", *arguments, *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def main() -> None:
    # As the command line does (arena.cli.app).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--training", type=int, default=10_000_000)
    parser.add_argument("--evaluations", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--data",
        type=Path,
        default=None,
        help="build the league here and keep it; one that is already here is only measured",
    )
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or Path(folder)
        report: dict[str, Any] = {
            "training": options.training,
            "evaluations": options.evaluations,
            **hardware(),
        }
        if not league_path(data).exists():
            seconds = build(data, options.training, options.evaluations)
            report |= {
                "build_s": seconds,
                "games_per_s": (options.training + options.evaluations) / seconds,
            }
        report |= measure(data, options.repeats)
    print(json.dumps(report, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
