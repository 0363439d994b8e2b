"""Members that come and go while a real training runs: in force, saved, told of, and nothing
that was played is lost.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.data.edits import Edits, leave_edits
from arena.data.paths import league_path, population_paths
from arena.league.ancestry import find_weights, read_histories
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.lineage import trace
from arena.league.stored_history import list_events, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_members
from arena.league.verify import verify_rounds
from arena.training.progress import Progress
from arena.training.result import Result
from arena.training.train import resume_training, start_training
from pbt.checkpoint.files import read_newest
from pbt.config.load import config_from_table
from pbt.errors import ConfigError
from pbt.snapshots import FileSnapshotStore
from tests.arena.training.test_live_edits import CONFIG

STOP = 6000
WORDS = (
    'population.joined.m3.role="player"',
    'population.joined.m3.weights="m0"',
    'population.left=["m1"]',
)
TABLE: dict[str, Any] = {
    **CONFIG,
    "stop_at_frames": STOP,
    "population": {"members": 3},
    "pbt": {"period_frames": 1000, "warmup_frames": 0, "min_games": 5, "mutation_probability": 1.0},
    "evaluation": {"share": 0.2, "final_games": 4},
}


def train(data: Path) -> Result:
    """Until the end; members are exchanged half-way."""
    edits = population_paths(data, "first").edits

    def observe(progress: Progress) -> None:
        if progress.frames > 3 * STOP // 2 and not edits.exists():
            leave_edits(edits, Edits(7, WORDS))

    return start_training(
        config_from_table({**TABLE, "runtime": {"placement": "inline"}}, "test"),
        "first",
        data,
        observe,
    )


@pytest.mark.slow
def test_one_comes_and_one_goes_while_the_others_train(tmp_path: Path) -> None:
    result = train(tmp_path)
    paths = population_paths(tmp_path, "first")
    assert (result.finished, result.status.ended, result.status.edits_taken) == (
        True,
        "finished",
        7,
    )
    assert {member.name: member.frames >= STOP for member in result.progress.members} == {
        "m0": True,
        "m2": True,
        "m3": True,
    }
    checkpoint = read_newest(paths.checkpoints)[0]
    stored = json.loads(paths.config.read_text())
    assert checkpoint is not None and stored == checkpoint.state.config
    assert (stored["population"]["left"], stored["population"]["joined"]) == (
        ["m1"],
        {"m3": {"role": "player", "weights": "m0"}},
    )
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert [(row.name, row.role) for row in list_members(league, "first")] == [
            (f"m{number}", "player") for number in range(4)
        ]
        told = {row.event.kind: row.event for row in list_events(league, "first")}
        assert (told["join"].member, told["leave"].member) == ("m3", "m1")
        games = list(population_games(league, "first", GameFilter()))
        assert (
            len({game.record.number for game in games})
            == len(games)
            == max(game.record.number for game in games) + 1
        )
        last = list_snapshots(league, "first", "m1")[-1]
        assert last.record.reason == "final" and not last.weights_removed
        assert FileSnapshotStore(paths.snapshots).load(last.record.snapshot_id)
        rounds = [stored.record for stored in list_rounds(league, "first")]
        assert {record.member for record in rounds} == {"m0", "m1", "m2", "m3"}
        assert [check.problems for check in verify_rounds(league, "first")] == [()] * len(rounds)
        check_lineage(league, "first")


def check_lineage(league: Any, name: str) -> None:
    """The chain of m3 goes on from where m0's weights stood."""
    _, weights = find_weights(league, f"{name}/m3")
    lineage = trace(read_histories(league, name), weights)
    firsts = [step for step in lineage.steps if step.kind == "join"]
    if weights.generation == 0:
        assert [(step.member, step.member_frames) for step in firsts] == [("m3", 0)]
    for step in firsts:
        assert (
            step.donor is not None
            and step.donor.member == "m0"
            and step.frames >= step.donor.frames > 0
        )
        assert (
            lineage.steps[lineage.steps.index(step) - 1].member != "m3"
            and step.hyperparams.keys() == lineage.steps[0].hyperparams.keys()
        )


@pytest.mark.slow
def test_a_stopped_population_takes_the_same_edits(tmp_path: Path) -> None:
    """As the service does when a trainer was killed in between; said twice, they change nothing
    twice.
    """
    config = config_from_table(
        {**TABLE, "stop_at_frames": 500, "runtime": {"placement": "serial"}}, "test"
    )
    start_training(config, "first", tmp_path, lambda progress: None)
    with pytest.raises(ConfigError, match="no member plays player any more"):
        resume_training(
            "first", tmp_path, ['population.left=["m0","m1","m2"]'], lambda progress: None
        )
    with pytest.raises(ConfigError, match="no member that plays player"):
        resume_training(
            "first",
            tmp_path,
            ["population.joined.m3.role=player", "population.joined.m3.weights=m9"],
            lambda progress: None,
        )
    with pytest.raises(ConfigError, match="began with a member of that name"):
        resume_training(
            "first", tmp_path, ["population.joined.m1.role=player"], lambda progress: None
        )
    for _ in range(2):
        again = resume_training("first", tmp_path, WORDS, lambda progress: None)
        assert [member.name for member in again.progress.members] == ["m0", "m2", "m3"]
    with open_league(league_path(tmp_path), read_only=True) as league:
        kinds = [row.event.kind for row in list_events(league, "first", superseded=False)]
        assert (kinds.count("join"), kinds.count("leave")) == (1, 1)
    for word, said in (
        ("population.left=[]", "m1 has left for good"),
        ("population.joined.m3.weights=m2", "m3: has joined already"),
    ):
        with pytest.raises(ConfigError, match=said):
            resume_training("first", tmp_path, [word], lambda progress: None)


def test_a_new_population_has_no_weights_to_take(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a new population has no weights yet"):
        start_training(
            config_from_table(TABLE, "test", WORDS), "first", tmp_path, lambda progress: None
        )
