"""Uploaded files that are not what they say: each is refused, and nothing of it stays."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from arena.programs.import_check import imported
from pbt.models.tensor_file import read_tensor_file
from pbt.models.weights import to_bytes
from tests.api.routes.uploads import Files, left, send
from tests.api.service import Service


def first_tensor(weights: bytes) -> tuple[str, torch.Tensor]:
    return next(
        (name, tensor)
        for name, tensor in sorted(load(weights).items())
        if name.startswith("model.") and tensor.dim() == 2
    )


def rewritten(files: Files, home: Path, tensor: torch.Tensor) -> Files:
    """With another tensor in place of the first one, and a card of just these weights."""
    metadata = json.loads(read_tensor_file(home / "best.safetensors").metadata["pbt"])
    tensors = {**load(files.weights), first_tensor(files.weights)[0]: tensor}
    return files.changed(to_bytes(tensors, metadata))


def with_nan(files: Files) -> torch.Tensor:
    spoiled = first_tensor(files.weights)[1].clone()
    spoiled[0, 0] = torch.nan
    return spoiled


def spoiled(kind: str, files: Files, home: Path) -> Files:
    match kind:
        case "flipped":
            files.weights = files.weights[:-1] + bytes([files.weights[-1] ^ 1])
        case "cut":
            files.weights = files.weights[:-1]
        case "none":
            files.changed(b"PK\x03\x04 no safetensors")
        case "nan":
            rewritten(files, home, with_nan(files))
        case "shape":
            rewritten(files, home, torch.zeros(3, 3))
        case "file":
            files.card["env_name"] = "/home/ada/evil.py:make"
        case "package":
            files.card["env_name"] = "gymnasium:Evil-v0"
        case "option":
            files.card["env_options"] = {"no": "such"}
        case "game":
            files.card["env_name"] = "no_such_game"
        case "role":
            files.card["role"] = "goalkeeper"
        case "field":
            files.card["import"] = "os"
    return files


@pytest.mark.parametrize(
    ("kind", "pointer", "said"),
    [
        ("flipped", "/weights", "weights: found SHA-256"),
        ("cut", "/weights", "cut off or has something appended"),
        ("none", "/weights", "weights"),
        ("nan", "/weights", "numbers that are not finite"),
        ("shape", "/weights", "(3, 3)"),
        ("file", "/card", "evil.py is a file"),
        ("package", "/card", "gymnasium:Evil-v0 is code of a package"),
        ("option", "/card", "cannot be made here"),
        ("game", "/card", "'no_such_game' is not known"),
        ("role", "/card", "role 'goalkeeper'"),
        ("field", "/card", "card: no card of a snapshot: import"),
    ],
)
def test_files_that_lie_are_refused_where_they_lie(
    best: Files, home: Path, tmp_path: Path, kind: str, pointer: str, said: str
) -> None:
    """By the program itself, called without a process of its own."""
    weights, data = tmp_path / "uploads/upload.safetensors", tmp_path / "data"
    spoiled(kind, best, home).write(weights)
    ((place, text),) = imported("liar", weights, data)["problems"]
    assert place == pointer and said in text
    assert str(tmp_path) not in text and "upload" not in text and "/ada" not in text
    assert not any(word in text for word in ("--allow-files", "--env", "--name", "site-packages"))
    assert not data.exists()


def test_what_the_program_refuses_is_told_and_nothing_stays(real: Service, best: Files) -> None:
    before = sorted((real.data / "imported").rglob("*"))
    best.weights = best.weights[:-1] + bytes([best.weights[-1] ^ 1])
    problem = send(real, best.form("liar"), 422).json()
    (error,) = problem["errors"]
    assert error["pointer"] == "/weights" and "weights: found SHA-256" in error["detail"]
    assert str(real.data.parent) not in json.dumps(problem)
    assert left(real.data) == [] and sorted((real.data / "imported").rglob("*")) == before
