"""Checkpoints on disk: each is there as a whole or not at all.

A checkpoint is a folder of safetensors files, `state.json` (`pbt.saved.SavedRun`), and
`manifest.json` with its format, the program that wrote it, the time, and the SHA-256 of each file.
It is written under another name, every file and the folder are fsynced, then it is renamed. A
damaged file does not match its hash, and the checkpoint before is used. A checkpoint of a newer
format is refused: the one before would take back what was trained since.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from pbt.checkpoint.folders import (
    FORMAT,
    MANIFEST,
    PROGRAM,
    STATE,
    Manifest,
    checkpoint_folders,
    parse_manifest,
)
from pbt.checkpoint.upgrade import upgrade_1_to_2
from pbt.errors import CheckpointError, ForeignCheckpointError, LostCheckpointError, reason
from pbt.files import sync_folder, write_synced
from pbt.saved import SavedRun
from pbt.transport.wire import plain


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run, with its place among the run's checkpoints.

    number   ascending
    state    the part without tensors
    tensors  file name -> tensor name -> tensor
    """

    number: int
    state: SavedRun
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
        manifest = Manifest(
            format=FORMAT,
            program=PROGRAM,
            number=checkpoint.number,
            written_at=time.time(),
            sha256=hashes,
        )
        write_synced(aside / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
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

    Raises: CheckpointError when there is none, LostCheckpointError when none is usable,
    ForeignCheckpointError when the newest one is another program's.
    """
    damaged: list[str] = []
    for path in reversed(checkpoint_folders(folder)):
        try:
            return read_checkpoint(path), damaged
        except ForeignCheckpointError as error:
            raise ForeignCheckpointError(f"{folder}: {error}") from error
        except CheckpointError as error:
            damaged.append(str(error))
    problem = "\n".join(["no usable checkpoint", *damaged]) if damaged else "no checkpoint yet"
    raise (LostCheckpointError if damaged else CheckpointError)(
        f"{folder}: {problem}; start the training again under another name, or delete this one"
    )


def read_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint.

    Raises: CheckpointError naming the file whose content does not match the manifest,
    ForeignCheckpointError for one that this program does not read.
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
    return Checkpoint(manifest.number, _state(path.name, manifest, contents[STATE]), tensors)


def _state(name: str, manifest: Manifest, content: bytes) -> SavedRun:
    """Raises: ForeignCheckpointError for fields that are missing, unknown or of another type."""
    try:
        stored = json.loads(content)
        if manifest.format == 1:
            stored = upgrade_1_to_2(stored)
        return msgspec.convert(stored, SavedRun, str_keys=True)
    except (msgspec.MsgspecError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ForeignCheckpointError(
            f"checkpoint {name}: {STATE}, format {manifest.format}, written by "
            f"{manifest.program}: {type(error).__name__}: {error}; this is {PROGRAM}, which does "
            "not read it; go on with the program that wrote it, or a later version"
        ) from error


def _contents(checkpoint: Checkpoint) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file but the manifest.

    They come one at a time, because together they are as large as all weights and slots.
    """
    for name, tensors in checkpoint.tensors.items():
        yield f"{name}.safetensors", save_tensors(tensors)
    # Numbers that are not finite have a name here; msgspec's own JSON would lose them.
    state = msgspec.to_builtins(checkpoint.state, str_keys=True, enc_hook=plain)
    yield STATE, json.dumps(state).encode()
