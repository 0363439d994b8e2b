"""A small real population that went through everything that a chain records, to spoil copies of.

It was resumed from an older checkpoint, so that rows were superseded; a member joined and one left;
snapshots lost their weights by retention; old games were folded; a snapshot was exported and
imported, one was made an anchor; and a match was played.
"""

import shutil
from pathlib import Path
from unittest.mock import patch

from arena.cli.app import run
from arena.data.paths import league_path, population_paths
from arena.league import writer
from arena.league.compaction import Folding
from arena.league.database import open_league
from arena.league.populations import find_population
from arena.training.settling import settled_by_all, settled_in
from pbt.checkpoint.files import read_checkpoint

NAME = "run"
CONFIG = """
stop_at_frames = 900
[env]
name = "connect_four"
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[pbt]
period_frames = 250
warmup_frames = 600
min_games = 5
score_games = 8
copy_gap = 0.0
mutation_probability = 0.5
[evaluation]
share = 0.2
final_games = 4
[snapshots]
every_frames = 150
keep_newest = 4
thinned_every = 3
[checkpoints]
keep = 2
[runtime]
placement = "serial"
"""
KEPT_GAMES, CHUNK_GAMES = 180, 60
# So that there are many blocks of a few games, of which no round was scored from some.
COMMIT_GAMES = 12


def train(data: Path, *words: str) -> None:
    assert run(["train", *words, "--data", str(data), "--json"]) == 0


def resume(data: Path, *edits: str) -> None:
    train(data, "--resume", NAME, *(word for edit in edits for word in ("--set", edit)))


def go_back(data: Path) -> None:
    """Remove the newest checkpoint, as a kill before it was written would have."""
    folders = sorted(population_paths(data, NAME).checkpoints.glob("[0-9]*"))
    shutil.rmtree(folders[-1])


def fold(data: Path) -> None:
    """Fold old games, at limits that a small league reaches."""
    with open_league(league_path(data)) as league:
        with league.read() as connection:
            population_id = find_population(connection, NAME).id
        folding, connection = Folding(population_id, KEPT_GAMES, CHUNK_GAMES, 100), league.connect()
        kept = population_paths(data, NAME).checkpoints.glob("[0-9]*")
        folding.settled = settled_by_all([settled_in(read_checkpoint(one).state) for one in kept])
        assert folding.step(connection)
        while folding.step(connection):
            pass
        connection.close()


def make(folder: Path) -> Path:
    """Make the data directory, and return it."""
    with patch.object(writer, "COMMIT_GAMES", COMMIT_GAMES):
        return _make(folder)


def _make(folder: Path) -> Path:
    data = folder / "data"
    (folder / f"{NAME}.toml").write_text(CONFIG)
    train(data, str(folder / f"{NAME}.toml"))
    resume(data, "stop_at_frames=1300", "pbt.score_games=40")
    go_back(data)
    resume(data, "stop_at_frames=1500")
    joins = 'population.joined.m4={role="player",weights="m0"}'
    resume(data, "stop_at_frames=1900", joins, 'population.left=["m1"]')
    fold(data)
    out = str(folder / "best.safetensors")
    for line in (
        f"anchor {NAME}/m0",
        f"export {NAME}/m0 --out {out}",
        f"import {out} --name friend",
        f"match {NAME}/m0 random --games 20",
        f"match {NAME}/m0 oneply --games 20",
    ):
        assert run([*line.split(), "--data", str(data), "--json"]) == 0
    return data
