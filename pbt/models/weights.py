"""Tensors to bytes and back, by safetensors only: nothing read here can run code. Equal content
gives equal bytes, so a hash names it.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as _load
from safetensors.torch import load_file as _load_file
from safetensors.torch import save as _save
from torch import Tensor, nn

from pbt.errors import SnapshotError

# One entry only: safetensors writes several in the order of a hash map.
_METADATA_KEY = "pbt"

# Names of the tensors that act, in a learner's state and in snapshots; what else stands there
# (optimiser moments) is for copies.
MODEL_PREFIX = "model."


def to_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """tensors: any shapes and dtypes, copied to the CPU; metadata: text by name."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    return _save(plain, {_METADATA_KEY: json.dumps(dict(metadata or {}), sort_keys=True)})


def from_bytes(content: bytes, source: str = "weights") -> tuple[dict[str, Tensor], dict[str, str]]:
    """(tensors, metadata). source names the bytes in errors. Raises SnapshotError when they are
    damaged or were not written by `to_bytes`.
    """
    try:
        tensors = _load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = json.loads(header["__metadata__"][_METADATA_KEY])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        problem = (
            f"{len(content)} bytes that do not read as safetensors "
            f"({type(error).__name__}: {error})"
        )
        raise SnapshotError(
            f"{source}: found {problem}; expected weights written by this program; use "
            "another snapshot"
        ) from error
    return tensors, {str(name): str(value) for name, value in metadata.items()}


def map_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file that is whole, in its own pages: for a reader that copies them, who so
    needs no memory for them on the way.

    Raises SnapshotError when it does not read as safetensors.
    """
    try:
        return _load_file(path)
    except (SafetensorError, OSError) as error:
        raise SnapshotError(
            f"{path}: does not read as safetensors ({error}); expected weights written by "
            "this program; use another"
        ) from error


def check_shapes(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], source: str) -> None:
    """Raise SnapshotError naming every tensor of `found` that is missing, unknown, or of another
    shape or dtype than in `expected`.
    """
    problems = []
    for name in sorted({*expected, *found}):
        want, got = (_describe(tensors.get(name)) for tensors in (expected, found))
        if want != got:
            problems.append(f"{name}: found {got}, expected {want}")
    if problems:
        raise SnapshotError(
            f"{source} does not fit the model: {'; '.join(problems)}; use weights of a run "
            "with the same model and game"
        )


def load_model_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Put the acting tensors of a snapshot into a model. Raises SnapshotError naming what does
    not fit.
    """
    weights = {
        name.removeprefix(MODEL_PREFIX): tensor
        for name, tensor in tensors.items()
        if name.startswith(MODEL_PREFIX)
    }
    check_shapes(model.state_dict(), weights, source)
    model.load_state_dict(weights)


def _describe(tensor: Tensor | None) -> str:
    return (
        "nothing"
        if tensor is None
        else f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    )
