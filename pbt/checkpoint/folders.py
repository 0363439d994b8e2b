"""The folders of checkpoints, and the manifest in each. Needs no torch."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbt.errors import CheckpointError

MANIFEST, STATE = "manifest.json", "state.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint says of its files.

    number  of the checkpoint
    sha256  file name -> SHA-256 of the file, in hexadecimal
    """

    number: int
    sha256: Mapping[str, str]


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return (
        sorted(path for path in folder.glob("[0-9]*") if path.is_dir()) if folder.is_dir() else []
    )


def parse_manifest(name: str, content: bytes) -> Manifest:
    """The manifest of the checkpoint that is called so. content: that of the file MANIFEST.

    Raises: CheckpointError when it is damaged or has another format.
    """
    try:
        table: Mapping[str, Any] = json.loads(content)
        manifest = Manifest(int(table["number"]), dict(table["sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"checkpoint {name}: unreadable ({error})") from error
    if table.get("format") != FORMAT:
        raise CheckpointError(
            f"checkpoint {name}: format {table.get('format')}, this version reads {FORMAT}"
        )
    if unfit := [file for file in manifest.sha256 if Path(file).name != file]:
        raise CheckpointError(f"checkpoint {name}: {unfit[0]!r} is no name of a file in it")
    return manifest
