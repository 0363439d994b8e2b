"""`arena league`, `populations`, `metrics`, `games`, `delete` on a real population.

Over 350 lines: its cases share one trained population and read best together.
"""

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import arena.cli.league as cli
import arena.league.deletion
from arena.cli.app import run
from arena.cli.games import TABLE_GAMES
from arena.cli.rating_table import print_league
from arena.data.lock import PopulationLock
from arena.data.paths import league_path, population_paths
from arena.data.status import read_status, write_status
from arena.league.database import open_league
from arena.words import bytes_text

CONFIG = """
stop_at_frames = 1200
[env]
name = "connect_four"
[population]
members = 2
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[matchmaking]
past_share = 0.0
[snapshots]
every_frames = 600
[evaluation]
final_games = 40
[runtime]
placement = "serial"  # the same games each time
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "demo.toml").write_text(CONFIG)
    data = folder / "data"
    assert run(["train", str(folder / "demo.toml"), "--data", str(data), "--json"]) == 0
    quick = [
        "--set",
        "seed=9",
        "--set",
        "stop_at_frames=200",
        "--set",
        "evaluation.final_games=0",
        "--set",
        "evaluation.share=0",
    ]
    assert (
        run(
            [
                "train",
                str(folder / "demo.toml"),
                "--name",
                "unrated",
                *quick,
                "--data",
                str(data),
                "--json",
            ]
        )
        == 0
    )
    return data


@pytest.fixture
def data(trained: Path, tmp_path: Path) -> Path:
    """A copy to delete from."""
    shutil.copytree(trained, tmp_path / "data")
    return tmp_path / "data"


def report(capsys: Output, *arguments: str) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    return json.loads(captured.out)


def lines(capsys: Output, *arguments: str) -> list[str]:
    capsys.readouterr()
    assert run(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def refusal(capsys: Output, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run(list(arguments))
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    return code, captured.err


# --- league ---------------------------------------------------------------------------------------


def test_the_rating_table(trained: Path, capsys: Output) -> None:
    found = report(capsys, "league", "demo", "--data", str(trained))
    players = found["players"]
    assert found["population"] == "demo"
    assert found["best"] in {
        player["id"] for player in players if player["kind"] == "snapshot" and player["games"] >= 30
    }
    lows = [player["low"] for player in players if player["low"] is not None]
    assert lows == sorted(lows, reverse=True) and len(lows) > 1
    anchor = next(player for player in players if player["player"] == "random")
    assert (anchor["elo"], anchor["low"], anchor["high"]) == (0.0, 0.0, 0.0)
    for player in players:
        assert player["games"] == player["wins"] + player["draws"] + player["losses"]
        assert player["score"] == (player["wins"] + player["draws"] / 2) / player["games"]
        assert player["provisional"] == (player["games"] < 30)
        assert (player["rank"] is None) == (player["provisional"] or player["player"] == "random")
    best = next(player for player in players if player["id"] == found["best"])
    assert best["rank"] == min(
        player["rank"] for player in players if player["rank"] and player["kind"] == "snapshot"
    )
    assert best["score_vs_best"] is None and best["predicted_vs_best"] is None


def test_the_table_for_people(trained: Path, capsys: Output) -> None:
    text = lines(capsys, "league", "demo", "--data", str(trained), "--top", "0")
    assert text[0].strip() == "population demo"
    assert text[1].split() == [
        "rank",
        "player",
        "id",
        "Elo",
        "[95",
        "%]",
        "games",
        "W/D/L",
        "score",
        "vs",
        "best",
        "vs",
        "random",
        "to",
        "best",
        "to",
        "middle",
        "met",
    ]
    assert any("demo/m0@" in line for line in text)
    assert any("evaluation games and matches" in line and "random = 0" in line for line in text)
    assert any(line.startswith("demo@best is demo/m") for line in text)
    assert text[-1].endswith("random --fresh")
    few = lines(capsys, "league", "demo", "--data", str(trained), "--top", "1")
    assert any("more: --top 0" in line for line in few)


def test_nobody_is_best_and_what_to_do(trained: Path, capsys: Output) -> None:
    (line,) = lines(capsys, "league", "unrated", "--data", str(trained))
    assert "no evaluation game was played yet" in line and "train on" in line
    found = report(capsys, "league", "unrated", "--data", str(trained))
    assert (found["best"], found["players"]) == (None, [])


def test_without_a_name_each_population_and_with_all_each_game(
    trained: Path, capsys: Output
) -> None:
    assert [entry["population"] for entry in report(capsys, "league", "--data", str(trained))] == [
        "demo",
        "unrated",
    ]
    (together,) = report(capsys, "league", "--all", "--data", str(trained))
    assert together["everyone"]
    assert (
        report(capsys, "league", "unrated", "--all", "--data", str(trained))["players"]
        == together["players"]
    )


def test_an_empty_folder_says_how_to_begin(tmp_path: Path, capsys: Output) -> None:
    folder = str(tmp_path / "none")
    for command in ("league", "populations"):
        (line,) = lines(capsys, command, "--data", folder)
        assert "arena demo" in line
        assert report(capsys, command, "--data", folder) == []
    assert not Path(folder).exists()


def test_one_function_prints_it_for_the_demo(trained: Path, capsys: Output) -> None:
    with open_league(league_path(trained), read_only=True) as league:
        print_league(league, "demo")
    printed = capsys.readouterr().out
    assert printed.splitlines() == lines(capsys, "league", "demo", "--data", str(trained))


# --- populations ----------------------------------------------------------------------------------


def test_populations_with_bytes(trained: Path, capsys: Output) -> None:
    demo, unrated = report(capsys, "populations", "--data", str(trained))
    paths = population_paths(trained, "demo")
    assert (demo["name"], demo["state"], demo["env"], demo["members"], demo["starts"]) == (
        "demo",
        "finished",
        "connect_four",
        2,
        1,
    )
    assert (
        demo["file_bytes"]
        == sum(path.stat().st_size for path in paths.root.rglob("*") if path.is_file())
        > 0
    )
    assert 0 < demo["row_bytes"] < league_path(trained).stat().st_size
    assert demo["frames"] >= 1200
    assert demo["best"]["player"].startswith("demo/m")
    assert unrated["best"] is None
    assert lines(capsys, "populations", "--data", str(trained))[0].split()[:3] == [
        "name",
        "state",
        "game",
    ]


def test_frames_are_those_that_were_learned_also_before_a_snapshot(
    data: Path, capsys: Output
) -> None:
    path = population_paths(data, "demo").status
    status = read_status(path)
    assert status is not None
    more = [replace(row, frames=5_000_000) for row in status.members]
    write_status(path, replace(status, members=tuple(more)))
    assert report(capsys, "populations", "--data", str(data))[0]["frames"] == 5_000_000
    path.write_text("{")
    assert 1200 <= report(capsys, "populations", "--data", str(data))[0]["frames"] < 5_000_000


def test_a_held_population_is_running_and_one_that_was_killed_is_not(
    data: Path, capsys: Output
) -> None:
    with PopulationLock(population_paths(data, "demo").lock, "demo"):
        assert [
            (row["state"], row["pid"]) for row in report(capsys, "populations", "--data", str(data))
        ] == [
            ("running", os.getpid()),
            ("finished", None),
        ]
    with sqlite3.connect(league_path(data)) as connection:
        connection.execute("UPDATE populations SET state = 'running'")
    connection.close()
    assert report(capsys, "populations", "--data", str(data))[0]["state"] == "killed"


def test_bytes_for_people() -> None:
    assert [bytes_text(count) for count in (0, 999, 1000, 1_234_567, 5_100_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.2 MB",
        "5100.0 GB",
    ]


# --- metrics --------------------------------------------------------------------------------------


def test_metrics_as_csv_on_stdout_and_in_a_file(
    trained: Path, tmp_path: Path, capsys: Output
) -> None:
    text = lines(capsys, "metrics", "demo", "--csv", "--data", str(trained))
    rows = list(csv.DictReader(text))
    assert {row["member"] for row in rows} == {"m0", "m1"}
    assert {
        "frames",
        "learning_rate",
        "entropy",
        "value_loss",
        "return",
        "lag_mean",
        "win_rate",
    } <= rows[0].keys()
    out = tmp_path / "curves.csv"
    assert (
        lines(capsys, "metrics", "demo", "--csv", "--out", str(out), "--data", str(trained)) == []
    )
    assert out.read_text().splitlines() == text
    newest = {
        entry["member"]: entry
        for entry in report(capsys, "metrics", "demo", "--data", str(trained))
    }
    assert newest["m1"]["frames"] == max(
        int(row["frames"]) for row in rows if row["member"] == "m1"
    )
    table = lines(capsys, "metrics", "demo", "--data", str(trained))
    assert table[0].split() == ["newest", "value", "m0", "m1"]


def test_metrics_that_the_disk_does_not_take_name_the_option(trained: Path, capsys: Output) -> None:
    code = run(["metrics", "demo", "--csv", "--out", "/dev/full", "--data", str(trained)])
    assert (code, "--out /dev/full: No space left" in capsys.readouterr().err) == (2, True)


def test_metrics_while_a_line_is_being_written(data: Path, capsys: Output) -> None:
    before = lines(capsys, "metrics", "demo", "--csv", "--data", str(data))
    with (population_paths(data, "demo").metrics / "metrics.jsonl").open("a") as file:
        file.write('{"incarnation":1,"member":"m0","fra')
    assert lines(capsys, "metrics", "demo", "--csv", "--data", str(data)) == before


# --- games ----------------------------------------------------------------------------------------


def test_games_as_csv(trained: Path, capsys: Output) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO("\n".join(lines(capsys, "games", "demo", "--csv", "--data", str(trained))))
        )
    )
    numbers = [int(row["number"]) for row in rows]
    assert numbers == list(range(len(rows)))
    training = [row for row in rows if row["kind"] == "training"]
    assert all(set(row["players"].split(";")) <= {"m0", "m1"} for row in training)
    assert all(len(row["places"].split(";")) == len(row["returns"].split(";")) == 2 for row in rows)
    evaluation = list(
        csv.DictReader(
            lines(capsys, "games", "demo", "--csv", "--kind", "evaluation", "--data", str(trained))
        )
    )
    assert [row["number"] for row in evaluation] == [
        row["number"] for row in rows if row["kind"] == "evaluation"
    ]
    newest = list(
        csv.DictReader(
            lines(
                capsys,
                "games",
                "demo",
                "--csv",
                "--kind",
                "training",
                "--limit",
                "5",
                "--data",
                str(trained),
            )
        )
    )
    assert newest == training[-5:]


def test_games_as_table_and_json(trained: Path, capsys: Output) -> None:
    assert len(lines(capsys, "games", "demo", "--data", str(trained))) == 1 + TABLE_GAMES
    found = report(capsys, "games", "demo", "--limit", "3", "--data", str(trained))
    assert [game["number"] for game in found] == sorted(game["number"] for game in found)
    assert len(found) == 3
    assert found[-1]["seats"][0]["player"]["kind"] in {"member", "snapshot", "scripted"}


# --- delete ---------------------------------------------------------------------------------------


def names(capsys: Output, data: Path) -> list[str]:
    return [row["name"] for row in report(capsys, "populations", "--data", str(data))]


def everything(data: Path) -> list[Path]:
    """All files but SQLite's own, which come and go with readers."""
    return sorted(path for path in data.rglob("*") if not path.name.startswith("league.db-"))


