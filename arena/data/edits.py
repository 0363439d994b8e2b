"""Edits for a training that runs: the service leaves them in a file, the trainer takes them at its
next rest and says so in its status.

What is left stays until the trainer starts anew: who is killed in between finds the edits in the
league, and starts with them. Needs no torch.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from pbt.errors import PbtError
from pbt.files import write_whole


@dataclass(frozen=True, slots=True)
class Edits:
    """number: grows with each that is left;  words: "key=value", all that are not in force yet"""

    number: int
    words: tuple[str, ...]


def leave_edits(path: Path, edits: Edits) -> None:
    """Whole or not at all. Raises: OSError when the disk refuses."""
    write_whole(path, json.dumps({"number": edits.number, "set": edits.words}))


def read_edits(path: Path) -> Edits | None:
    """None where none were left. Raises: PbtError for a damaged file."""
    try:
        found = json.loads(path.read_bytes())
        return Edits(int(found["number"]), tuple(str(word) for word in found["set"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PbtError(
            f"{path}: damaged ({type(error).__name__}: {error}); the service leaves it anew "
            "with the next edit"
        ) from error
