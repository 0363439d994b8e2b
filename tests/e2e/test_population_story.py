"""A member that cannot learn is found out by its scores and copied over, with the default
threshold; every round can be proved afterwards.
"""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.stored_history import list_rounds
from arena.league.stored_snapshots import list_snapshots

# Three members: two are compared by their games against the third, so the gap is at most that of
# the better one and the untrained one against the other that learns: it takes some learning to be
# wide enough.
CONFIG = """
stop_at_frames = 65_000
[env]
name = "connect_four"
[population]
members = 3
[members.m2]
learning_rate = 0.0
[model]
hidden = [64]
[sampling]
environments = 32
rollout_steps = 8
[learning]
batch_steps = 512
learning_rate = 0.003
[pbt]
period_frames = 20_000
warmup_frames = 20_000
score_games = 300
[snapshots]
every_frames = 20_000
[evaluation]
share = 0.02
final_games = 4
[runtime]
placement = "serial"
"""


@pytest.mark.slow
def test_a_member_that_cannot_learn_is_copied_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, data = tmp_path / "story.toml", tmp_path / "data"
    config.write_text(CONFIG)
    assert run(["train", str(config), "--set", "seed=1", "--data", str(data), "--json"]) == 0
    with open_league(league_path(data), read_only=True) as league:
        rounds = [stored.record for stored in list_rounds(league, "story")]
        donors = {
            stored.record.snapshot_id: stored.record.member
            for stored in list_snapshots(league, "story")
        }
    copy = next(
        round for round in rounds if round.member == "m2" and round.directive.copy_from is not None
    )
    scores = {score.member: score for score in copy.scores}
    assert copy.hyperparams["m2"]["learning_rate"] == 0.0
    assert (copy.rules["copy_significance_per"], copy.rules["copy_gap"]) == ("run", 0.0)
    donor = copy.directive.copy_from
    assert donor is not None
    assert scores[donor].objective - scores["m2"].objective >= 0.1
    assert copy.directive.hyperparams["learning_rate"] > 0.0
    assert donors[copy.directive.copy_snapshot or ""] == donor

    capsys.readouterr()
    assert run(["verify", "story", "--data", str(data), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    assert (report["rounds"], report["scores"]) == (len(rounds), 3 * len(rounds))
    assert report["copies"] >= 1
