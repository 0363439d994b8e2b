"""`arena.train` and `arena.resume`: a population from its config to its result."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from arena.argument_kinds import check_kinds
from arena.data.paths import check_population_name, data_dir
from arena.python.configs import (
    Overrides,
    Source,
    config_of,
    in_words_of_scripts,
    words_of,
)
from arena.python.following import Follower, Following, followed, follower_of
from arena.python.own_games import Env, game_name
from arena.python.training_result import TrainingResult, training_result
from arena.signals import TrainingControl
from arena.training.result import Result
from arena.training.train import resume_training, start_training
from arena.training.warm_start import StartFrom, wanted_weights
from pbt.errors import ConfigError


def train(
    config: Source,
    name: str | None = None,
    *,
    data: Path | str | None = None,
    env: Env | None = None,
    seed: int | None = None,
    frames: int | None = None,
    overrides: Overrides | None = None,
    start_from: str | Sequence[str] | Mapping[str, str] | None = None,
    with_optimizer: bool = False,
    strict: bool = True,
    **following: Unpack[Following],
) -> TrainingResult:
    """Train a new population until every member reached its stop.

    config          a file, a shipped config's name, its tables as a dictionary, or a RunConfig
    name            of the population; None: that of the config's file
    data            the data directory; None: $ARENA_DATA, else ./arena-data
    env             the game, instead of the config's: a name, or a file's function that makes it
    seed, frames    instead of the config's seed and stop_at_frames
    overrides       of the config: dotted keys with their values, or words such as "seed=2"
    start_from      a snapshot such as "first@best" with whose weights members of its role begin,
                    several of them, or {"m0": "first/m2@1.2M"}
    with_optimizer  they take the optimiser's moments and the scale of returns as well
    strict          raise where members failed, or the parts of the training did not agree
    following       functions that follow it, as `arena.python.following.Following`
    A KeyboardInterrupt ends it with a checkpoint, and `finished` of the result is False; a second
    one ends it where it is. Raises: ConfigError with every wrong key or weights that do not fit,
    PlayerError when the name is taken, EnvError when the game fails; if strict FailedMembersError
    and PbtError, when all is stored.
    """
    follower = follower_of(train, following, strict=strict)
    given = {} if env is None else {"env.name": game_name(env)}
    words = words_of(overrides, {**given, "seed": seed, "stop_at_frames": frames})
    wanted = _wanted(start_from, with_optimizer)
    loaded, chosen = config_of(config, name, words)
    folder = data_dir(data)
    begin = partial(start_training, loaded, chosen, folder, wanted=wanted)
    return training_result(followed(follower, partial(_run, begin)), folder, strict=strict)


def resume(
    name: str,
    *,
    data: Path | str | None = None,
    frames: int | None = None,
    overrides: Overrides | None = None,
    strict: bool = True,
    **following: Unpack[Following],
) -> TrainingResult:
    """Go on with a population from its newest checkpoint.

    frames     of each member, a new value of stop_at_frames
    overrides  edits of its config
    The arguments are those of `train`, and so is what a KeyboardInterrupt does.
    Raises: PlayerError when there is no such population, ConfigError for edits that it cannot take,
    HeldError while another process trains it; and as `train`.
    """
    follower = follower_of(resume, following, strict=strict)
    words = words_of(overrides, {"stop_at_frames": frames})
    check_kinds("arena.resume", {"name": name})
    chosen, folder = check_population_name(name), data_dir(data)
    begin = partial(_resumed, chosen, folder, words)
    return training_result(followed(follower, partial(_run, begin)), folder, strict=strict)


def _resumed(*wanted: Any, **following: Any) -> Result:
    """What `resume_training` returns. Raises: as it does, in the words of a script."""
    with in_words_of_scripts():
        return resume_training(*wanted, **following)


def _run(begin: Callable[..., Result], own: Follower, control: TrainingControl) -> Result:
    return begin(own.observe, own.told, control=control, listeners=own.listeners)


def _wanted(given: object, with_optimizer: object) -> StartFrom:
    """What `start_from` and `with_optimizer` of `train` ask for. Raises: ConfigError."""
    problems = []
    if not isinstance(with_optimizer, bool):
        problems.append(f"with_optimizer: found {with_optimizer!r}; expected True or False")
    if not _names_players(given):
        problems.append(
            f'start_from: found {given!r}; expected a snapshot such as "first@best", a list of '
            'them, or a dictionary such as {"m0": "first/m2@1.2M"}'
        )
    if problems:
        raise ConfigError("arena.train", problems)
    moments = bool(with_optimizer)
    if isinstance(given, Mapping) and given:
        return StartFrom((), dict(given), moments)
    words = (
        [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    )
    return wanted_weights(words, optimizer=moments)


def _names_players(given: object) -> bool:
    if given is None or isinstance(given, str):
        return True
    if isinstance(given, Mapping):
        return all(isinstance(one, str) for pair in given.items() for one in pair)
    return isinstance(given, Sequence) and all(isinstance(one, str) for one in given)
