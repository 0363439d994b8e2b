"""The engine's errors: every exception that it raises on purpose.

A message says where the problem is, what was found, what was expected, and what to do.

PbtError
├── ConfigError          the configuration contradicts itself; holds every problem found
├── PlayerError          a player name that cannot be resolved
├── EnvError             a game broke its contract, or raised
│   ├── EnvNameError     a name that names no game
│   ├── EnvFileError     a file of the user's where none may be run
│   ├── EnvOptionsError  env.options that the game does not take
│   ├── EnvViewError     env.resize, env.grey or env.stack that the game does not take
│   ├── NumberError      a number of a game that cannot be learned from
│   ├── EnvCrash         the process of a game's engine ended: the game is lost, the table goes on
│   └── BrokenGameError  a game that goes wrong at every try
├── SnapshotError        weights that cannot be read or written, or are of another shape
│   └── LostWeightsError the file of weights is gone or damaged
├── CheckpointError      a checkpoint that is missing, damaged or foreign
│   └── LostCheckpointError  none of the checkpoints that there are can be used
│       └── ForeignCheckpointError  the newest one is whole, but another program's
├── FailedMembersError   every member of a population failed
├── HeldError            another process holds the population
├── StoppedError         a training was asked to stop by another process than the one that needs it
└── EngineError          an invariant of the engine failed (a bug worth reporting)
"""

import errno
from collections.abc import Sequence


class PbtError(Exception):
    """Root of the engine's errors.

    The command line prints the message and exits with `exit_code`: 1, or 2 for an error in what the
    user typed.
    """

    exit_code = 1


class ConfigError(PbtError):
    """All problems of one configuration at once.

    source    the file or table that was read
    problems  one line each: ``place: found; expected; what to do``
    """

    exit_code = 2

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        super().__init__(
            "\n".join(
                [f"{source} has {len(self.problems)} {noun}", *(f"  {p}" for p in self.problems)]
            )
        )


class PlayerError(PbtError):
    """A player name that resolves to no player."""

    exit_code = 2


class EnvError(PbtError):
    """A game broke the contract of pbt.envs.contract, or raised from its own code."""


class EnvNameError(EnvError):
    """A name that names no game: it is not registered, or there is no such file or function."""

    exit_code = 2


class EnvFileError(EnvError):
    """A game is a file of the user's, and here no code of the user's may be run."""


class EnvOptionsError(EnvError):
    """Values of env.options that the game does not take.

    problems  one line each: ``place: found; expected; what to do``
    """

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("env.options: " + "; ".join(self.problems))


class EnvViewError(EnvError):
    """A way of seeing images (`env.resize`, `env.grey`, `env.stack`) that a game does not have."""

    exit_code = 2


class NumberError(EnvError):
    """A number in an observation or a reward that cannot be learned from (`pbt.envs.numbers`)."""


class EnvCrash(EnvError):
    """The engine of a game ended: it was killed, ran out of memory, or failed by itself.

    The table starts another engine. A table whose engines keep ending fails.
    """


class BrokenGameError(EnvError):
    """A game that goes wrong at every try, so that only mending it helps."""


class SnapshotError(PbtError):
    """Weights that cannot be read or written, or are of another shape than the model's."""


class LostWeightsError(SnapshotError):
    """The file of weights is gone or damaged, until a person restores it."""


class AwayWeightsError(SnapshotError):
    """The whole folder of weights is gone, such as an unmounted disk: it may come back."""


class CheckpointError(PbtError):
    """No usable checkpoint: missing, damaged, or of another population."""


class LostCheckpointError(CheckpointError):
    """None of the checkpoints that there are can be used, until a person restores one."""


class ForeignCheckpointError(LostCheckpointError):
    """A checkpoint is whole, but of a form that only another version of the program reads.

    An older checkpoint does not take its place, since training on from that one would be lost work.
    """


class FailedMembersError(PbtError):
    """Every member of a population failed, and none learns any more."""


class HeldError(PbtError):
    """Another live process holds the population's lock."""


class StoppedError(PbtError):
    """A training was asked to stop, but not by the process that waits for its end."""

    exit_code = 130


class EngineError(PbtError):
    """The engine broke one of its own invariants."""


_OF_THE_MACHINE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.ENOTDIR,
)


def of_the_machine(error: OSError) -> bool:
    """Whether a file cannot be written for a reason that is no bug of the program."""
    return error.errno in _OF_THE_MACHINE


def reason(error: Exception) -> str:
    """What went wrong, where the message names the file itself."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def refused_place(error: OSError) -> str:
    """What such an error says to a person."""
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{error.strerror}; expected a place that you may write to, on a disk with room"
