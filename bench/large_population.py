"""Writes a large finished population as a training would: league, curves, config and status.

Programs that measure readers of a data directory use it.
"""

import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

from arena.data.config_file import write_config
from arena.data.metrics import MetricsWriter
from arena.data.paths import league_path, population_paths
from arena.data.status import MemberRow, ProcessRow, RowCounts, RunStatus, write_status
from arena.league.database import League, open_league
from arena.league.populations import create_population, open_incarnation, set_state
from arena.league.writer import LeagueWriter
from pbt.config.load import load_config
from pbt.records import (
    Directive,
    Event,
    GameRecord,
    MemberScore,
    PlayerRef,
    RoundRecord,
    SeatRecord,
    SnapshotRecord,
)

NAME = "large"
UPDATE_FRAMES = 2_000
ROUNDS = 20
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


def write(data: Path, members: int, points: int) -> None:
    """Write a finished population. Each member has one snapshot, and all of these have met.

    members  number of members
    points   points of each metric of each member
    """
    names = [f"m{number}" for number in range(members)]
    config = load_config(
        "connect_four",
        [f"population.members={members}", f"stop_at_frames={points * UPDATE_FRAMES}"],
    )
    paths = population_paths(data, NAME)
    with open_league(league_path(data)) as league:
        _write_league(league, names, points * UPDATE_FRAMES, config.model_dump(mode="json"))
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
    league: League, names: Sequence[str], frames: int, config: dict[str, Any]
) -> None:
    population_id = create_population(
        league, NAME, "connect_four", config, {}, [(name, "player") for name in names]
    )
    with LeagueWriter(league, open_incarnation(league, population_id, os.getpid())) as writer:
        for place, name in enumerate(names):
            early = frames * (place + 1) // (ROUNDS + 2) // len(names)
            writer.snapshot(
                SnapshotRecord(_id(place), name, "player", 0, 100, early, "schedule", None, 400_000)
            )
        for number in range(ROUNDS * len(names)):
            writer.round(_round(names, number, frames))
            writer.event(
                Event(
                    "checkpoint" if number % 10 else "warning", None, number, f"saved {number:08d}"
                )
            )
        for number, (a, b) in enumerate(_meetings(len(names))):
            writer.game(_game(number, a, b))
        writer.drain(600)
    set_state(league, population_id, "finished")


def _id(place: int) -> str:
    return sha256(str(place).encode()).hexdigest()


def _meetings(members: int) -> Iterator[tuple[PlayerRef, PlayerRef]]:
    players = [RANDOM, *(PlayerRef("snapshot", _id(place)) for place in range(members))]
    for pair in combinations(players, 2):
        yield from (pair for _ in range(GAMES_OF_A_PAIR))


def _game(number: int, a: PlayerRef, b: PlayerRef) -> GameRecord:
    rng = random.Random(number)
    places = (1, 0) if rng.random() < (0.95 if a == RANDOM else 0.55) else (0, 1)
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


def _round(names: Sequence[str], number: int, frames: int) -> RoundRecord:
    rng = random.Random(number)
    place, turn = number % len(names), number // len(names) + 1
    values = {
        key: 1e-3 * rng.uniform(0.5, 2) for key in ("learning_rate", "entropy_coef", "adam_beta1")
    }
    scores = tuple(MemberScore(name, 60, rng.random(), 0, 60) for name in names)
    # Only members of odd number copy, from early snapshots of members of even number, so that the
    # lineage is consistent.
    donor = rng.randrange(0, len(names), 2) if place % 2 and rng.random() < 0.3 else None
    copied = (None, None) if donor is None else (names[donor], _id(donor))
    directive = Directive(names[place], turn, *copied, values, ("learning_rate",))
    all_values = dict.fromkeys(names, values)
    rules = {"objective": "wins", "min_games": 50, "top_share": 0.3}
    verdict = "mutated learning_rate" if donor is None else f"copied {names[donor]}"
    return RoundRecord(
        names[place],
        turn,
        frames * turn // (ROUNDS + 1),
        scores,
        all_values,
        rules,
        7,
        verdict,
        directive,
    )
