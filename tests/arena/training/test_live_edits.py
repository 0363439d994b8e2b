"""Edits that a real training takes while it runs: in force, saved, and refused where its
processes would have to start anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.data.edits import Edits, leave_edits, read_edits
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.stored_history import list_events, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.training.progress import Progress
from arena.training.result import Result
from arena.training.train import start_training
from pbt.checkpoint.files import read_newest
from pbt.config.load import config_from_table
from pbt.config.resume import changes, takes_live, with_live
from pbt.errors import PbtError

NEVER = 1_000_000_000
CONFIG: dict[str, Any] = {
    "stop_at_frames": NEVER,
    "env": {"name": "tictactoe"},
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 256},
    "pbt": {"period_frames": NEVER, "warmup_frames": 0},
    "snapshots": {"every_frames": NEVER},
    "evaluation": {"share": 0.0, "final_games": 0},
    "checkpoints": {"every_s": 3600.0},
}
# Far enough away that there is training left behind the edit, however late it is taken.
WORDS = (
    "stop_at_frames=12000",
    "pbt.period_frames=1000",
    "snapshots.every_frames=1000",
    "evaluation.share=0.5",
)


def train(data: Path, words: tuple[str, ...], **more: Any) -> Result:
    """Until the edit, which is left after the first updates, ends it."""
    edits = population_paths(data, "first").edits

    def observe(progress: Progress) -> None:
        if progress.frames > 600 and not edits.exists():
            leave_edits(edits, Edits(7, words))

    return start_training(config_from_table({**CONFIG, **more}, "test"), "first", data, observe)


@pytest.mark.slow
def test_what_is_left_while_it_trains_is_in_force_and_saved(tmp_path: Path) -> None:
    result = train(tmp_path, WORDS, runtime={"placement": "inline"})
    paths = population_paths(tmp_path, "first")
    assert (result.finished, result.status.edits_taken, result.status.edits_refused) == (True, 7, 0)
    checkpoint = read_newest(paths.checkpoints)[0]
    assert checkpoint is not None
    for stored in (json.loads(paths.config.read_text()), checkpoint.state.config):
        found = (
            stored["stop_at_frames"],
            stored["pbt"]["period_frames"],
            stored["snapshots"]["every_frames"],
            stored["evaluation"]["share"],
        )
        assert found == (12000, 1000, 1000, 0.5)
    with open_league(league_path(tmp_path), read_only=True) as league:
        # There was none before.
        assert list_rounds(league, "first")
        assert any(one.record.reason == "schedule" for one in list_snapshots(league, "first"))
        assert list(population_games(league, "first", GameFilter("evaluation")))
        told = [
            stored.event.text
            for stored in list_events(league, "first")
            if stored.event.kind == "edit"
        ]
    assert f"edited stop_at_frames: {NEVER} -> 12000" in told and len(told) == 4


@pytest.mark.slow
def test_learners_that_know_of_the_end_keep_it(tmp_path: Path) -> None:
    """They anneal towards it; the trainer says that it cannot, and goes on."""
    seen = []

    class Stop(Exception):
        pass

    paths = population_paths(tmp_path, "first")

    def observe(progress: Progress) -> None:
        leave_edits(paths.edits, Edits(7, WORDS[:1]))
        status = (
            json.loads(paths.status.read_text()) if paths.status.exists() else {"edits_refused": 0}
        )
        if status["edits_refused"]:
            seen.append(status["edits_taken"])
            raise Stop

    learning = {**CONFIG["learning"], "anneal_to": 0.5}
    with pytest.raises(Stop):
        start_training(
            config_from_table(
                {**CONFIG, "learning": learning, "runtime": {"placement": "serial"}}, "test"
            ),
            "first",
            tmp_path,
            observe,
        )
    assert seen == [0]


def test_which_edits_need_no_new_start() -> None:
    before = config_from_table(CONFIG, "test")
    for words in (*[(word,) for word in WORDS], WORDS):
        after = config_from_table(CONFIG, "test", words)
        assert takes_live(before, after)
        assert changes(with_live(before, after), after) == {}
    for word in (
        "learning.gamma=0.9",
        "evaluation.final_games=3",
        "pbt.warmup_frames=5",
        "learning.learning_rate=0.1",
    ):
        after = config_from_table(CONFIG, "test", (word,))
        assert not takes_live(before, after)
        assert changes(with_live(before, after), before) == {}
    annealed = config_from_table(
        {**CONFIG, "learning": {**CONFIG["learning"], "anneal_to": 0.5}}, "test"
    )
    assert not takes_live(
        annealed, with_live(annealed, config_from_table(CONFIG, "test", ("stop_at_frames=5",)))
    )


def test_a_damaged_file_of_edits_is_named(tmp_path: Path) -> None:
    path = tmp_path / "edits.json"
    assert read_edits(path) is None
    leave_edits(path, Edits(3, ("a=1",)))
    assert read_edits(path) == Edits(3, ("a=1",))
    for text in ("{", "[]", '{"number": "x", "set": []}'):
        path.write_text(text)
        with pytest.raises(PbtError, match="edits.json: damaged"):
            read_edits(path)
