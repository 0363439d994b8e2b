"""Checkpoints on disk: each is there as a whole or not at all.

A checkpoint is a folder of safetensors files, `state.json`, and `manifest.json` with the SHA-256 of
each and the time of writing, in seconds since the epoch. It is written under another name, every
file and the folder are fsynced, then it is renamed. A damaged file does not match its hash, and the
checkpoint before is used.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from pbt.checkpoint.folders import (
    FORMAT,
    MANIFEST,
    STATE,
    checkpoint_folders,
    parse_manifest,
)
from pbt.errors import CheckpointError, LostCheckpointError, reason
from pbt.files import sync_folder, write_synced


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run, with its place among the run's checkpoints.

    number   ascending
    state    the part that is JSON
    tensors  file name -> tensor name -> tensor
    """

    number: int
    state: dict[str, Any]
    tensors: dict[str, dict[str, Tensor]]


def write_checkpoint(folder: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write a checkpoint and remove all but the newest `keep`; returns its folder.

    Raises: CheckpointError when the disk refuses; the older ones stay.
    """
    target = folder / f"{checkpoint.number:08d}"
    aside = folder / f".{target.name}.partial"
    try:
        shutil.rmtree(aside, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        aside.mkdir()
        hashes = {}
        for name, content in _contents(checkpoint):
            write_synced(aside / name, content)
            hashes[name] = hashlib.sha256(content).hexdigest()
        manifest = {
            "format": FORMAT,
            "number": checkpoint.number,
            "written_at": time.time(),
            "sha256": hashes,
        }
        write_synced(aside / MANIFEST, json.dumps(manifest, indent=1).encode())
        sync_folder(aside)
        shutil.rmtree(target, ignore_errors=True)
        aside.rename(target)
        sync_folder(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        advice = "free space or make the folder writable; older checkpoints are untouched"
        raise CheckpointError(
            f"{target}: could not be written: {reason(error)}; {advice}"
        ) from error
    for old in checkpoint_folders(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def read_newest(folder: Path) -> tuple[Checkpoint, list[str]]:
    """Return the newest intact checkpoint and, in words, what is wrong with newer ones.

    Raises: CheckpointError when there is none, LostCheckpointError when none is usable.
    """
    damaged: list[str] = []
    for path in reversed(checkpoint_folders(folder)):
        try:
            return read_checkpoint(path), damaged
        except CheckpointError as error:
            damaged.append(str(error))
    problem = "\n".join(["no usable checkpoint", *damaged]) if damaged else "no checkpoint yet"
    raise (LostCheckpointError if damaged else CheckpointError)(
        f"{folder}: {problem}; start the training again under another name, or delete this one"
    )


def read_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint.

    Raises: CheckpointError naming the file whose content does not match the manifest.
    """
    try:
        manifest = parse_manifest(path.name, (path / MANIFEST).read_bytes())
        contents = {name: (path / name).read_bytes() for name in manifest.sha256}
    except OSError as error:
        raise CheckpointError(f"checkpoint {path.name}: unreadable ({error})") from error
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest.sha256[name]:
            raise CheckpointError(
                f"checkpoint {path.name}: {name} is damaged (its SHA-256 differs from the "
                "manifest's)"
            )
    tensors = {
        name.removesuffix(".safetensors"): load_tensors(content)
        for name, content in contents.items()
        if name != STATE
    }
    return Checkpoint(manifest.number, json.loads(contents[STATE]), tensors)


def _contents(checkpoint: Checkpoint) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file but the manifest.

    They come one at a time, because together they are as large as all weights and slots.
    """
    for name, tensors in checkpoint.tensors.items():
        yield f"{name}.safetensors", save_tensors(tensors)
    yield STATE, json.dumps(checkpoint.state).encode()
