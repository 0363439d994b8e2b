"""Snapshots: frozen weights on disk, named by the SHA-256 of their file."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import Tensor

from pbt.errors import AwayWeightsError, LostWeightsError, SnapshotError, reason
from pbt.files import PART_SUFFIX, sync_folder, write_whole
from pbt.models.weights import map_weights, to_bytes

SUFFIX = ".safetensors"
_ID = re.compile(r"[0-9a-f]{64}")


class FileSnapshotStore:
    """One file per snapshot in one folder. A file is whole or absent.

    Many processes may read. One writes: the process that holds the population's lock.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, int]:
        """Store weights. Returns (snapshot id, size in bytes) once they would survive a power cut.

        Equal weights and metadata give the same id.

        Raises: SnapshotError when the disk refuses.
        """
        content = to_bytes(weights, metadata)
        snapshot_id = hashlib.sha256(content).hexdigest()
        path = self.path(snapshot_id)
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == snapshot_id:
            return snapshot_id, len(content)
        try:
            self.folder.mkdir(exist_ok=True)
            write_whole(path, content, durable=True, many_writers=True)
            sync_folder(self.folder)
        except OSError as error:
            raise SnapshotError(
                f"{path}: could not be written: {reason(error)}; free space or make the folder "
                "writable, then resume"
            ) from error
        return snapshot_id, len(content)

    def load(self, snapshot_id: str) -> dict[str, Tensor]:
        """The tensors by name, on the CPU.

        They lie in pages of the file, so copy them and do not keep them.

        Raises: LostWeightsError when the file is missing or damaged, AwayWeightsError when its
        whole folder is gone.
        """
        path = self.path(snapshot_id)
        try:
            with path.open("rb") as file:
                sha256, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
        except FileNotFoundError:
            if not self.folder.is_dir():
                raise AwayWeightsError(
                    f"{path}: its folder was moved, removed or unmounted"
                ) from None
            raise LostWeightsError(
                f"{path}: lost: no such file; restore it from a backup, or choose another snapshot"
            ) from None
        if sha256 != snapshot_id:
            problem = f"{size} bytes with SHA-256 {sha256[:12]}..., expected {snapshot_id[:12]}..."
            raise LostWeightsError(
                f"{path} is damaged: {problem}; restore it from a backup, or delete it and "
                "choose another snapshot"
            )
        return map_weights(path)

    def path(self, snapshot_id: str) -> Path:
        """The file of a snapshot.

        Raises: SnapshotError unless the id is complete, so that no text from outside names another
        file.
        """
        if not _ID.fullmatch(snapshot_id):
            raise SnapshotError(
                f"snapshot id {snapshot_id!r}: expected 64 lower-case hexadecimal digits; "
                "`arena league` lists ids"
            )
        return self.folder / f"{snapshot_id}{SUFFIX}"

    def sizes(self) -> dict[str, int]:
        """Bytes of everything stored, by id, in the order of the ids."""
        files = sorted(
            path
            for path in self.folder.glob(f"*{SUFFIX}")
            if _ID.fullmatch(path.name.removesuffix(SUFFIX))
        )
        return {path.name.removesuffix(SUFFIX): path.stat().st_size for path in files}

    def remove(self, snapshot_ids: Iterable[str]) -> int:
        """Delete weights. Returns the bytes freed.

        Snapshots that are gone already are skipped, so a plan that was interrupted can be run
        again.
        """
        freed = 0
        for path in {self.path(snapshot_id) for snapshot_id in snapshot_ids}:
            if path.exists():
                freed += path.stat().st_size
                path.unlink()
        if freed:
            sync_folder(self.folder)
        return freed

    def remove_leftovers(self) -> None:
        """Delete the half-written files of writers that were killed.

        Only for the holder of the population's lock: the file of another process may still be
        growing.
        """
        for path in self.folder.glob(f"*{SUFFIX}.*{PART_SUFFIX}"):
            path.unlink()
