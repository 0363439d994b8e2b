"""The folders of checkpoints, and the manifest in each. Needs no torch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    """What the manifest of any format says, whatever the values are."""

    format: Any
    program: Any = "an unknown program"


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return (
        sorted(path for path in folder.glob("[0-9]*") if path.is_dir()) if folder.is_dir() else []
    )


def parse_manifest(name: str, content: bytes) -> Manifest:
    """The manifest of the checkpoint that is called so. content: that of the file MANIFEST.

    Raises: CheckpointError when it is damaged, ForeignCheckpointError for a newer format, and for
    one that no program of ours writes.
    """
    try:
        written = msgspec.json.decode(content, type=_Written)
        _check_format(name, written)
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"checkpoint {name}: {MANIFEST}: unreadable ({error})") from error
    if unfit := [file for file in manifest.sha256 if Path(file).name != file]:
        raise CheckpointError(f"checkpoint {name}: {unfit[0]!r} is no name of a file in it")
    return manifest


def _check_format(name: str, written: _Written) -> None:
    """Raises: ForeignCheckpointError for a format that this program does not read.

    A whole manifest with another format is no damage: an older checkpoint must not take its place.
    """
    found = written.format
    whole = isinstance(found, int) and not isinstance(found, bool)
    if whole and found > FORMAT:
        raise ForeignCheckpointError(
            f"checkpoint {name}: format {found}, written by {written.program}; this is {PROGRAM}, "
            f"which reads formats up to {FORMAT}; go on with {written.program} or a later version"
        )
    if not whole or found < 1:
        raise ForeignCheckpointError(
            f"checkpoint {name}: format {json.dumps(found)}, written by {written.program}; "
            f"expected a whole number from 1 to {FORMAT}, which {PROGRAM} reads; put the "
            f"{MANIFEST} back that its program wrote, or remove the folder of this checkpoint to "
            "go on from the one before"
        )
