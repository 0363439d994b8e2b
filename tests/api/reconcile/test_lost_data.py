"""A data directory that goes away under a running service, and a league that is damaged."""

import random
import shutil
from pathlib import Path

import pytest

from arena.data.paths import league_path
from pbt.errors import PbtError
from tests.api.service import Service, new_app, serving

READS = (
    "/v1/populations",
    "/v1/populations/one",
    "/v1/populations/one/members",
    "/v1/populations/one/games",
    "/v1/populations/one/events",
    "/v1/populations/one/snapshots",
    "/v1/evaluations",
    "/v1/matches",
    "/v1/ratings?population=one",
    "/v1/win-matrix?population=one",
    "/v1/system",
    "/readyz",
)


def ready(service: Service) -> bool:
    return service.client.get("/readyz").status_code == 200


@pytest.mark.parametrize("left", [False, True])
def test_a_data_directory_that_goes_away_is_told_and_comes_back(tmp_path: Path, left: bool) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    with serving(data) as service:
        service.create("one")
        headers = {"authorization": f"Bearer {service.token('admin')}"}
        data.rename(away)
        if left:  # as an unmounted disk leaves it
            data.mkdir()
        service.wait(lambda: not ready(service))
        told = service.client.get("/readyz").json()
        assert "moved, removed or unmounted" in told["detail"]
        assert str(tmp_path) not in told["detail"]
        for path in ("/v1/populations", "/v1/populations/one", "/v1/system"):
            answer = service.client.get(path, headers=headers)
            assert (answer.status_code, "not there" in answer.text) == (503, True), answer.text
        refused = service.client.post("/v1/populations/one/start", headers=headers)
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert not data.exists() or list(data.iterdir()) == []
        if left:
            data.rmdir()
        away.rename(data)
        service.wait(lambda: ready(service))
        started = service.call("POST", "/v1/populations/one/start")
        assert service.done(started)["state"] == "SUCCEEDED"


def damaged(league: Path, seed: int) -> None:
    """Bits of the file are flipped, or of its header alone, or stored JSON is broken."""
    rng = random.Random(seed)
    content = bytearray(league.read_bytes())
    json = [at for at, byte in enumerate(content) if byte in b'{}[]"']
    places = (range(len(content)), range(100), json)[seed % 3]
    for at in rng.sample(places, 30):
        content[at] ^= 1 << rng.randrange(8)
    league.write_bytes(content)


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_league_is_no_fault_of_the_service(tmp_path: Path, seed: int) -> None:
    """It is told at the start in one line, or by every answer that needs the damaged part."""
    with serving(tmp_path) as service:
        service.create("one")
        body = {"players": ["random", "random"], "env": "connect_four"}
        service.call("POST", "/v1/evaluations", body)
    damaged(league_path(tmp_path), seed)
    try:
        new_app(tmp_path).state.context.league.close()
    except PbtError:
        return
    with serving(tmp_path) as service:
        headers = {"authorization": f"Bearer {service.token('admin')}"}
        for path in READS:
            answer = service.client.get(path, headers=headers)
            assert answer.status_code in (200, 404, 503), (path, answer.text)


def test_a_league_that_is_damaged_while_it_is_served_answers_503(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        service.create("one")
        service.call("GET", "/v1/populations")
        league = service.league.path
        shutil.copy(league, tmp_path / "copy")
        content = league.read_bytes()
        service.league.close()
        league.with_name("league.db-wal").unlink(missing_ok=True)
        league.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
        answer = service.client.get(
            "/v1/populations", headers={"authorization": f"Bearer {service.token('viewer')}"}
        )
        assert answer.status_code == 503, answer.text
        assert "malformed" in answer.text and str(tmp_path) not in answer.text