def test_dry_run_lists_and_removes_nothing(data: Path, capsys: Output) -> None:
    before = everything(data)
    found = report(capsys, "delete", "demo", "--dry-run", "--data", str(data))
    games = report(capsys, "populations", "--data", str(data))[0]["games"]
    assert found["rows"]["games"] == games
    assert found["files"] == sum(
        path.is_file() for path in population_paths(data, "demo").root.rglob("*")
    )
    assert not found["deleted"]
    text = lines(capsys, "delete", "demo", "--dry-run", "--data", str(data))
    assert f"{games} games" in text[1] and f"{found['files']}" in text[2]
    assert everything(data) == before


def test_yes_removes_rows_and_files_and_nothing_else(data: Path, capsys: Output) -> None:
    assert report(capsys, "delete", "demo", "--yes", "--data", str(data))["deleted"]
    assert names(capsys, data) == ["unrated"]
    assert sorted(path.name for path in (data / "populations").iterdir()) == ["unrated"]
    with sqlite3.connect(league_path(data)) as connection:
        assert connection.execute(
            "SELECT COUNT(*) FROM games WHERE incarnation_id NOT IN (SELECT id FROM incarnations)"
        ).fetchone() == (0,)
        assert connection.execute(
            "SELECT COUNT(*) FROM game_blocks WHERE id >> 36 NOT IN (SELECT id FROM incarnations)"
        ).fetchone() == (0,)
    connection.close()
    assert run(["delete", "demo", "--yes", "--data", str(data)]) == 2


