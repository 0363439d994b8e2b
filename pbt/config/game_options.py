"""What a game is made with and known by, from the section [env] of a config, and back."""

from collections.abc import Mapping
from typing import Any

VIEW = "env."
"""How the names of `env.resize`, `env.drop` and the like begin among the options of a game.

No argument of a function can have such a name, so no option of a game's own is taken for one.
"""
UNSET: Mapping[str, Any] = {"resize": [], "grey": False, "stack": 1, "drop": []}


def game_options(env: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a game: games with other options are other games.

    They are `env.options`, and "env.resize", "env.grey", "env.stack" and "env.drop" where these are
    set.

    env  the section [env] as JSON has it
    """
    views = {f"{VIEW}{key}": env[key] for key, none in UNSET.items() if env.get(key, none) != none}
    return {**env.get("options", {}), **views}


def env_table(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The section [env] of a game with this name and these options: reverses `game_options`."""
    views = {key.removeprefix(VIEW): options[key] for key in options if key.startswith(VIEW)}
    own = {key: value for key, value in options.items() if not key.startswith(VIEW)}
    return {"name": name, "options": own, **views}
