"""Why a process of the service ended by an error: a file that the process leaves in its folder.

The service judges by it whether a new start can help. A process that is killed leaves none.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pbt.errors import (
    BrokenGameError,
    ConfigError,
    EnvError,
    FailedMembersError,
    HeldError,
    LostCheckpointError,
    LostWeightsError,
    PbtError,
    StoppedError,
)
from pbt.files import write_whole

NAME = "ending.json"
LASTING = (BrokenGameError, FailedMembersError, LostCheckpointError, LostWeightsError)
"""Errors that a new start would meet again, until a person mends or restores something."""

Cause = Literal["config", "lost", "game", "held", "stopped", "crashed"]


@dataclass(frozen=True)
class Ending:
    """How a process ended.

    pid      of the process
    cause    what kind of error ended it
    lasting  a new start would end the same way
    """

    pid: int
    cause: Cause
    lasting: bool


def ending_of(error: PbtError) -> Ending:
    """How this process ends by the error."""
    cause: Cause = "crashed"
    if isinstance(error, (LostCheckpointError, LostWeightsError)):
        cause = "lost"
    elif isinstance(error, EnvError):
        cause = "game"
    elif isinstance(error, ConfigError):
        cause = "config"
    elif isinstance(error, HeldError):
        cause = "held"
    elif isinstance(error, StoppedError):
        cause = "stopped"
    return Ending(os.getpid(), cause, isinstance(error, LASTING))


def leave_ending(error: PbtError) -> None:
    """Write how this process ends into its working folder, if the disk takes it."""
    try:
        write_whole(Path(NAME), json.dumps(asdict(ending_of(error))))
    except OSError:
        return


def read_ending(folder: Path, pid: int) -> Ending | None:
    """How the process ended that worked in this folder; None where it has left nothing."""
    try:
        ending = Ending(**json.loads((folder / NAME).read_bytes()))
    except (OSError, TypeError, ValueError):
        return None
    return ending if ending.pid == pid else None
