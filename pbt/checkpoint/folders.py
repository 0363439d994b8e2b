"""The folders of checkpoints, and the manifest in each. Needs no torch."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from pbt import __version__
from pbt.errors import CheckpointError, ForeignCheckpointError

MANIFEST, STATE = "manifest.json", "state.json"
FORMAT = 2
"""Of the checkpoints that this program writes; `pbt/checkpoint/upgrade.py` reads earlier ones."""
PROGRAM = f"pbt-arena {__version__}"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint says of its files.

    format      of the checkpoint
    program     that wrote it, with its version; the first format does not say
    number      of the checkpoint
    written_at  seconds since the epoch; those of the first programs do not say
    sha256      file name -> SHA-256 of the file, in hexadecimal
    """

    format: int
    program: str = "an earlier pbt-arena"
    number: int
    written_at: float | None = None
    sha256: Mapping[str, str]


class _Written(msgspec.Struct):
    """What the manifest of any format says."""

    format: int
    program: str = "an unknown program"


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return (
        sorted(path for path in folder.glob("[0-9]*") if path.is_dir()) if folder.is_dir() else []
    )


def parse_manifest(name: str, content: bytes) -> Manifest:
    """The manifest of the checkpoint that is called so. content: that of the file MANIFEST.

    Raises: CheckpointError when it is damaged, ForeignCheckpointError for a newer format.
    """
    try:
        written = msgspec.json.decode(content, type=_Written)
        if written.format > FORMAT:
            raise ForeignCheckpointError(
                f"checkpoint {name}: format {written.format}, written by {written.program}; this "
                f"is {PROGRAM}, which reads formats up to {FORMAT}; go on with {written.program} "
                "or a later version"
            )
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"checkpoint {name}: {MANIFEST}: unreadable ({error})") from error
    if unfit := [file for file in manifest.sha256 if Path(file).name != file]:
        raise CheckpointError(f"checkpoint {name}: {unfit[0]!r} is no name of a file in it")
    return manifest
