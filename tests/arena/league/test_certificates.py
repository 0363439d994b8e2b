"""Wiring certificates in the league: stored once, read back, superseded and deleted."""

import os

import pytest

from arena.league.database import League
from arena.league.deletion import delete_population
from arena.league.populations import Incarnation, open_incarnation
from arena.league.stored_history import list_certificates
from arena.league.writer import LeagueWriter
from pbt.records import WiringCertificate, WiringCheck
from tests.arena.league.samples import game

Started = tuple[League, Incarnation]


def certificate(member: str, number: int, problem: str | None = None) -> WiringCertificate:
    checks = (
        WiringCheck("values", 4, None, problem),
        WiringCheck("actor_log_prob", 1_000, 1.5e-6, None),
    )
    return WiringCertificate(member, number, 100 * number, checks)


def test_they_are_stored_once_and_read_back(started: Started) -> None:
    league, incarnation = started
    given = [certificate("m0", 0), certificate("m1", 0), certificate("m0", 1, "0.1, not 0.2")]
    for _ in range(2):  # a commit may be repeated
        with LeagueWriter(league, incarnation) as writer:
            for record in given:
                writer.certificate(record)
    assert [stored.record for stored in list_certificates(league, "demo")] == given
    assert [record.problems for record in given] == [(), (), ("0.1, not 0.2",)]
    with league.read() as connection:
        agreeing = connection.exec_driver_sql(
            "SELECT agrees FROM wiring_certificates ORDER BY id"
        ).scalars()
        assert list(agreeing) == [1, 1, 0]


def test_a_number_that_is_none_is_refused_where_it_is_given(started: Started) -> None:
    league, incarnation = started
    wrong = WiringCertificate("m0", 0, 1, (WiringCheck("values", 1, float("nan"), None),))
    with LeagueWriter(league, incarnation) as writer, pytest.raises(ValueError, match="JSON"):
        writer.certificate(wrong)


def test_a_resume_supersedes_later_ones_and_a_deletion_removes_all(started: Started) -> None:
    league, incarnation = started
    with LeagueWriter(league, incarnation) as writer:
        writer.game(game(0))
        writer.certificate(certificate("m0", 0))
        writer.game(game(1))
        writer.certificate(certificate("m0", 1))
    open_incarnation(league, incarnation.population_id, os.getpid(), last_game=0)
    standing = list_certificates(league, "demo")
    everything = list_certificates(league, "demo", superseded=True)
    assert [stored.record.round for stored in standing] == [0]
    assert [(stored.record.round, stored.superseded) for stored in everything] == [
        (0, False),
        (1, True),
    ]
    delete_population(league, "demo")
    with league.read() as connection:
        left = connection.exec_driver_sql("SELECT COUNT(*) FROM wiring_certificates").scalar()
    assert left == 0
