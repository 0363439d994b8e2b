"""A backup is whole or refused, and what is restored is the data directory of one moment."""

import fcntl
import io
import json
import os
import random
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from arena.backup import cut, make, restore
from arena.backup.archive import ArchiveWriter, BackupError
from arena.backup.make import Description, make_backup
from arena.backup.progress import CopyProgress
from arena.backup.restore import restore_backup
from arena.cli.app import run
from arena.data.lock import PopulationLock
from arena.data.paths import league_path, population_paths
from arena.league.copying import populations_in
from arena.league.database import open_league
from arena.league.identity import folder_identity
from arena.league.retention import mark_weights_removed
from arena.league.stored_snapshots import list_snapshots
from arena.training.train import resume_training
from arena.verification.population import verify_population
from arena.verification.report import VerifyRequest
from pbt.checkpoint.folders import checkpoint_folders
from pbt.errors import ConfigError, HeldError
from pbt.snapshots import FileSnapshotStore
from tests.arena.tiny_populations import CONNECT_FOUR, train

Output = pytest.CaptureFixture[str]
TABLE = {
    **CONNECT_FOUR,
    "stop_at_frames": 600,
    "snapshots": {"every_frames": 100},
    "evaluation": {"share": 0.2, "final_games": 4},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one population, not to be changed."""
    data = tmp_path_factory.mktemp("home") / "data"
    train(data, "run", TABLE)
    (data / "service").mkdir()
    (data / "service" / "admin.token").write_text("secret words of the service")
    return data


@pytest.fixture(scope="module")
def saved(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of it, not to be changed."""
    path = tmp_path_factory.mktemp("saved") / "backup.tar"
    backed_up(home, path)
    return path


@pytest.fixture
def data(home: Path, tmp_path: Path) -> Path:
    """A copy of the data directory, to be changed."""
    return Path(shutil.copytree(home, tmp_path / "data"))


def backed_up(data: Path, path: Path) -> Description:
    return make_backup(data, path, CopyProgress())


def restored(path: Path, data: Path, *, dry_run: bool = False) -> Description:
    return restore_backup(path, data, CopyProgress(), dry_run=dry_run)


def differences(data: Path, name: str = "run", head: str | None = None) -> list[str]:
    report = verify_population(data, name, VerifyRequest(head, None), lambda *_: None)
    assert report.counts["snapshot_files"]
    return [f"{one.where}: {one.found}" for one in report.differences]


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_restored_population_is_the_same_and_goes_on(
    home: Path, saved: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    told = restored(saved, there)
    assert folder_identity(there) == folder_identity(home)
    with open_league(league_path(there)) as league:  # a writer compares both identities
        assert league.identity == folder_identity(home)
    (population,) = told.populations
    newest = checkpoint_folders(population_paths(home, "run").checkpoints)[-1]
    kept = checkpoint_folders(population_paths(there, "run").checkpoints)
    assert [path.name for path in kept] == [population.checkpoint] == [newest.name]
    assert files_in(kept[0]) == files_in(newest)
    for part in ("snapshots", "metrics"):
        assert files_in(there / "populations/run" / part) == files_in(
            home / "populations/run" / part
        )
    assert differences(there, head=population.head) == []
    result = resume_training("run", there, ["stop_at_frames=900"], lambda progress: None)
    assert result.finished
    assert differences(there, head=population.head) == []


def test_what_belongs_to_processes_and_tokens_stays_behind(saved: Path, tmp_path: Path) -> None:
    restored(saved, tmp_path / "there")
    names = files_in(tmp_path / "there").keys()
    assert {"league.db", "identity", "populations/run/config.json"} <= names
    assert not [name for name in names if name.startswith("service") or name.endswith("/lock")]
    assert b"secret words" not in saved.read_bytes()
    assert saved.stat().st_mode & 0o77 == 0
    assert (tmp_path / "there/league.db").stat().st_mode & 0o77 == 0


def test_the_restored_league_knows_no_process_of_the_original(data: Path, tmp_path: Path) -> None:
    """A service on the restored league would take them for its own, and end them."""
    with open_league(league_path(data)) as league, league.write() as connection:
        connection.execute(
            text(
                "INSERT INTO supervised VALUES (1, 'running', 1.0, '[]', 3, 'running', NULL, '', "
                "1.0, 0, '77 boot 1')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO evaluations (request, cancelled, state, message, restarts, process, "
                "created_at) VALUES ('{}', 0, 'RUNNING', '', 0, '78 boot 1', 1.0)"
            )
        )
    backed_up(data, tmp_path / "b.tar")
    restored(tmp_path / "b.tar", tmp_path / "there")
    with open_league(league_path(tmp_path / "there")) as league, league.read() as connection:
        rows = connection.execute(text("SELECT desired, state, trainer FROM supervised")).all()
        assert [tuple(row) for row in rows] == [("running", "running", None)]
        assert connection.execute(text("SELECT process FROM evaluations")).scalar() is None


# --- refused places ---------------------------------------------------------------------------


def test_a_second_restore_to_the_same_place_is_refused(saved: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    restored(saved, there)
    before = files_in(there)
    with pytest.raises(ConfigError, match=r"there is not empty \(identity, league\.db, popul"):
        restored(saved, there)
    assert files_in(there) == before


def test_a_folder_with_anything_in_it_is_refused_and_an_empty_one_is_taken(
    saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"):
        restored(saved, tmp_path / "full")
    assert files_in(tmp_path / "full") == {"letter": b"mine"}
    (tmp_path / "empty").mkdir()
    restored(saved, tmp_path / "empty")
    assert differences(tmp_path / "empty") == []


def test_a_file_that_exists_is_not_written_over(home: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "b.tar").write_text("an older backup")
    assert run(["backup", str(tmp_path / "b.tar"), "--data", str(home)]) == 2
    assert "b.tar exists already; name a new file" in capsys.readouterr().err
    assert files_in(tmp_path) == {"b.tar": b"an older backup"}
    assert run(["backup", str(tmp_path), "--data", str(home)]) == 2
    assert run(["backup", str(tmp_path / "no/b.tar"), "--data", str(home)]) == 2
    assert run(["backup", str(tmp_path / "c.tar"), "--data", str(tmp_path / "nothing")]) == 2
    assert files_in(tmp_path) == {"b.tar": b"an older backup"}


def test_one_process_at_a_time_writes_a_backup(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    with make.new_file(path) as file:
        file.write(b"so far")
        with pytest.raises(HeldError, match="another process writes this backup"):
            backed_up(home, path)
        assert not path.exists()
    assert path.read_bytes() == b"so far"


def test_one_process_at_a_time_restores_into_a_folder(saved: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / ".restoring").mkdir()
    holder = os.open(there, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(HeldError, match="another process restores into it"):
        restored(saved, there)
    assert (there / ".restoring").exists()
    os.close(holder)
    restored(saved, there)


@pytest.mark.parametrize("module", [make, restore])
def test_a_disk_without_room_is_named_beforehand(
    module: Any, home: Path, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)
    source, act = (home, backed_up) if module is make else (saved, restored)
    with pytest.raises(BackupError, match=r"1\.0 kB are free, the backup needs \d+\.\d kB"):
        act(source, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


# --- damaged backups --------------------------------------------------------------------------


def test_a_flipped_byte_is_found_and_nothing_is_restored(saved: Path, tmp_path: Path) -> None:
    """Only bytes that pad the tar may differ: then all files are as they were."""
    content, chance = bytearray(saved.read_bytes()), random.Random(3)
    with tarfile.open(saved) as tar:
        places = [place for member in tar for place in _places(member, chance)]
    path = tmp_path / "flipped.tar"
    for place, matters in chance.sample(places, 60):
        bit = 1 << chance.randrange(8)
        content[place] ^= bit
        path.write_bytes(content)
        with pytest.raises(BackupError, match=re.escape(str(path))) if matters else nullcontext():
            restored(path, tmp_path / "there", dry_run=True)
        content[place] ^= bit
    place = saved.read_bytes().index(b"SQLite format 3") + 5000
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(BackupError, match=r"damaged: league.db has the SHA-256 .*, expected"):
        restored(path, tmp_path / "there")
    assert not (tmp_path / "there").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(BackupError):
        restored(path, tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []


def _places(member: tarfile.TarInfo, chance: random.Random) -> Iterator[tuple[int, bool]]:
    """(offset, whether a flip there changes a file or its name) of some bytes of a member."""
    yield member.offset_data - 512 + chance.randrange(100), True  # its name, in its header
    yield member.offset_data - 512 + 124 + chance.randrange(11), True  # its size
    if member.size:
        yield member.offset_data + chance.randrange(member.size), True
    padding = -member.size % 512
    if padding:
        yield member.offset_data + member.size + chance.randrange(padding), False


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.8, 0.99])
def test_a_backup_that_was_cut_off_is_refused(saved: Path, tmp_path: Path, share: float) -> None:
    content = saved.read_bytes()
    (tmp_path / "cut.tar").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(BackupError, match=r"cut\.tar"):
        restored(tmp_path / "cut.tar", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def _link(tar: tarfile.TarFile) -> None:
    link = tarfile.TarInfo("arena-data/league.db")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    tar.addfile(link)


def _file(name: str) -> Callable[[tarfile.TarFile], None]:
    def add(tar: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))

    return add


@pytest.mark.parametrize(
    "add",
    [
        _link,
        _file("arena-data/../outside"),
        _file("/tmp/outside"),
        _file("arena-data/populations/.hidden/x"),
        _file("letter"),
    ],
)
def test_members_that_no_backup_has_are_refused(
    add: Callable[[tarfile.TarFile], None], tmp_path: Path
) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        add(tar)
    with pytest.raises(BackupError, match="no backup has such a member"):
        restored(tmp_path / "evil.tar", tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", ["service/admin.token", "populations/UPPER/config.json", "letter"])
def test_files_that_have_no_place_in_a_data_directory_are_refused(
    saved: Path, tmp_path: Path, name: str
) -> None:
    """The sums of such a backup agree, because it was made so."""
    with (tmp_path / "evil.tar").open("wb") as file, tarfile.open(saved) as tar:
        writer = ArchiveWriter(file, lambda size: None)
        for member in tar:
            if not member.name.endswith("SHA256SUMS"):
                opened = tar.extractfile(member)
                assert opened is not None
                writer.add_bytes(member.name.removeprefix("arena-data/"), opened.read())
        writer.add_bytes(name, b"mine")
        writer.finish()
    with pytest.raises(BackupError, match=f"'{name}' has no place in a data directory"):
        restored(tmp_path / "evil.tar", tmp_path / "there")
    assert not (tmp_path / "there").exists()


# --- what happens meanwhile -------------------------------------------------------------------


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], list[int]]:
    """Has something done once, right after the first view of the league began."""

    def arrange(act: Callable[[], None]) -> list[int]:
        views: list[int] = []

        def watched(connection: Any) -> Any:
            found = populations_in(connection)
            views.append(len(found))
            if len(views) == 1:
                act()
            return found

        monkeypatch.setattr(cut, "populations_in", watched)
        return views

    return arrange


def _newest(data: Path) -> str:
    with open_league(league_path(data), read_only=True) as league:
        return list_snapshots(league, "run")[-1].record.snapshot_id


def test_a_snapshot_that_retention_removes_meanwhile_does_not_break_it(
    data: Path,
    tmp_path: Path,
    meanwhile: Callable[[Callable[[], None]], list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshot_id, store = _newest(data), FileSnapshotStore(population_paths(data, "run").snapshots)

    def prune() -> None:
        with open_league(league_path(data)) as league:
            mark_weights_removed(league, [snapshot_id], "run")
        store.remove([snapshot_id])

    # It came after the snapshots had been copied, so that only the view knows it.
    monkeypatch.setattr(
        make,
        "snapshot_files",
        lambda paths: [p for p in paths.snapshots.iterdir() if snapshot_id not in p.name],
    )
    views = meanwhile(prune)
    told = backed_up(data, tmp_path / "b.tar")
    assert len(views) == 2
    assert told.warnings == ()
    restored(tmp_path / "b.tar", tmp_path / "there")
    assert differences(tmp_path / "there") == []


def test_a_lost_snapshot_is_told_and_the_rest_is_saved(
    data: Path, tmp_path: Path, capsys: Output
) -> None:
    snapshot_id = _newest(data)
    FileSnapshotStore(population_paths(data, "run").snapshots).remove([snapshot_id])
    assert run(["backup", str(tmp_path / "b.tar"), "--data", str(data)]) == 0
    said = capsys.readouterr().err
    assert f"warning: snapshot {snapshot_id[:12]} of run: its file is lost" in said
    restored(tmp_path / "b.tar", tmp_path / "there")
    (only,) = differences(tmp_path / "there")
    assert only.endswith("no file")


def test_a_checkpoint_that_comes_meanwhile_is_the_one_that_is_taken(
    data: Path, tmp_path: Path, meanwhile: Callable[[Callable[[], None]], list[int]]
) -> None:
    def train_on() -> None:
        resume_training("run", data, ["stop_at_frames=700"], lambda progress: None)

    views = meanwhile(train_on)
    (population,) = backed_up(data, tmp_path / "b.tar").populations
    assert len(views) == 2
    newest = checkpoint_folders(population_paths(data, "run").checkpoints)[-1]
    assert population.checkpoint == newest.name
    restored(tmp_path / "b.tar", tmp_path / "there")
    assert differences(tmp_path / "there", head=population.head) == []


def test_a_damaged_newest_checkpoint_is_replaced_by_the_one_before(
    data: Path, tmp_path: Path
) -> None:
    before, newest = checkpoint_folders(population_paths(data, "run").checkpoints)[-2:]
    state = newest / "state.json"
    state.write_bytes(state.read_bytes()[:-1] + b" ")
    told = backed_up(data, tmp_path / "b.tar")
    assert told.populations[0].checkpoint == before.name
    assert told.warnings == (f"run: checkpoint {newest.name}: state.json is damaged",)
    (newest / "manifest.json").unlink()
    assert backed_up(data, tmp_path / "c.tar").populations[0].checkpoint == before.name


def test_a_held_population_is_backed_up(data: Path, tmp_path: Path) -> None:
    with PopulationLock(population_paths(data, "run").lock, "run"):
        backed_up(data, tmp_path / "b.tar")
    assert files_in(data).keys() >= {"populations/run/lock"}


# --- the commands -----------------------------------------------------------------------------


def command(capsys: Output, *words: Sequence[str] | Path | str) -> Any:
    capsys.readouterr()
    assert run([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_commands_say_what_they_did(home: Path, tmp_path: Path, capsys: Output) -> None:
    path, there = tmp_path / "b.tar", tmp_path / "there"
    made = command(capsys, "backup", path, "--data", home)
    assert made["backup"] == str(path)
    assert made["size_bytes"] == path.stat().st_size
    looked = command(capsys, "restore", path, "--data", there, "--dry-run")
    assert not looked["restored"]
    assert not there.exists()
    done = command(capsys, "restore", path, "--data", there)
    assert done["restored"]
    assert done["populations"] == made["populations"] == looked["populations"]
    head = done["populations"][0]["head"]
    assert run(["verify", "run", "--head", head, "--replay", "none", "--data", str(there)]) == 0
    assert run(["restore", str(path), "--data", str(tmp_path / "again")]) == 0
    assert f"proof: arena verify run --head {head} --data" in capsys.readouterr().out
    assert run(["restore", str(tmp_path / "none.tar"), "--data", str(tmp_path / "new")]) == 2
    assert "none.tar: No such file or directory; expected a file" in capsys.readouterr().err
    assert run(["restore", str(there), "--data", str(tmp_path / "new")]) == 2
    assert "there: Is a directory; expected a file of `arena backup`" in capsys.readouterr().err
