"""Checks a config against its game: its objective against what the game pays, and its numbers."""

from dataclasses import dataclass

from pbt.config.schema import RunConfig
from pbt.config.semantics import check_against_game
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, declared_objective
from pbt.envs.measuring import as_played
from pbt.envs.testing.check import first_warnings
from pbt.envs.testing.objectives import ObjectiveJudgement, judge_objective
from pbt.envs.testing.playthrough import Referee, play
from pbt.errors import ConfigError, EnvNameError, EnvOptionsError, EnvViewError, NumberError
from pbt.objective import ObjectiveKind, chosen_objective
from pbt.runtime.devices import check_devices
from pbt.sampling.filming import check_filming
from pbt.transport.slab import RoleLayout, seen_layouts

# A look before a training: this many games of at most this many steps.
NUMBER_GAMES = 3
NUMBER_STEPS = 200


@dataclass(frozen=True)
class CheckedGame:
    """A config's game, after checking the config against it.

    spec      the environment, measured where files of the user's decide whether it can be replayed
    seats     of one game
    declared  the objective that the game declares, None where it declares none
    layouts   what the networks of every role see and do
    """

    spec: EnvSpec
    seats: int
    declared: ObjectiveKind | None
    layouts: tuple[RoleLayout, ...]


def checked_game(config: RunConfig, source: str) -> CheckedGame:
    """Make the config's game once, and check the config against it.

    Raises: ConfigError; EnvError for a game whose own code fails.
    """
    try:
        spec = registry.spec(config.env.name, allow_files=True, options=config.env.game_options)
    except EnvNameError as error:
        raise ConfigError(source, [f"env.name: {error}"]) from error
    try:
        game = spec.make(**config.env.game_options)
    except EnvOptionsError as error:
        raise ConfigError(
            source, [f"env.options.{problem}" for problem in error.problems]
        ) from error
    except EnvViewError as error:
        raise ConfigError(source, [str(error)]) from error
    try:
        check_against_game(config, game, source)
        check_devices(config, source)
        check_filming(config, game, source)
        spec = as_played(spec, config.env.game_options)
        declared, layouts = declared_objective(spec, game), seen_layouts(game)
        return CheckedGame(spec, len(game.seat_roles), declared, layouts)
    finally:
        game.close()


def judged_objective(config: RunConfig, checked: CheckedGame) -> ObjectiveJudgement:
    """What speaks against the config's objective, which a game that declares it is not asked.

    Raises: EnvError for a game whose own code fails.
    """
    objective = chosen_objective(config.env.objective, checked.declared, checked.seats)
    if config.env.objective in (None, checked.declared):
        return ObjectiveJudgement(objective)
    game = checked.spec.make(**config.env.game_options)
    try:
        return judge_objective(checked.spec, game, objective)
    finally:
        game.close()


def number_warnings(config: RunConfig, checked: CheckedGame) -> list[str]:
    """What training takes of a game though it is not what the game's spaces say.

    A few games are played. Those that come with this package are known to be right.

    Raises: NumberError for numbers that cannot be learned from; EnvError for a game whose own code
    fails.
    """
    name = checked.spec.name
    if registry.comes_with_package(name):
        return []
    game = checked.spec.make(**config.env.game_options)
    try:
        referee = Referee(game)
        played = [play(referee, name, seed, seed, NUMBER_STEPS) for seed in range(NUMBER_GAMES)]
    finally:
        game.close()
    for one in played:
        if one.error is not None:
            raise one.error
        if one.unusable:
            raise NumberError(f"game {name!r}, {one.unusable[0]}; `arena env check` lists all")
    return list(first_warnings(played))
