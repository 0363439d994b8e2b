"""Checks a config against its game: `python -P -m arena.programs.config_check [DATA]`.

With a data directory, the weights of others that its members begin with are found and checked, too.
It reads the config from standard input and writes its findings to standard output, both as JSON.
It is a process of its own because it runs the game's code, which a service that takes configs from
others must not do in itself. Only registered games are allowed. The process ends after LIMIT_S,
even if a game hangs or the service is gone.
"""

import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.config.semantics import algorithm_problems, check_against_game, member_roles
from pbt.config.stored import config_as_stored
from pbt.envs import registry
from pbt.envs.contract import declared_objective
from pbt.envs.testing.objectives import judge_objective
from pbt.errors import ConfigError, EnvError, EnvNameError, EnvOptionsError, EnvViewError
from pbt.models.convolutions import decided, model_problems
from pbt.objective import ObjectiveKind, chosen_objective
from pbt.transport.slab import RoleLayout, seen_layouts

SOURCE = "config"
LIMIT_S = 60


@dataclass(frozen=True)
class ConfigFindings:
    """The findings on a config.

    problems   one line each, as in ConfigError; empty when the config can be trained
    roles      (member, role) in order
    objective  of a new population with this config; None with problems
    refusal    why a new population cannot have that objective; None: it can
    model      [model] of a new population with this config, its convolutions decided
    unfit      why a new population cannot have such networks, or learn by such an algorithm, one
               line each
    began      member -> the weights of another one that it begins with, as a config stores them
    """

    problems: tuple[str, ...]
    roles: tuple[tuple[str, str], ...] = ()
    objective: ObjectiveKind | None = None
    refusal: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    unfit: tuple[str, ...] = ()
    began: Mapping[str, Any] = field(default_factory=dict)


def check(
    table: Mapping[str, Any],
    read: Callable[[Mapping[str, Any], str], RunConfig] = config_from_table,
    data: Path | None = None,
) -> ConfigFindings:
    """Check a config by making its game once. Every error of a config becomes a finding.

    data: where the weights are that members of a new population begin with; None: not looked for
    """
    try:
        config = read(table, SOURCE)
        spec = registry.spec(config.env.name, options=config.env.game_options)
        game = spec.make(**config.env.game_options)
    except EnvOptionsError as error:
        return ConfigFindings(tuple(f"env.options.{problem}" for problem in error.problems))
    except ConfigError as error:
        return ConfigFindings(error.problems)
    except EnvNameError as error:
        return ConfigFindings((f"env.name: {error}",))
    except EnvViewError as error:
        return ConfigFindings((str(error),))
    except EnvError as error:
        return ConfigFindings((f"env: {error}",))
    try:
        check_against_game(config, game, SOURCE)
        _check_devices(config)
        roles = tuple(member_roles(config, [role.name for role in game.roles]).items())
        declared = declared_objective(spec, game)
        objective = chosen_objective(config.env.objective, declared, len(game.seat_roles))
        judged = judge_objective(spec, game, objective)
        refusal = f'{judged.problem}; make it "{judged.better}"' if judged.problem else None
        layouts = seen_layouts(game)
        networks = _networks(config, layouts, data)
        return ConfigFindings((), roles, objective, refusal, *networks)
    except ConfigError as error:
        return ConfigFindings(error.problems)
    finally:
        game.close()


def _networks(
    config: RunConfig, layouts: Sequence[RoleLayout], data: Path | None
) -> tuple[Mapping[str, Any], tuple[str, ...], Mapping[str, Any]]:
    """(model, unfit, began) of `ConfigFindings`. Raises: ConfigError where weights do not fit.

    Torch is loaded only where members begin with weights of others.
    """
    model = decided(config.model, layouts)
    choices = {layout.role.name: layout.actions.single_choice for layout in layouts}
    unfit = (*model_problems(model, layouts), *algorithm_problems(config, choices))
    table = model.model_dump(mode="json")
    if unfit or data is None or not config.population.began:
        return table, unfit, {}
    from arena.training.warm_start import OWN_WEIGHTS, begun_config

    config = config.model_copy(update={"model": model})
    try:
        began = begun_config(config, OWN_WEIGHTS, data, layouts, SOURCE).population.began
    except ConfigError as error:
        problems = [problem.replace(f"{data}/", "") for problem in error.problems]
        raise ConfigError(error.source, problems) from error
    return table, (), {name: one.model_dump(mode="json") for name, one in began.items()}


def _check_devices(config: RunConfig) -> None:
    """Raises: ConfigError for a device that this machine lacks. Only a named one loads torch."""
    if {config.runtime.inference_device, config.runtime.learner_device} <= {"auto", "cpu"}:
        return
    from pbt.runtime.devices import check_devices

    check_devices(config, SOURCE)


def main() -> None:
    signal.alarm(LIMIT_S)
    # The service holds what is new to the bounds, and this may be the edit of what is stored.
    data = Path(sys.argv[1]) if sys.argv[1:] else None
    findings = check(json.load(sys.stdin), config_as_stored, data)
    print(json.dumps(asdict(findings)))


if __name__ == "__main__":
    main()
