"""`arena verify` and wiring certificates: they join the chain; a failing one is a difference."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.chain import chain_of_population
from arena.league.chain_check import check_chain
from arena.league.database import _engine, open_league
from arena.league.migrate import ensure_schema
from arena.league.populations import Incarnation, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.records import WiringCertificate, WiringCheck
from tests.arena.league.samples import new_league
from tests.arena.verification.forging import execute
from tests.arena.verification.made import NAME

Output = pytest.CaptureFixture[str]
FAULT = "learning_rate 0.1 in the optimiser, 0.2 in the league"


def verify(data: Path, capsys: Output) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", NAME, "--replay", "none", "--data", str(data), "--json"])
    return code, json.loads(capsys.readouterr().out)


def failing(member: str, number: int) -> WiringCertificate:
    return WiringCertificate(member, number, 999_000, (WiringCheck("values", 4, None, FAULT),))


def test_certificates_are_counted_and_superseded_ones_raise_no_alarm(
    made: Path, capsys: Output
) -> None:
    standing, superseded = (
        execute(made, "SELECT COUNT(*) FROM wiring_certificates WHERE superseded = ?", flag)[0][0]
        for flag in (0, 1)
    )
    code, report = verify(made, capsys)
    assert (code, report["certificates"]) == (0, standing)
    assert report["rows_recorded"]["wiring certificates"] == standing + superseded
    assert standing > 10 and superseded > 0


def test_a_failing_certificate_is_a_difference(data: Path, capsys: Output) -> None:
    columns = "id, population_id, number, first_game"
    (row,) = execute(data, f"SELECT {columns} FROM incarnations ORDER BY id DESC LIMIT 1")
    with (
        open_league(league_path(data)) as league,
        LeagueWriter(league, Incarnation(*row)) as writer,
    ):
        writer.certificate(failing("m0", 7))
    code, report = verify(data, capsys)
    (difference,) = report["differences"]
    assert code == 1
    assert difference["where"] == "wiring of m0, round 7, from 999000 frames"
    assert difference["found"] == FAULT


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE wiring_certificates SET checks = '[]' WHERE id = ?",
        "UPDATE wiring_certificates SET agrees = 1 - agrees WHERE id = ?",
        "UPDATE wiring_certificates SET superseded = 1 WHERE id = ?",
        "DELETE FROM wiring_certificates WHERE id = ?",
    ],
)
def test_an_altered_certificate_is_found(statement: str, data: Path, capsys: Output) -> None:
    last = "SELECT MAX(id) FROM wiring_certificates WHERE superseded = 0"
    execute(data, statement, execute(data, last)[0][0])
    code, report = verify(data, capsys)
    assert code == 1
    assert any(one["where"].startswith("wiring certificates") for one in report["differences"])


def test_a_resume_records_which_certificates_it_took_back(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    with LeagueWriter(league, incarnation) as writer:
        writer.certificate(failing("m0", 1))
    open_incarnation(league, incarnation.population_id, os.getpid(), last_game=-2)
    owner = chain_of_population(incarnation.population_id)
    assert check_chain(league, owner).differences == ()
    with league.write() as connection:
        connection.exec_driver_sql("UPDATE wiring_certificates SET superseded = 0")
    (difference,) = check_chain(league, owner).differences
    assert difference.where.endswith("superseded")
    league.close()


def test_certificates_from_before_the_chain_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "older" / "league.db"
    path.parent.mkdir()
    path.touch()
    engine = _engine(path, read_only=False)
    ensure_schema(engine, path, revision="0004")
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO populations VALUES (1, 'old', 'tictactoe', '{}', '{}', '{}', 'x', 1)",
            "INSERT INTO incarnations VALUES (1, 1, 1, 1, 1.0, NULL, 0)",
            "INSERT INTO wiring_certificates VALUES (5, 1, 'm0', 1, 100, '[]', 1, 3, 1.0, 0)",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()
    with open_league(path) as league:
        report = check_chain(league, chain_of_population(1))
        assert (report.unknown["wiring certificates"], report.differences) == (1, ())
        with league.write() as connection:
            connection.exec_driver_sql("DELETE FROM wiring_certificates")
        assert [one.found for one in check_chain(league, chain_of_population(1)).differences] == [
            "0 rows"
        ]
