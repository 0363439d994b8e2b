"""What Prometheus collects: types and names by its conventions, and numbers that are right."""

import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from api.http.observability import Observed
from api.reconcile.trainings import checkpoint_age_s
from arena.data.status import MemberRow, RowCounts, RunStatus
from arena.league.best_rating import BestRating
from arena.league.database import open_league
from arena.league.new_games import GameCounts
from arena.league.populations import Incarnation, find_population
from pbt import __version__
from pbt.checkpoint.files import Checkpoint, write_checkpoint
from tests.api.metrics import families, of_population, value
from tests.api.routes.test_read_routes import write_league
from tests.api.service import Service, serving
from tests.arena.league.samples import RANDOM, game, snapshot_player, write_games
from tests.arena.sample_status import STATUS
from tests.pbt.checkpoint.cuts import empty_run

TYPES = {
    "arena_best_rating": "gauge",
    "arena_best_rating_low": "gauge",
    "arena_build_info": "gauge",
    "arena_checkpoint_age_seconds": "gauge",
    "arena_db_wal_bytes": "gauge",
    "arena_disk_free_bytes": "gauge",
    "arena_env_frames": "counter",
    "arena_evaluations": "gauge",
    "arena_games": "counter",
    "arena_games_voided": "counter",
    "arena_http_request_seconds": "histogram",
    "arena_member_frames": "gauge",
    "arena_policy_lag_versions": "gauge",
    "arena_population_state": "gauge",
    "arena_populations": "gauge",
    "arena_ready": "gauge",
    "arena_rows_dropped": "counter",
    "arena_rows_trained": "counter",
    "arena_sse_clients": "gauge",
    "arena_trainer_ends": "counter",
    "arena_updates": "counter",
    "arena_updates_refused": "counter",
    "arena_worker_restarts": "counter",
}


def test_every_metric_has_the_type_and_the_name_that_prometheus_expects(shared: Service) -> None:
    families(shared)  # an answered request, for the histogram
    found = families(shared)
    own = {
        name: family.type
        for name, family in found.items()
        if name.startswith("arena_") and not name.endswith("_created")
    }
    assert own == TYPES
    for name, family in found.items():
        assert family.documentation, name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name
        for sample in family.samples:
            counts = sample.name.endswith("_total")
            assert counts == (family.type == "counter"), sample.name
    assert value(found, "arena_build_info", version=__version__) == 1
    started = value(found, "process_start_time_seconds")
    assert started is not None and 0 < started < time.time()
    assert value(found, "arena_evaluations", state="pending") == 0


def running(service: Service) -> float | None:
    return value(families(service), "arena_populations", state="running")


def test_a_population_is_measured_from_its_start_to_its_deletion(service: Service) -> None:
    service.create("one", start=True)
    service.create("never")
    service.wait_checkpoint("one")
    service.wait(
        lambda: (value(families(service), "arena_env_frames_total", population="one") or 0) > 0
    )
    found = families(service)
    assert running(service) == value(found, "arena_populations", state="created") == 1
    assert value(found, "arena_population_state", population="one", state="running") == 1
    assert of_population(found, "never") == {"arena_population_state"}
    clock = value(found, "arena_member_frames", population="one", member="m0")
    assert clock is not None and clock > 0
    age = value(found, "arena_checkpoint_age_seconds", population="one")
    assert age is not None and 0 <= age < 30
    for name in ("arena_disk_free_bytes", "arena_ready", "process_resident_memory_bytes"):
        assert value(found, name), name
    assert value(found, "arena_sse_clients") == 0
    assert value(found, "arena_http_request_seconds_count", route="/metrics", status="200")
    service.done(service.call("POST", "/v1/populations/one/stop"))
    first = value(families(service), "arena_checkpoint_age_seconds", population="one") or 0.0
    service.wait(
        lambda: (
            (value(families(service), "arena_checkpoint_age_seconds", population="one") or 0.0)
            > max(first, 1.0)
        )
    )
    service.done(service.call("DELETE", "/v1/populations/one"))
    assert running(service) == 0
    service.wait(lambda: not of_population(families(service), "one"))


def test_evaluations_wait_and_are_played(tmp_path: Path) -> None:
    with serving(tmp_path, max_evaluations=1) as service:
        for _ in range(3):
            body = {"players": ["endless", "random"], "env": "connect_four"}
            service.call("POST", "/v1/evaluations", body)
        service.wait(lambda: value(families(service), "arena_evaluations", state="running") == 1)
        assert value(families(service), "arena_evaluations", state="pending") == 2


