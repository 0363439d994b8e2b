"""Run by tests/e2e/test_full_disk.py in a mount namespace of its own, where $ARENA_SMALL_DISK is
a tmpfs of a few megabytes. Each test fills it.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import torch

from arena.data.metrics import MetricsWriter, read_metrics
from arena.league.database import damage, open_league
from arena.league.game_rows import population_games
from arena.league.writer import LeagueWriter
from pbt.checkpoint.files import (
    Checkpoint,
    read_checkpoint,
    read_newest,
    write_checkpoint,
)
from pbt.checkpoint.folders import checkpoint_folders
from pbt.errors import CheckpointError, PbtError, SnapshotError
from pbt.film.folder import FilmFolder
from pbt.snapshots import FileSnapshotStore
from tests.api.live import live
from tests.arena.league.samples import game, new_league
from tests.arena.matches.lamps import Lamps
from tests.league_rows import league_rows
from tests.pbt.checkpoint.cuts import empty_run
from tests.pbt.film.reading import read
from tests.pbt.sampling.test_filming import name_of, play
from tests.served import SMALL_TRAINING, Served, wait

DISK = Path(os.environ["ARENA_SMALL_DISK"])
FULLS = int(os.environ.get("ARENA_FULLS", "2"))
BLOCK = 1 << 16
MARKS = ("--soft-disk-gb", "0.016", "--hard-disk-gb", "0.008")
# Below the hard mark, and enough for rows that say so.
SOME = 5_000_000
NOTICED_S, HELD_S, BACK_S = 30.0, 3.0, 120.0
CONFIG: dict[str, Any] = {
    **SMALL_TRAINING,
    "snapshots": {"every_frames": 2000, "keep_newest": 4},
    "evaluation": {"share": 0.3, "final_games": 4},
    "checkpoints": {"every_s": 0.5},
}


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """A test's own, on the small disk."""
    found = DISK / request.node.name
    found.mkdir()
    return found


@contextmanager
def full(left_bytes: int = 0, path: Path = DISK / "filler") -> Iterator[None]:
    """No more is free inside, whatever is deleted meanwhile."""
    over, reached = threading.Event(), threading.Event()

    def fill() -> None:
        with path.open("wb", buffering=0) as file:
            while not over.is_set():
                room = free_bytes() - left_bytes
                try:
                    written = file.write(b"x" * min(BLOCK, room)) if room > 0 else 0
                except OSError:
                    written = 0
                if not written:
                    reached.set()
                    over.wait(0.005)

    filler = threading.Thread(target=fill)
    filler.start()
    try:
        assert reached.wait(NOTICED_S)
        yield
    finally:
        over.set()
        filler.join()
        path.unlink()


def free_bytes() -> int:
    found = os.statvfs(DISK)
    return found.f_bavail * found.f_frsize


def cut(number: int) -> Checkpoint:
    return Checkpoint(
        number,
        empty_run({"number": number}),
        {"weights": {"a": torch.full((50_000,), float(number))}},
    )


def test_a_checkpoint_that_does_not_fit_leaves_the_older_ones(folder: Path) -> None:
    write_checkpoint(folder, cut(1), keep=2)
    with full(), pytest.raises(CheckpointError, match="No space left"):
        write_checkpoint(folder, cut(2), keep=2)
    assert [path.name for path in folder.iterdir()] == ["00000001"]
    write_checkpoint(folder, cut(2), keep=2)
    newest, damaged = read_newest(folder)
    assert (newest.state.config["number"], damaged) == (2, [])


def test_a_snapshot_that_does_not_fit_is_not_there(folder: Path) -> None:
    store = FileSnapshotStore(folder)
    with full(), pytest.raises(SnapshotError, match="free space"):
        store.put(cut(1).tensors["weights"], {})
    assert store.sizes() == {}
    kept, size = store.put(cut(1).tensors["weights"], {})
    assert store.sizes() == {kept: size}