def test_without_a_terminal_it_needs_yes(data: Path, capsys: Output) -> None:
    code, error = refusal(capsys, "delete", "demo", "--data", str(data))
    assert code == 2
    assert "--yes" in error and "--dry-run" in error
    assert names(capsys, data) == ["demo", "unrated"]


@pytest.mark.parametrize(
    ("answer", "left", "code"),
    [("y\n", ["unrated"], 0), ("n\n", ["demo", "unrated"], 1), ("\n", ["demo", "unrated"], 1)],
)
def test_on_a_terminal_it_asks(
    answer: str,
    left: list[str],
    code: int,
    data: Path,
    capsys: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert run(["delete", "demo", "--data", str(data)]) == code
    assert names(capsys, data) == left


def test_a_held_population_is_not_deleted(data: Path, capsys: Output) -> None:
    with PopulationLock(population_paths(data, "demo").lock, "demo"):
        code, error = refusal(capsys, "delete", "demo", "--yes", "--data", str(data))
    assert code == 1
    assert f"held by process {os.getpid()}" in error and "arena stop demo" in error
    assert names(capsys, data) == ["demo", "unrated"]


@pytest.mark.parametrize("step", ["rows half gone", "rows gone", "folder aside"])
def test_a_deletion_that_was_cut_short_is_repeated(
    step: str, data: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        match step:
            case "rows half gone":
                patch.setattr("arena.league.deletion._delete_some_games", killed)
            case "rows gone":
                patch.setattr(Path, "rename", killed)
            case _:
                patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(Killed):
            arena.league.deletion.delete(data, "demo")
    assert ("demo" in names(capsys, data)) == (step == "rows half gone")
    assert report(capsys, "delete", "demo", "--yes", "--data", str(data))["deleted"]
    assert names(capsys, data) == ["unrated"]
    assert sorted(path.name for path in (data / "populations").iterdir()) == ["unrated"]


# --- every command --------------------------------------------------------------------------------

WRONG = (
    (["league", "dmo"], 2, "did you mean 'demo'?"),
    (["metrics", "dmo"], 2, "did you mean 'demo'?"),
    (["metrics", "demo", "--csv", "--json"], 2, "choose one"),
    (["metrics", "demo", "--out", "x.csv"], 2, "add --csv"),
    (
        ["metrics", "demo", "--csv", "--out", "/no/such/folder/x.csv"],
        2,
        "No such file or directory",
    ),
    (["games", "dmo"], 2, "did you mean 'demo'?"),
    (["games", "demo", "--kind", "train"], 2, "expected training or evaluation"),
    (["delete", "dmo", "--yes"], 2, "did you mean 'demo'?"),
    (["delete", "../demo", "--yes"], 2, "population name"),
)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    WRONG,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_named(
    arguments: list[str], code: int, words: str, trained: Path, capsys: Output
) -> None:
    found, error = refusal(capsys, *arguments, "--data", str(trained))
    assert found == code
    assert words in error and len(error.splitlines()) <= 2


READING = (
    ["league", "demo"],
    ["populations"],
    ["metrics", "demo", "--csv"],
    ["games", "demo"],
    ["rounds", "list", "demo"],
    ["delete", "demo", "--dry-run"],
)


def test_none_of_them_imports_torch(trained: Path) -> None:
    program = (
        "import json, sys\nfrom arena.cli.app import run\n"
        f"codes = [run([*arguments, '--data', {str(trained)!r}]) for arguments in "
        "json.loads(sys.argv[1])]\n"
        "assert codes == [0] * len(codes), codes\n"
        "assert not {'torch', 'pettingzoo', 'gymnasium', 'tensorboard', 'alembic'} & "
        "sys.modules.keys()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(READING)],
        capture_output=True,
        text=True,
        cwd=Path(cli.__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
