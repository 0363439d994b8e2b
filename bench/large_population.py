"""Writes a large finished population as a training would: league, curves, config and status.

Programs that measure readers of a data directory use it.
"""

import math
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from pathlib import Path

from arena.data.config_file import write_config
from arena.data.metrics import MetricsWriter
from arena.data.paths import league_path, population_paths
from arena.data.status import MemberRow, ProcessRow, RowCounts, RunStatus, write_status
from arena.league.database import League, open_league
from arena.league.populations import create_population, open_incarnation, set_state
from arena.league.writer import LeagueWriter
from bench.large_history import ROUNDS, history, strength_at
from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.hyperparams import initial_hyperparams
from pbt.records import Event, GameRecord, PlayerRef, SeatRecord, SnapshotRecord

NAME = "large"
UPDATE_FRAMES = 2_000
GAMES_OF_A_PAIR = 2
METRICS = (
    "win_rate",
    "return",
    "entropy",
    "frames_per_s",
    "lag_mean",
    "kl",
    *(f"metric_{number}" for number in range(14)),
)
RANDOM = PlayerRef("scripted", "random")


def write(data: Path, members: int, points: int, later: int = 0) -> None:
    """Write a finished population. Each member has one snapshot, and all of these have met.

    members  number of members
    points   points of each metric of each member
    later    further snapshots of each member, which have met `random` and each other
    """
    names = [f"m{number}" for number in range(members)]
    config = load_config(
        "connect_four",
        [
            f"population.members={members}",
            f"stop_at_frames={points * UPDATE_FRAMES}",
            "pbt.spread_start=3.0",
        ],
    )
    paths = population_paths(data, NAME)
    with open_league(league_path(data)) as league:
        _write_league(league, names, points * UPDATE_FRAMES, config, later)
    paths.root.mkdir(parents=True)
    write_config(paths, config)
    rng = random.Random(1)
    with MetricsWriter(paths.metrics, 1, tensorboard=False) as metrics:
        for point in range(1, points + 1):
            for place, name in enumerate(names):
                values = {key: math.sin(point / 500 + place) + rng.gauss(0, 0.2) for key in METRICS}
                # Every member has its own clock, as in a training.
                metrics.series(name, point * UPDATE_FRAMES + place, values)
    main = ProcessRow("main", os.getpid(), ("main",), "waiting", stage_s={"wait": 1.0})
    rows = tuple(MemberRow(name, points * UPDATE_FRAMES, 1.0, "finished") for name in names)
    now = time.time()
    write_status(
        paths.status,
        RunStatus(
            NAME,
            os.getpid(),
            "inline",
            now - 3600,
            now,
            "finished",
            (main,),
            rows,
            RowCounts(100, 100, 0, {}),
        ),
    )


def _write_league(
    league: League, names: Sequence[str], frames: int, config: RunConfig, later: int
) -> None:
    table, of = config.model_dump(mode="json"), [(name, "player") for name in names]
    population_id = create_population(league, NAME, "connect_four", table, {}, of)
    start = {name: initial_hyperparams(config, name, ("reward",)).flat() for name in names}
    with LeagueWriter(league, open_incarnation(league, population_id, os.getpid())) as writer:
        for place, name in enumerate(names):
            early = frames * (place + 1) // (ROUNDS + 2) // len(names)
            writer.snapshot(_snapshot(_id(place), name, 0, early))
        generations, strengths = Counter[str](), {RANDOM: -1.5}
        kept = {ROUNDS * (number + 1) // (later + 1) for number in range(later)}
        for number, (copied, record) in enumerate(history(start, frames)):
            if copied is not None:
                writer.snapshot(copied)
                generations[record.member] += 1
            if record.round in kept:
                name, place = record.member, len(names) * record.round + names.index(record.member)
                at = record.frames + UPDATE_FRAMES
                writer.snapshot(_snapshot(_id(place), name, generations[name], at))
                strengths[PlayerRef("snapshot", _id(place))] = strength_at(record)
            writer.round(record)
            writer.event(
                Event(
                    "checkpoint" if number % 10 else "warning", None, number, f"saved {number:08d}"
                )
            )
        met = list(_meetings(len(names)))
        for at in sorted(kept):
            met += _later_meetings(len(names), at)
        for number, (a, b) in enumerate(met):
            ahead = strengths.get(b, 0.0) - strengths.get(a, 0.0)
            writer.game(_game(number, a, b, 1 / (1 + math.exp(-2.0 * ahead))))
        writer.drain(600)
    set_state(league, population_id, "finished")


def _snapshot(id: str, member: str, generation: int, frames: int) -> SnapshotRecord:
    return SnapshotRecord(id, member, "player", generation, 100, frames, "schedule", None, 400_000)


def _later_meetings(members: int, round: int) -> Iterator[tuple[PlayerRef, PlayerRef]]:
    """Each snapshot of this round meets `random`, the next member's, and its own earlier one."""
    for place in range(members):
        own = PlayerRef("snapshot", _id(members * round + place))
        beside = PlayerRef("snapshot", _id(members * round + (place + 1) % members))
        for other in (RANDOM, beside, PlayerRef("snapshot", _id(place))):
            yield from ((other, own) for _ in range(5 * GAMES_OF_A_PAIR))


def _id(place: int) -> str:
    return sha256(str(place).encode()).hexdigest()


def _meetings(members: int) -> Iterator[tuple[PlayerRef, PlayerRef]]:
    players = [RANDOM, *(PlayerRef("snapshot", _id(place)) for place in range(members))]
    for pair in combinations(players, 2):
        yield from (pair for _ in range(GAMES_OF_A_PAIR))


def _game(number: int, a: PlayerRef, b: PlayerRef, wins: float) -> GameRecord:
    """wins: the probability that b wins"""
    rng = random.Random(number)
    places = (1, 0) if rng.random() < wins else (0, 1)
    seats = tuple(
        SeatRecord(player, 0, 0, 0, place, 1.0 - 2.0 * place)
        for player, place in zip((a, b), places, strict=True)
    )
    return GameRecord(
        number,
        number % 64,
        number // 64,
        "evaluation",
        number,
        seats,
        24,
        24,
        "rules",
        f"{rng.getrandbits(64):016x}",
        b"\x00" * 24,
    )
