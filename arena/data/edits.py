"""Edits of a running training: the service writes them to a file, and the trainer reads it.

The trainer looks for edits between two turns of its loop and reports in `status.json` which of them
are in force. A trainer that is killed in between loses nothing: the edits stand in the league as
well, and its next start reads them there. Needs no torch.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from pbt.errors import PbtError
from pbt.files import write_whole


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits that the service asks a running trainer to take.

    number  the number of this request; each later request has a higher one
    words   "key=value" of every edit that is not in force yet
    """

    number: int
    words: tuple[str, ...]


def leave_edits(path: Path, edits: Edits) -> None:
    """Writes the file whole or not at all. Raises: OSError when the disk refuses."""
    write_whole(path, json.dumps({"number": edits.number, "set": edits.words}))


def read_edits(path: Path) -> Edits | None:
    """The edits that wait, None where there are none. Raises: PbtError for a damaged file."""
    try:
        table = json.loads(path.read_bytes())
        return Edits(int(table["number"]), tuple(str(word) for word in table["set"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PbtError(
            f"{path}: damaged ({type(error).__name__}: {error}); the service writes it anew "
            "with the next edit"
        ) from error
