"""`arena films`: the games of a population that were recorded, with who played."""

import json
import os
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.populations import create_population, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.film.folder import FilmFolder, FilmName
from tests.arena.league.samples import CONFIG, MEMBERS, RANDOM, game, snapshot, snapshot_player

Output = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three evaluation games, of which 0 and 2 were filmed, in this order; and the film of a
    game that is not stored.
    """
    with open_league(league_path(tmp_path)) as league:
        population_id = create_population(league, "duel", "doom_match", CONFIG, {}, MEMBERS)
        with LeagueWriter(league, open_incarnation(league, population_id, 1)) as writer:
            writer.snapshot(snapshot("a", frames=250_000))
            for number in range(3):
                writer.game(
                    game(
                        number,
                        (snapshot_player("a"), RANDOM),
                        kind="evaluation",
                        returns=(3.0, -1.5),
                    )
                )
    films = population_paths(tmp_path, "duel").films
    films.mkdir(parents=True)
    for number in (0, 2, 9):
        record = game(number)
        path = films / FilmName(record.environment, record.count, record.trajectory_hash).file
        path.write_bytes(b"x" * 1_234_000)
        os.utime(path, (1000 + number, 1000 + number))
    return tmp_path


def test_recorded_games_and_who_played(data: Path, capsys: Output) -> None:
    assert run(["films", "duel", "--data", str(data)]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["game", "seats", "(points)", "end", "MB", "film"]
    assert [line.split()[0] for line in lines] == ["duel:0", "duel:2"]
    assert (
        "duel/m0@250k (3), random (-1.5)" in lines[0]
        and " 1.2 " in lines[0]
        and lines[0].endswith("0-0-0000000000000000.mp4")
    )


def test_as_json(data: Path, capsys: Output) -> None:
    FilmFolder(population_paths(data, "duel").films).note_problem("the disk is full")
    assert run(["films", "duel", "--data", str(data), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [
        (film["game"], Path(film["film"]).is_file(), film["size_bytes"]) for film in found["films"]
    ] == [
        ("duel:0", True, 1_234_000),
        ("duel:2", True, 1_234_000),
    ]
    assert found["films"][0]["seats"][1] == {
        "player": "random",
        "kind": "scripted",
        "id": "random",
        "place": 1,
        "return": -1.5,
        "points": None,
    }
    assert found["problem"] == "the disk is full" and "the disk is full" in said.err


def test_a_population_without_films_and_one_that_is_not_there(data: Path, capsys: Output) -> None:
    for path in population_paths(data, "duel").films.iterdir():
        path.unlink()
    assert run(["films", "duel", "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"films": [], "problem": None}
    assert run(["films", "duel", "--data", str(data)]) == 0
    assert capsys.readouterr().out.startswith("population duel: no film; ")
    assert run(["films", "duet", "--data", str(data)]) == 2
    assert "did you mean 'duel'" in capsys.readouterr().err
