"""Converts tensors to bytes and back with safetensors only, so nothing read here can run code.

Equal content gives equal bytes, so a hash of them names it.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file as _load_file
from safetensors.torch import save as _save
from torch import Tensor, nn

from pbt.errors import SnapshotError, reason

# There is one entry only, since safetensors writes several in the order of a hash map.
_METADATA_KEY = "pbt"

# The names of the tensors that act begin so, in a learner's state and in snapshots. The others
# (optimiser moments) are for copies.
MODEL_PREFIX = "model."
# Of the numbers by which a network explores: what it has learned does not lie in them.
RULE_PREFIX = f"{MODEL_PREFIX}rule."


def to_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The tensors as a safetensors file.

    tensors   of any shapes and dtypes, copied to the CPU
    metadata  text by name
    """
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    return _save(plain, {_METADATA_KEY: json.dumps(dict(metadata or {}), sort_keys=True)})


def map_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a whole file, in the file's own pages.

    For a reader that copies them, which then needs no more memory on the way.

    Raises: SnapshotError when the file does not read as safetensors.
    """
    try:
        return _load_file(path)
    except (SafetensorError, OSError) as error:
        raise SnapshotError(
            f"{path}: does not read as safetensors ({reason(error)}); expected weights written by "
            "this program; use another"
        ) from error


def misfits(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> list[str]:
    """Every tensor that is missing, unknown or different, in words, in the order of `expected`."""
    problems = []
    for name in (*expected, *sorted(found.keys() - expected.keys())):
        want, got = (_describe(tensors.get(name)) for tensors in (expected, found))
        if want != got:
            problems.append(f"{name}: found {got}, expected {want}")
    return problems


def check_shapes(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], source: str) -> None:
    """Check that tensors have the expected names, shapes and dtypes.

    Raises: SnapshotError that names every tensor that is missing, unknown or different.
    """
    if problems := sorted(misfits(expected, found)):
        raise SnapshotError(
            f"{source} does not fit the model: {'; '.join(problems)}; use weights of a run "
            "with the same model and game"
        )


def policy_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What acts of a learner's state: the model without the optimiser's moments."""
    return {name: tensor for name, tensor in state.items() if name.startswith(MODEL_PREFIX)}


def model_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What acts of a learner's state or of a snapshot, under the model's own names."""
    return {
        name.removeprefix(MODEL_PREFIX): tensor for name, tensor in policy_tensors(state).items()
    }


def load_model_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Put the acting tensors of a snapshot into a model.

    Raises: SnapshotError that names what does not fit.
    """
    weights = model_tensors(tensors)
    check_shapes(model.state_dict(), weights, source)
    model.load_state_dict(weights)


def _describe(tensor: Tensor | None) -> str:
    if tensor is None:
        return "nothing"
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
