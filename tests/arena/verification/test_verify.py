"""`arena verify` on a population whose rows nothing touched: it agrees, and says what it did."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.best import best_of_each_role
from arena.league.database import open_league
from arena.verification.report import ReplayReport
from tests.arena.verification.forging import execute
from tests.arena.verification.made import NAME, fold, go_back, resume

Output = pytest.CaptureFixture[str]


def verify(data: Path, capsys: Output, *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", *words, "--data", str(data), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_everything_agrees(made: Path, capsys: Output) -> None:
    code, report = verify(made, capsys, NAME)
    assert (code, report["differences"]) == (0, [])
    assert report["rounds"] > 10 and report["copies"] > 0 and report["checkpoints"] > 0
    assert report["games_folded"] > 0 and report["scores_folded"] == 0
    assert report["snapshots_removed"] > 0 and report["snapshot_files"] > 0
    played = report["played_again"]
    assert played["stored"] == played["played"] > 50
    kinds = {row[0] for row in execute(made, "SELECT DISTINCT kind FROM chain")}
    assert kinds >= {
        "population",
        "members",
        "starts",
        "superseded",
        "left",
        "training games",
        "evaluation games",
        "rounds",
        "wiring certificates",
        "snapshots",
        "events",
        "fold",
        "weights removed",
        "anchor",
        "export",
        "import",
        "match",
        "match games",
        "match begun",
        "match ended",
        "finished",
    }


def test_matches_and_imports_agree(made: Path, capsys: Output) -> None:
    for what in ("match:1", "match:2", "imported"):
        code, report = verify(made, capsys, what)
        assert (code, report["differences"]) == (0, []), what


def test_a_sample_is_shared_by_evaluation_games_and_matches(made: Path, capsys: Output) -> None:
    whole, part = (verify(made, capsys, NAME, "--replay", count)[1] for count in ("all", "30"))
    assert (whole["matches"], whole["match_games"]) == (2, 40)
    stored = whole["played_again"]["stored"]
    assert stored == whole["match_games"] + sum(
        row[0]
        for row in execute(
            made, "SELECT COUNT(*) FROM games WHERE kind = 1 AND match_id IS NULL AND voided = 0"
        )
    )
    assert part["played_again"] == {"stored": stored, "played": 30, "why": "a random sample"}


def test_the_best_that_the_notes_name_is_that_of_each_role(made: Path, capsys: Output) -> None:
    with open_league(league_path(made), read_only=True) as league:
        best = best_of_each_role(league, NAME)
    (note,) = (note for note in verify(made, capsys, NAME)[1]["notes"] if "evaluation" in note)
    assert len(best) == 1
    assert note.endswith(f"{best['player'].label} is the best")


def test_the_text_says_what_is_attested_and_how(made: Path, capsys: Output) -> None:
    capsys.readouterr()
    assert run(["verify", NAME, "--data", str(made), "--replay", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"population {NAME}: all agree"
    assert any("attested by their digests only" in line for line in lines)
    assert any("would be seen with probability" in line for line in lines)
    assert any("weights" in line and "removed" in line for line in lines)


def test_the_probability_of_a_sample_is_that_of_the_hypergeometric_distribution() -> None:
    assert ReplayReport(100, 100).seen(0.01) == 1.0
    assert ReplayReport(100, 10).seen(0.01) == pytest.approx(0.1)
    # Two altered games of 10, 5 of them played: 1 - (5 * 4) / (10 * 9).
    assert ReplayReport(10, 5).seen(0.2) == pytest.approx(1 - 20 / 90)
    assert ReplayReport(10, 0).seen(0.5) == 0.0


def test_the_training_tells_the_head_that_verify_knows(data: Path, capsys: Output) -> None:
    capsys.readouterr()
    words = ["train", "--resume", NAME, "--set", "stop_at_frames=2000", "--data", str(data)]
    assert run([*words, "--json"]) == 0
    head = json.loads(capsys.readouterr().out.splitlines()[-1])["head"]
    code, report = verify(data, capsys, NAME, "--head", head, "--replay", "none")
    assert (code, report["head"]) == (0, head)


def test_further_resumes_folds_and_losses_of_checkpoints_raise_no_alarm(
    data: Path, capsys: Output
) -> None:
    resume(data, "stop_at_frames=2200", "pbt.score_games=20")
    resume(data, "stop_at_frames=2450", "pbt.score_games=60", "pbt.opponents=all")
    go_back(data)
    resume(data, "stop_at_frames=2750")
    fold(data)
    code, report = verify(data, capsys, NAME)
    assert (code, report["differences"]) == (0, [])


def test_a_deleted_population_leaves_its_head(data: Path, capsys: Output) -> None:
    head = verify(data, capsys, NAME, "--replay", "none")[1]["head"]
    assert run(["delete", NAME, "--yes", "--data", str(data)]) == 0
    capsys.readouterr()
    assert run(["verify", NAME, "--data", str(data)]) == 2
    assert head in capsys.readouterr().err
    assert execute(data, "SELECT COUNT(*) FROM chain WHERE population_id = 1") == [(1,)]
    for match in ("match:1", "match:2"):
        assert verify(data, capsys, match)[0] == 0


def test_an_import_that_was_removed_raises_no_alarm(data: Path, capsys: Output) -> None:
    assert run(["delete", "imported/friend", "--yes", "--data", str(data)]) == 0
    assert verify(data, capsys, "imported")[0] == 0


def test_a_checkpoint_of_another_league_is_told_at_the_resume(
    data: Path, tmp_path: Path, capsys: Output
) -> None:
    execute(data, "UPDATE chain SET head = randomblob(32) WHERE population_id = 1")
    capsys.readouterr()
    words = ["train", "--resume", NAME, "--set", "stop_at_frames=2000", "--data", str(data)]
    assert run([*words, "--json"]) == 0
    assert "the league never had the head" in capsys.readouterr().err
    shutil.rmtree(data)


def test_unknown_names_exit_2(made: Path, tmp_path: Path, capsys: Output) -> None:
    for what, said in (("rum", "did you mean 'run'?"), ("match:99", "match 99")):
        capsys.readouterr()
        assert run(["verify", what, "--data", str(made)]) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and said in captured.err
    assert run(["verify", NAME, "--data", str(tmp_path / "none")]) == 2
    captured = capsys.readouterr()
    assert (captured.out, len(captured.err.splitlines())) == ("", 1)
    assert not (tmp_path / "none").exists()


def test_a_member_that_joins_after_an_edit_begins_with_the_edited_values(
    data: Path, capsys: Output
) -> None:
    resume(data, "stop_at_frames=2000", "learning.learning_rate=0.002")
    joins = 'population.joined.m5={role="player",weights=""}'
    resume(data, "stop_at_frames=2150", joins)
    code, report = verify(data, capsys, NAME, "--replay", "none")
    assert (code, report["differences"]) == (0, [])
