"""Checks a config against its game, and its objective against what the game pays."""

from dataclasses import dataclass

from pbt.config.schema import RunConfig
from pbt.config.semantics import check_against_game
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, declared_objective
from pbt.envs.measuring import as_played
from pbt.envs.testing.objectives import ObjectiveJudgement, judge_objective
from pbt.errors import ConfigError, EnvNameError, EnvOptionsError
from pbt.objective import ObjectiveKind
from pbt.runtime.devices import check_devices
from pbt.sampling.filming import check_filming


@dataclass(frozen=True)
class CheckedGame:
    """A config's game, after checking the config against it.

    spec      the environment, measured where files of the user's decide whether it can be replayed
    seats     of one game
    declared  the objective that the game declares, None where it declares none
    """

    spec: EnvSpec
    seats: int
    declared: ObjectiveKind | None


def checked_game(config: RunConfig, source: str) -> CheckedGame:
    """Make the config's game once, and check the config against it.

    Raises: ConfigError; EnvError for a game whose own code fails.
    """
    try:
        spec = registry.spec(config.env.name, allow_files=True)
    except EnvNameError as error:
        raise ConfigError(source, [f"env.name: {error}"]) from error
    try:
        game = spec.make(**config.env.options)
    except EnvOptionsError as error:
        raise ConfigError(
            source, [f"env.options.{problem}" for problem in error.problems]
        ) from error
    except TypeError as error:
        raise ConfigError(
            source,
            [f"env.options = {config.env.options}: {spec.name} does not take these: {error}"],
        ) from error
    try:
        check_against_game(config, game, source)
        check_devices(config, source)
        check_filming(config, game, source)
        spec = as_played(spec, config.env.options)
        return CheckedGame(spec, len(game.seat_roles), declared_objective(spec, game))
    finally:
        game.close()


def judged_objective(config: RunConfig, checked: CheckedGame) -> ObjectiveJudgement:
    """What speaks against the config's objective, which a game that declares it is not asked.

    Raises: EnvError for a game whose own code fails.
    """
    objective = config.env.objective
    if objective in (None, "return", checked.declared):
        return ObjectiveJudgement()
    game = checked.spec.make(**config.env.options)
    try:
        return judge_objective(checked.spec, game, objective)
    finally:
        game.close()