def test_an_upload_that_does_not_fit_leaves_nothing(folder: Path) -> None:
    with live(folder / "data") as (_, service):
        headers = {
            "authorization": f"Bearer {service.token('admin')}",
            "content-type": "multipart/form-data; boundary=x",
        }
        start = b'--x\r\ncontent-disposition: form-data; name="weights"\r\n\r\n'
        with full(2 << 20):
            pieces = iter([start, *[bytes(1 << 20)] * 8])  # without a length, which is looked at
            answer = service.client.post("/v1/imports", content=pieces, headers=headers)
        assert (answer.status_code, answer.json()["title"]) == (507, "Too little free space")
        assert "the upload does not fit" in answer.json()["detail"]
        assert list((folder / "data/service/uploads").iterdir()) == []
        assert service.call("GET", "/v1/imports")["items"] == []


def test_games_wait_for_room_and_none_is_lost(folder: Path) -> None:
    league, incarnation = new_league(folder)
    with LeagueWriter(league, incarnation) as writer:
        for number in range(100):
            writer.game(game(number, kind="evaluation" if number % 2 else "training"))
        writer.drain(NOTICED_S)
        with full():
            for number in range(100, 20_000):
                writer.game(game(number, kind="evaluation" if number % 2 else "training"))
            with pytest.raises(PbtError, match="full"):
                writer.drain(2.0)
            assert writer.trouble is not None and writer.backlog > 0
            # Readers are not disturbed.
            with open_league(folder / "league.db", read_only=True) as reader:
                assert next(population_games(reader, "demo")).record.number == 0
        writer.drain(BACK_S)
        assert (writer.trouble, writer.backlog) == (None, 0)
    with league:
        assert damage(league) == []
        assert [stored.record for stored in population_games(league, "demo")] == [
            game(number, kind="evaluation" if number % 2 else "training")
            for number in range(20_000)
        ]


def test_curves_wait_for_room_and_none_is_lost(folder: Path) -> None:
    with MetricsWriter(folder, 1) as metrics:
        for start in (0, 2000, 4000):
            for frames in range(start, start + 2000):
                metrics.series("m0", frames, {"loss": frames / 3})
            if start == 2000:
                with full(), pytest.raises(OSError, match="No space left"):
                    metrics.flush()
            metrics.flush()
    assert [row.frames for row in read_metrics(folder)] == list(range(6000))


def test_a_film_that_does_not_fit_costs_no_game_and_leaves_nothing(folder: Path) -> None:
    """The disk fills up before the first games, and in the middle of later ones."""

    def left(folder: Path) -> set[str]:
        """Beside the note that says why; for that there need not be room."""
        return {path.name for path in folder.iterdir()} - {"problem.txt"}

    films = FilmFolder(folder)
    with full():
        ends = play(folder, 1, record_share=1.0)
    assert [end.reason for end in ends] == ["rules"] * 2 and left(folder) == set()
    with ExitStack() as filling:

        def fill_up(step: int) -> None:
            if step == 2 and free_bytes():
                filling.enter_context(full())

        ends = play(folder, 1, game=lambda: Lamps(on_step=fill_up), record_share=1.0)
        assert [end.reason for end in ends] == ["rules"] * 2
    assert films.films() == [] and left(folder) == set()
    ends = play(folder, 1, record_share=1.0)
    assert {film.name for film in films.films()} == {name_of(end) for end in ends}
    for film in films.films():
        assert read(film.path).pictures


# --- the service ----------------------------------------------------------------------------------


def games(data: Path) -> set[tuple[int, int]]:
    """What another process sees committed: (incarnation, number)."""
    with closing(league_rows(data / "league.db")) as connection:
        return {
            (row[0], row[1])
            for row in connection.execute("SELECT incarnation_id, number FROM games")
        }


def while_full(served: Served) -> None:
    """Alive all the time, soon not ready; then refuses what changes something, and still tells
    what there is.
    """
    until = time.monotonic() + NOTICED_S
    while (ready := httpx2.get(f"{served.url}/readyz").status_code) != 503:
        assert ready == 200 and time.monotonic() < until
        time.sleep(0.1)
    refused = [
        served.ask("POST", "/v1/populations", {"name": "second", "config": CONFIG}),
        served.ask("PATCH", "/v1/populations/first", {"set": {"evaluation.share": 0.1}}),
        served.ask("POST", "/v1/populations/first/start"),
        served.ask("POST", "/v1/populations/first/members", {}),
    ]
    assert [
        (answer.status_code, answer.json()["type"].rpartition(":")[2]) for answer in refused
    ] == [(507, "disk-full")] * 4, (
        f"{[answer.text for answer in refused]}\n{served.log.read_text()[-3000:]}"
    )
    until = time.monotonic() + HELD_S
    while time.monotonic() < until:
        assert (
            served.process.poll() is None and httpx2.get(f"{served.url}/livez").status_code == 200
        )
        answer = served.ask("GET", "/v1/populations/first/games?limit=5")
        assert answer.status_code == 200 and answer.json()["items"], (
            f"{answer.text}\n{served.log.read_text()[-3000:]}"
        )
        time.sleep(0.2)


