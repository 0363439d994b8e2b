"""`python -P -m arena.programs.config_check`: a config on standard input, as JSON, held against its
game; what was found on standard output, as JSON.

A process of its own, because it runs the game's code; a service that takes configs from others
never does. Only registered games are looked for. It ends after LIMIT_S, whatever a game does and
whatever became of the service.
"""

import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pbt.config.load import config_from_table
from pbt.config.semantics import check_against_game, member_roles
from pbt.envs import registry
from pbt.errors import ConfigError, EnvError, EnvNameError, EnvOptionsError

SOURCE = "config"
LIMIT_S = 60


@dataclass(frozen=True)
class ConfigFindings:
    """problems: one line each, as in ConfigError; empty when the config can be trained;  roles:
    (member, role) in order
    """

    problems: tuple[str, ...]
    roles: tuple[tuple[str, str], ...] = ()


def check(table: Mapping[str, Any]) -> ConfigFindings:
    """Make the game once. Never raises for what a config says."""
    try:
        config = config_from_table(table, SOURCE)
        spec = registry.spec(config.env.name)
        game = spec.make(**config.env.options)
    except EnvOptionsError as error:
        return ConfigFindings(tuple(f"env.options.{problem}" for problem in error.problems))
    except ConfigError as error:
        return ConfigFindings(error.problems)
    except EnvNameError as error:
        return ConfigFindings((f"env.name: {error}",))
    except EnvError as error:
        return ConfigFindings((f"env: {error}",))
    except TypeError as error:
        return ConfigFindings((f"env.options: the game does not take these: {error}",))
    try:
        check_against_game(config, game, SOURCE)
        return ConfigFindings(
            (), tuple(member_roles(config, [role.name for role in game.roles]).items())
        )
    except ConfigError as error:
        return ConfigFindings(error.problems)
    finally:
        game.close()


def main() -> None:
    signal.alarm(LIMIT_S)
    found = check(json.load(sys.stdin))
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
