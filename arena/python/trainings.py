"""`arena.train` and `arena.resume`: a population from its config to its result."""

from pathlib import Path
from typing import Unpack

from arena.data.paths import check_population_name, data_dir
from arena.python.configs import Overrides, Source, config_of, words_of
from arena.python.following import Following, followed, follower_of
from arena.python.own_games import Env, game_name
from arena.python.training_result import TrainingResult, training_result
from arena.training.train import resume_training, start_training


def train(
    config: Source,
    name: str | None = None,
    *,
    data: Path | str | None = None,
    env: Env | None = None,
    seed: int | None = None,
    frames: int | None = None,
    overrides: Overrides | None = None,
    strict: bool = True,
    **following: Unpack[Following],
) -> TrainingResult:
    """Train a new population until every member reached its stop.

    config     a file or the name of a shipped config, its tables as a dictionary, or a RunConfig
    name       of the population; None: that of the config's file
    data       the data directory; None: $ARENA_DATA, else ./arena-data
    env        the game, instead of the config's: a name, or the function of a file that makes it
    seed       instead of the config's
    frames     of each member, instead of the config's stop_at_frames
    overrides  of the config: dotted keys with their values, or words such as "seed=2"
    strict     raise where members failed, or the parts of the training did not agree
    following  functions that follow it, as `arena.python.following.Following`
    A KeyboardInterrupt of the caller ends it with a checkpoint, and the result says `finished` is
    False; a second one ends it where it is.
    Raises: ConfigError with every wrong key, PlayerError when the name is taken, EnvError when the
    game fails; if strict FailedMembersError and PbtError, when all is stored.
    """
    follower = follower_of(train, following)
    given = {} if env is None else {"env.name": game_name(env)}
    words = words_of(overrides, {**given, "seed": seed, "stop_at_frames": frames})
    loaded, chosen = config_of(config, name, words)
    folder = data_dir(data)
    result = followed(
        follower,
        lambda own, control: start_training(
            loaded, chosen, folder, own.observe, own.told, control=control, listeners=own.listeners
        ),
    )
    return training_result(result, folder, strict=strict)


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
    follower = follower_of(resume, following)
    words = words_of(overrides, {"stop_at_frames": frames})
    chosen, folder = check_population_name(name), data_dir(data)
    result = followed(
        follower,
        lambda own, control: resume_training(
            chosen, folder, words, own.observe, own.told, control=control, listeners=own.listeners
        ),
    )
    return training_result(result, folder, strict=strict)
