"""Leagues of simulated games between snapshots of known strength."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np

from arena.league.database import League
from arena.league.writer import LeagueWriter
from pbt.records import GameRecord, PlayerRef, SnapshotRecord
from tests.arena.league.samples import MEMBERS, RANDOM, game, new_league

STEP = 100_000


def snapshot_id(member: str, number: int) -> str:
    return sha256(f"{member} {number}".encode()).hexdigest()


def simulated(
    folder: Path,
    strength: Callable[[str, int], float],
    *,
    snapshots: int = 5,
    games: int = 1_500,
    seed: int = 0,
) -> League:
    """A league whose members have these strengths in Elo over `random`, by snapshot.

    Each game is between a snapshot that was just made and `random`, or one made before.
    """
    league, start = new_league(folder)
    rng = np.random.default_rng(seed)
    names = [name for name, _ in MEMBERS]
    with LeagueWriter(league, start) as writer:
        for number in range(snapshots):
            for name in names:
                writer.snapshot(
                    SnapshotRecord(
                        snapshot_id(name, number),
                        name,
                        "player",
                        0,
                        number,
                        number * STEP,
                        "schedule",
                        None,
                        1000,
                    )
                )
        for at in range(games):
            number = at * snapshots // games
            writer.game(_game(rng, at, names, number, strength))
        writer.drain(60)
    return league


def _game(
    rng: np.random.Generator,
    at: int,
    names: list[str],
    number: int,
    strength: Callable[[str, int], float],
) -> GameRecord:
    first = str(rng.choice(names))
    players = [(PlayerRef("snapshot", snapshot_id(first, number)), strength(first, number))]
    if rng.random() < 0.3:
        players.append((RANDOM, 0.0))
    else:
        other = str(rng.choice([name for name in names if name != first]))
        older = int(rng.integers(0, number + 1))
        players.append((PlayerRef("snapshot", snapshot_id(other, older)), strength(other, older)))
    if rng.random() < 0.5:
        players.reverse()
    won = rng.random() < 1 / (1 + 10 ** ((players[1][1] - players[0][1]) / 400))
    return game(at, [player for player, _ in players], (0, 1) if won else (1, 0), "evaluation")
