"""The facts of a report, read from a data directory."""

import platform
import time
from collections.abc import Mapping
from pathlib import Path

from arena.assessment.answer import Assessment
from arena.assessment.assessor import Assessor
from arena.assessment.read import config_in_force, newest_status
from arena.data.paths import population_paths
from arena.league.ancestry import find_weights, read_histories
from arena.league.chain import chain_head, chain_of_population
from arena.league.chain_check import check_chain
from arena.league.database import League
from arena.league.lineage import Histories, Lineage, trace
from arena.league.populations import find_population, stored_versions
from arena.league.results import population_results
from arena.league.summaries import list_populations
from arena.machine import memory_bytes, usable_cores, versions
from arena.report.config_facts import config_facts
from arena.report.met import Labels, fixed_opponents, matrix_facts, scores_or_margins
from arena.report.records import FixedOpponent, MatrixFacts, PopulationReport, ProofFacts
from pbt.config.stored import config_as_stored

CHEAP_GAMES = 50_000
"""Up to so many games the rows are compared with the chain; that takes some seconds at most."""


def read_report(league: League, data: Path, name: str, assessor: Assessor) -> PopulationReport:
    """The facts of a population's report.

    assessor  of this league

    Raises: PlayerError when there is no such population, ConfigError for a config that this program
    cannot read, EngineError where its rows contradict each other.
    """
    paths = population_paths(data, name)
    assessment = assessor.assess(name)
    histories, status = read_histories(league, name), newest_status(paths)
    summary = next(one for one in list_populations(league) if one.name == name)
    opponents, matrix = _met(league, name, assessment)
    config = config_as_stored(config_in_force(league, paths, name), f"config of {name!r}")
    return PopulationReport(
        assessment,
        assessor.strengths(name),
        opponents,
        matrix,
        histories,
        _ways(league, histories, assessment),
        config_facts(config),
        _proof(league, name, summary.games),
        summary.created_at,
        time.time(),
        None if status is None else status.ran_s or None,
        "" if status is None else status.placement,
        stored_versions(league, name),
        versions(),
        _machine(),
    )


def _met(
    league: League, name: str, assessment: Assessment
) -> tuple[tuple[FixedOpponent, ...], MatrixFacts | None]:
    """Who met whom; ((), None) where returns count, and no player beats another."""
    if assessment.unit == "return":
        return (), None
    results = population_results(league, name)
    found = scores_or_margins(results, margins=assessment.unit == "margin")
    labels = Labels.of(league, name, results.matrix.players)
    return fixed_opponents(found, labels), matrix_facts(found, labels, assessment)


def _ways(
    league: League, histories: Histories, assessment: Assessment
) -> tuple[tuple[str, Lineage], ...]:
    """How the best of each role came to be."""
    players = [role.best.player for role in assessment.roles if role.best is not None]
    return tuple((one, trace(histories, find_weights(league, one)[1])) for one in players)


def _proof(league: League, name: str, games: int) -> ProofFacts:
    with league.read() as connection:
        owner = chain_of_population(int(find_population(connection, name).id))
    if games > CHEAP_GAMES:
        return ProofFacts(*chain_head(league, owner), checked=False, problems=())
    found = check_chain(league, owner)
    problems = tuple(one.text for one in found.differences)
    return ProofFacts(found.records, found.head, checked=True, problems=problems)


def _machine() -> Mapping[str, str]:
    return {
        "system": platform.platform(),
        "cores": f"{usable_cores():g}",
        "memory": f"{memory_bytes() / 1e9:.1f} GB",
    }