def test_a_service_that_is_not_ready_says_so_in_its_metrics(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        token = {"authorization": f"Bearer {service.token('viewer')}"}
        (tmp_path / "data").rename(tmp_path / "away")
        service.wait(lambda: service.client.get("/readyz").status_code == 503)
        answer = service.client.get("/metrics", headers=token)
        assert answer.status_code == 200 and "arena_ready 0.0\n" in answer.text
        (tmp_path / "away").rename(tmp_path / "data")


def test_the_rating_of_the_best_is_that_of_the_table(tmp_path: Path) -> None:
    write_league(tmp_path)
    with open_league(tmp_path / "league.db") as league, league.read() as connection:
        (start,) = connection.exec_driver_sql("SELECT MAX(id) FROM incarnations").one()
        population = find_population(connection, "demo").id
    source = Incarnation(start, population, 2, 30)
    with open_league(tmp_path / "league.db") as league:
        games = [
            game(number, (snapshot_player("a"), RANDOM), (number % 4 == 0, 1), kind="evaluation")
            for number in range(100, 160)
        ]
        write_games(league, source, *games)
    with serving(tmp_path) as service:
        table = service.call("GET", "/v1/ratings?population=demo")
        rows = {row["id"]: row for row in table["players"]}
        best = rows[table["best"]]
        found = families(service)
        labels = {"population": "demo", "role": "player", "objective": "win"}
        told = [value(found, f"arena_best_rating{end}", **labels) for end in ("", "_low")]
        assert told == pytest.approx([best["elo"], best["low"]], abs=0.01)


def test_counters_begin_at_the_service_and_never_fall() -> None:
    """A trainer that was killed goes on from its checkpoint, with lower counts."""
    observed = Observed()

    def look(frames: int, trained: int) -> tuple[float | None, ...]:
        members = (MemberRow("m0", frames, 1.5, "learning", None, frames // 10, frames // 100),)
        rows = RowCounts(0, trained, 0, {"lag": trained // 2})
        observed.training("one", replace(STATUS, members=members, rows=rows))
        sample = observed.registry.get_sample_value
        one = {"population": "one"}
        member = {**one, "member": "m0"}
        return (
            sample("arena_env_frames_total", member),
            sample("arena_updates_total", member),
            sample("arena_updates_refused_total", member),
            sample("arena_rows_trained_total", one),
            sample("arena_rows_dropped_total", {**one, "reason": "lag"}),
            sample("arena_member_frames", member),
        )

    assert look(1000, 100) == (0, 0, 0, 0, 0, 1000)
    assert look(1500, 140) == (500, 50, 5, 40, 20, 1500)
    assert look(1200, 120) == (500, 50, 5, 40, 20, 1200)
    assert look(1600, 200) == (900, 90, 9, 120, 60, 1600)


def series(observed: Observed, population: str) -> set[tuple[str, ...]]:
    """(name, *other labels) of every series of a population."""
    return {
        (sample.name, *(text for key, text in sample.labels.items() if key != "population"))
        for metric in observed.registry.collect()
        for sample in metric.samples
        if sample.labels.get("population") == population and not sample.name.endswith("_created")
    }


def expected(status: RunStatus) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = {("arena_rows_trained_total",)}
    found |= {("arena_rows_dropped_total", reason) for reason in status.rows.dropped}
    found |= {("arena_worker_restarts_total", process.name) for process in status.processes}
    for member in status.members:
        for name in ("env_frames_total", "updates_total", "updates_refused_total"):
            found.add((f"arena_{name}", member.name))
        found.add(("arena_member_frames", member.name))
        if member.lag is not None:
            found.add(("arena_policy_lag_versions", member.name))
    return found


def test_what_a_training_no_longer_has_is_not_measured() -> None:
    observed = Observed()
    observed.training("one", STATUS)
    observed.training("other", STATUS)
    assert series(observed, "one") == expected(STATUS)
    less = replace(
        STATUS,
        members=STATUS.members[1:],
        processes=STATUS.processes[:1],
        rows=RowCounts(0, 0, 0, {}),
    )
    observed.training("one", less)
    assert series(observed, "one") == expected(less) < expected(STATUS)
    observed.count({"one": "running", "other": "stopped"})
    observed.played("one", GameCounts(5, 2, 1))
    observed.rated("one", [BestRating("player", "win", 250.0, None)])
    observed.forget("one")
    assert series(observed, "one") == set()
    assert series(observed, "other") == {*expected(STATUS), ("arena_population_state", "stopped")}


def test_the_best_of_a_role_changes_its_series_and_leaves_none_behind() -> None:
    observed = Observed()
    observed.rated("one", [BestRating("prey", "win", 1.0, 0.5), BestRating("hunter", "win", 2, 1)])
    observed.rated("one", [BestRating("prey", "margin", 3.0, None)])
    assert series(observed, "one") == {("arena_best_rating", "prey", "margin")}


def test_the_age_of_a_checkpoint_stands_in_it(tmp_path: Path) -> None:
    """Not in its folder: a copied or restored checkpoint is as old as what it holds."""
    assert checkpoint_age_s(tmp_path) is None
    folder = write_checkpoint(tmp_path, Checkpoint(2, empty_run(), {}), keep=2)
    os.utime(folder, (0, 0))
    assert checkpoint_age_s(tmp_path) == pytest.approx(0, abs=30)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["written_at"] -= 3600
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "00000001").mkdir()
    assert checkpoint_age_s(tmp_path) == pytest.approx(3600, abs=30)
    # Of an earlier version, and damaged.
    for content in ('{"format": 1}', "[]", "{", '{"written_at": "noon"}'):
        (folder / "manifest.json").write_text(content)
        os.utime(folder, (time.time() - 500, time.time() - 500))
        assert checkpoint_age_s(tmp_path) == pytest.approx(500, abs=30), content
