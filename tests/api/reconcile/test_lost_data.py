"""A data directory that goes away under a running service, and a league that is damaged."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.cli import app as cli
from arena.data.paths import league_path
from arena.league.database import LeagueError, open_league
from arena.league.populations import create_population, open_incarnation
from pbt.errors import PbtError
from tests.api.service import Service, new_app, serving
from tests.arena.league.samples import CONFIG, MEMBERS, RANDOM, game, snapshot_player, write_games

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


@pytest.mark.parametrize("empty", [False, True])
def test_a_data_directory_that_goes_away_is_told_and_comes_back(
    tmp_path: Path, empty: bool
) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    with serving(data) as service:
        service.create("one")
        headers = {"authorization": f"Bearer {service.token('admin')}"}
        data.rename(away)
        if empty:  # as an unmounted disk leaves it
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
        if empty:
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


def is_open(path: Path) -> bool:
    """Whether this process has the file open."""
    return path in {link.resolve() for link in Path("/proc/self/fd").iterdir()}


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
        # Checked here, while the error keeps all that its frames know.
        assert not is_open(league_path(tmp_path))
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
        assert "it is damaged: `arena doctor`" in answer.text and str(tmp_path) not in answer.text


GAMES = 800


LeftLeagues = dict[bool, Path]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> LeftLeagues:
    """Leagues whose newest commits stand in their write-ahead logs, as a killed process leaves
    them. True: SQLite has copied them into the league's file, too, and keeps the log.
    """
    folder = tmp_path_factory.mktemp("left")
    found = {back: folder / f"copied-back-{back}" for back in (False, True)}
    for back, path in found.items():
        leave_as_if_killed(path, copied_back=back)
    return found


def leave_as_if_killed(folder: Path, *, copied_back: bool) -> None:
    made = folder.with_name(f"{folder.name}-made")
    made.mkdir()
    with open_league(league_path(made)) as league:
        population = create_population(league, "one", "connect_four", CONFIG, {}, MEMBERS)
        source = open_incarnation(league, population, os.getpid())
        for first in range(0, GAMES, 100):
            games = [
                game(number, (snapshot_player("a"), RANDOM), kind="evaluation")
                if number % 3
                else game(number)
                for number in range(first, first + 100)
            ]
            write_games(league, source, *games)
        if copied_back:
            with league.read() as connection:
                connection.exec_driver_sql("ROLLBACK")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").close()
                connection.exec_driver_sql("BEGIN")
        shutil.copytree(made, folder)


def cut(share: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def zeroed(path: Path) -> None:
    """In the middle."""
    content = bytearray(path.read_bytes())
    part = slice(len(content) * 2 // 5, len(content) * 3 // 5)
    content[part] = bytes(part.stop - part.start)
    path.write_bytes(content)


def flipped(path: Path) -> None:
    rng, content = random.Random(1), bytearray(path.read_bytes())
    for at in rng.sample(range(len(content)), 100):
        content[at] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def overwritten(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


STRIKES = {
    **{f"cut {share}": cut(share) for share in (0.0, 0.0001, 0.05, 0.1, 0.3, 0.5, 0.9)},
    "zeroed": zeroed,
    "flipped": flipped,
    "overwritten": overwritten,
    "removed": os.unlink,
}


QUICK = {("cut 0.1", True), ("cut 0.5", False), ("flipped", True)}
CASES = [
    pytest.param(strike, back, marks=() if (strike, back) in QUICK else pytest.mark.slow)
    for strike in STRIKES
    for back in (False, True)
]


@pytest.mark.parametrize(("strike", "copied_back"), CASES)
def test_a_damaged_write_ahead_log_is_no_fault_of_the_service(
    tmp_path: Path,
    left: LeftLeagues,
    strike: str,
    copied_back: bool,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SQLite takes the whole commits before the damage. Where the league's file has newer ones, the
    two may contradict each other: that is said, where it is met.
    """
    data = Path(shutil.copytree(left[copied_back], tmp_path / "data"))
    STRIKES[strike](data / "league.db-wal")
    with serving(data) as service:
        headers = {"authorization": f"Bearer {service.token('admin')}"}
        found = {path: service.client.get(path, headers=headers) for path in READS}
        for path, answer in found.items():
            assert answer.status_code in (200, 404, 503), (path, answer.text)
            if answer.status_code == 503:
                assert "it is damaged: `arena doctor` and `arena verify`" in answer.text, path
                assert str(tmp_path) not in service.client.get("/readyz").text
        assert service.client.get("/metrics", headers=headers).status_code == 200
        well = {answer.status_code for answer in found.values()} <= {200, 404}
        assert well or copied_back
        listed = found["/v1/populations/one/games"]
        if well and listed.status_code == 200:
            numbers = [item["number"] for item in listed.json()["items"]]
            assert numbers == [numbers[0] - at for at in range(len(numbers))] if numbers else True
            service.create("two")
        if strike == "cut 0.1" and copied_back:
            assert not well
            assert cli.run(["league", "one", "--data", str(data)]) == 1
            assert "it is damaged: `arena doctor`" in capsys.readouterr().err
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "strike",
    [
        overwritten,
        *(pytest.param(one, marks=pytest.mark.slow) for one in (cut(0.0), zeroed, os.unlink)),
    ],
)
def test_the_index_of_the_log_is_made_anew(
    tmp_path: Path, left: LeftLeagues, strike: Callable[[Path], None]
) -> None:
    """It holds nothing of its own: with the last process it is worth nothing."""
    data = Path(shutil.copytree(left[False], tmp_path / "data"))
    strike(data / "league.db-shm")
    with serving(data) as service:
        newest = service.call("GET", "/v1/populations/one/games?limit=1")["items"]
        assert newest[0]["number"] == GAMES - 1 and ready(service)


def test_a_league_that_is_empty_is_not_made_anew(tmp_path: Path, left: LeftLeagues) -> None:
    """Its log is kept for the file that is put back."""
    data = Path(shutil.copytree(left[False], tmp_path / "data"))
    shutil.copy(data / "league.db", tmp_path / "backup")
    os.truncate(data / "league.db", 0)
    with pytest.raises(LeagueError, match=r"it is empty, but its folder has the identity"):
        new_app(data)
    shutil.copy(tmp_path / "backup", data / "league.db")
    with serving(data) as service:
        newest = service.call("GET", "/v1/populations/one/games?limit=1")["items"]
        assert newest[0]["number"] == GAMES - 1
