"""The folder of files that are being uploaded: one upload at a time, of which nothing stays.

It lies in the data directory, so that what is uploaded is on the disk where it is to be kept.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.http.problems import Problem
from api.http.settings import Settings


class Uploads:
    """The one upload of a service, and the files that it has so far."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = settings.folder / "uploads"
        self._taken = threading.Lock()

    def clear(self) -> None:
        """Remove what a service left that was killed. Only while no other service runs.

        What cannot be removed stays: it is in the way of nothing.
        """
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def folder(self, announced_bytes: int | None) -> Iterator[Path]:
        """A new folder for the files of one upload. It is removed at the end of the `with` block.

        announced_bytes  the length of the upload, None where it is not known yet
        Raises: Problem for one that is too long, that the disk has no room for, and while another
        upload goes on.
        """
        most = self._settings.max_import_bytes
        if announced_bytes is not None and announced_bytes > most:
            raise Problem("too-large", f"the body has more than {most} bytes")
        if not self._taken.acquire(blocking=False):
            raise Problem(
                "too-many-requests",
                "another snapshot is being imported; one is at a time",
                headers={"retry-after": "5"},
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.refuse_without_room(announced_bytes or 0)
            with tempfile.TemporaryDirectory(
                dir=self._folder, ignore_cleanup_errors=True
            ) as folder:
                yield Path(folder)
        finally:
            self._taken.release()

    def refuse_without_room(self, more_bytes: int = 0) -> None:
        """Raises: Problem where less than `hard_disk_bytes` would be left.

        more_bytes  that are still to come. They are needed twice: as the upload, and as the copy of
                    it that is kept
        """
        free = shutil.disk_usage(self._settings.data).free
        if free - 2 * more_bytes < self._settings.hard_disk_bytes:
            raise Problem(
                "disk-full",
                "too little free space for this snapshot; remove something first, such as a "
                "population or another import",
                headers={"retry-after": "30"},
            )