def made_room(served: Served, name: str, left_bytes: int) -> int:
    """The status of a deletion while the disk is full. Below the mark it is done; where no byte
    is free the league may not even take the request.
    """
    served.call("POST", "/v1/populations", {"name": name, "config": CONFIG})
    with full(left_bytes):
        wait(lambda: httpx2.get(f"{served.url}/readyz").status_code == 503, NOTICED_S, served.log)
        answer = served.ask("DELETE", f"/v1/populations/{name}")
        assert answer.status_code == 202 or answer.json()["type"].endswith("disk-full"), answer.text
        if left_bytes:
            wait(
                lambda: served.ask("GET", f"/v1/populations/{name}").status_code == 404,
                NOTICED_S,
                served.log,
            )
    wait(lambda: httpx2.get(f"{served.url}/readyz").status_code == 200, NOTICED_S, served.log)
    if answer.status_code != 202:
        served.call("DELETE", f"/v1/populations/{name}")
    wait(
        lambda: served.ask("GET", f"/v1/populations/{name}").status_code == 404,
        NOTICED_S,
        served.log,
    )
    return int(answer.status_code)


def wait_at_rest(served: Served) -> None:
    """Below the mark its trainer has saved, and waits."""
    wait(lambda: served.state("first") == "queued", NOTICED_S, served.log)
    assert served.ask("GET", "/v1/populations/first").json()["status"]["reason"] == "disk"


def check_files(data: Path) -> None:
    """Every checkpoint and snapshot is whole, no half-written one is left, and every game stands
    once.
    """
    paths = data / "populations/first"
    folders = checkpoint_folders(paths / "checkpoints")
    assert folders and all(read_checkpoint(path) for path in folders)
    for path in (paths / "snapshots").glob("*"):
        assert (
            path.suffix == ".safetensors"
            and hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        )
    assert json.loads((paths / "config.json").read_text())["env"]["name"] == "connect_four"
    assert list(read_metrics(paths / "metrics"))
    with open_league(data / "league.db") as league:
        assert damage(league) == []
        numbers = [stored.record.number for stored in population_games(league, "first")]
        assert numbers == list(range(len(numbers)))


def test_the_service_outlives_a_full_disk(folder: Path) -> None:
    """Full to the last byte while it trains, then only below the mark, in turn. Its log lies on
    the same disk.
    """
    data = folder / "data"
    served = Served(data, words=MARKS)
    try:
        served.call("POST", "/v1/populations", {"name": "first", "config": CONFIG, "start": True})
        before: set[tuple[int, int]] = set()
        for number in range(FULLS):
            played = len(before)
            wait(
                lambda played=played: (
                    served.state("first") == "running" and len(games(data)) > played + 50
                ),
                BACK_S,
                served.log,
            )  # type: ignore[misc]
            before = games(data)
            with full(SOME if number % 2 else 0):
                while_full(served)
                if number % 2:
                    wait_at_rest(served)
            wait(
                lambda: httpx2.get(f"{served.url}/readyz").status_code == 200, NOTICED_S, served.log
            )
            assert before <= games(data)
        wait(
            lambda: served.state("first") == "running" and len(games(data)) > len(before) + 50,
            BACK_S,
            served.log,
        )
        assert made_room(served, "second", SOME) == 202
        print(f"a deletion where no byte is free: {made_room(served, 'third', 0)}")
        assert served.stop() == 0
    finally:
        if served.process.poll() is None:
            served.process.kill()
            served.process.wait()
    assert before <= games(data)
    check_files(data)
    assert not [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(data) in " ".join(process.info["cmdline"] or ())
    ]
    print(f"{FULLS} times full, {len(games(data))} games")
