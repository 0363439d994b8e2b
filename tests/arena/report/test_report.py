"""Reports of leagues with simulated games, and of real short trainings."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.assessment.assessor import Assessor
from arena.cli.app import run
from arena.data.paths import population_paths
from arena.league.chain import chain_head, chain_of_population
from arena.league.database import League, open_league
from arena.report import read
from arena.report.page import page
from arena.report.read import read_report
from arena.report.records import PopulationReport
from pbt.errors import EngineError, PlayerError
from tests.arena.assessment.test_league import ROWS, grows, league_of, tell
from tests.arena.report.pages import PageReader
from tests.arena.tiny_populations import CONNECT_FOUR, UNRATED, train

BAD = "<script>alert(1)</script>"
Output = pytest.CaptureFixture[str]


def reported(league: League, data: Path, name: str = "demo") -> PopulationReport:
    return read_report(league, data, name, Assessor(league, data))


def read_page(report: PopulationReport) -> PageReader:
    """Its page, which asks for nothing and runs nothing."""
    reader = PageReader(page(report))
    assert "script" not in reader.elements and not reader.asking
    return reader


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, League]]:
    """A league with a population that surely learned."""
    data = tmp_path_factory.mktemp("grown")
    with league_of(data, grows) as league:
        tell(data, *ROWS)
        yield data, league


def test_it_says_what_the_terminal_says(grown: tuple[Path, League]) -> None:
    data, league = grown
    report = reported(league, data)
    text = read_page(report).text
    assert report.assessment.sentence == Assessor(league, data).assess("demo").sentence
    assert report.assessment.sentence in text and "learned" in text
    for title in ("Strength", "Against players that do not learn", "Who beats whom", "Config"):
        assert title in text
    assert "Score against random" in text and "demo/m0" in text
    head = chain_head(league, chain_of_population(1))[1]
    assert f"arena verify demo --head {head}" in text
    assert "compared with the chain, and agree" in text
    assert [one.player for one in report.opponents] == ["random"]
    assert report.matrix is not None and report.matrix.players[-1] == "random"
    for (row, column), met in report.matrix.cells.items():
        assert met.value == pytest.approx(1 - report.matrix.cells[column, row].value)


def test_no_text_of_a_population_becomes_html(grown: tuple[Path, League]) -> None:
    report = reported(grown[1], grown[0])
    made = report.assessment
    finding = replace(made.findings[0], text=BAD)
    members = tuple(replace(one, health_text=BAD, role=BAD) for one in made.members)
    differs = replace(report.config.differences[0], key=BAD, value=BAD, other=BAD)
    config = replace(report.config, beside=BAD, toml=BAD, differences=(differs,))
    hostile = replace(
        report,
        assessment=replace(
            made, population=BAD, game=BAD, sentence="x" + BAD[1:], findings=(finding,)
        ),
        opponents=(replace(report.opponents[0], player=BAD),),
        config=config,
        versions={BAD: BAD},
        machine={BAD: BAD},
        placement=BAD,
        proof=replace(report.proof, problems=(BAD,), head=BAD),
    )
    hostile = replace(hostile, assessment=replace(hostile.assessment, members=members))
    assert read_page(hostile).text.count("alert(1)") >= 18


def test_rows_that_were_altered_are_told(tmp_path: Path) -> None:
    with league_of(tmp_path, grows) as league:
        with league.write() as connection:
            connection.exec_driver_sql("UPDATE snapshots SET frames = frames + 1 WHERE id = 3")
        text = read_page(reported(league, tmp_path)).text
    assert "do not agree with the chain: 1 difference" in text


def test_a_long_chain_is_not_checked(
    grown: tuple[Path, League], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "CHEAP_GAMES", 10)
    report = reported(grown[1], grown[0])
    assert not report.proof.checked and report.proof.head != "0" * 64
    assert "were not compared" in read_page(report).text


def test_rounds_that_copied_a_lost_snapshot_are_an_error(tmp_path: Path) -> None:
    with league_of(tmp_path, grows) as league:
        with league.write() as connection:
            connection.exec_driver_sql("UPDATE snapshots SET generation = 1")
        with pytest.raises(EngineError, match="the league is not whole"):
            reported(league, tmp_path)
        with pytest.raises(PlayerError):
            reported(league, tmp_path, "absent")


def test_the_command_writes_a_file_of_a_real_training(tmp_path: Path, capsys: Output) -> None:
    data, out = tmp_path / "data", tmp_path / "first.html"
    train(data, "first", CONNECT_FOUR)
    command = ["report", "first", "--out", str(out), "--data", str(data)]
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == str(out) and said["size_bytes"] == out.stat().st_size
    text = PageReader(out.read_text(encoding="utf-8")).text
    assert said["sentence"] in text and said["head"] in text and "stop_at_frames 1500" in text
    out.write_text("mine")
    assert run(command) == 2 and out.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert run([*command, "--force"]) == 0 and "finished" in out.read_text(encoding="utf-8")
    assert run([*command[:2], "--out", str(tmp_path / "no/x.html"), *command[4:]]) == 2
    assert run(["report", "other", *command[2:], "--force"]) == 2
    assert "no population" in capsys.readouterr().err


def test_a_population_without_games_is_too_early(tmp_path: Path) -> None:
    train(tmp_path, "first", UNRATED)
    with open_league(tmp_path / "league.db", read_only=True) as league:
        report = reported(league, tmp_path, "first")
    text = read_page(report).text
    assert report.assessment.unit == "elo"
    assert "too few games to say" in text and "No snapshot has a rating yet" in text
    assert "No snapshot has met such a player yet" in text and "PBT held no round" in text


def test_a_damaged_config_is_an_error_that_names_it(tmp_path: Path, capsys: Output) -> None:
    with league_of(tmp_path, grows):
        population_paths(tmp_path, "demo").config.write_text('{"env": {"name": 3}}')
    out = tmp_path / "x.html"
    assert run(["report", "demo", "--out", str(out), "--data", str(tmp_path)]) == 2
    assert "config of 'demo'" in capsys.readouterr().err and not out.exists()
