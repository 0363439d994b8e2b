"""Games by the ids of Gymnasium and PettingZoo: "gymnasium:Taxi-v4", "pettingzoo:classic/go_v5".

An id is looked up among those that the installed packages register, or in the table below. Its text
is never imported.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium

from pbt.envs.adapters.gymnasium_env import GymnasiumGame
from pbt.envs.adapters.user_file import adapt
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.names import GYMNASIUM, did_you_mean
from pbt.envs.voice import aside, quiet
from pbt.errors import EnvError, EnvNameError, EnvOptionsError

ATARI = (
    *("basketball_pong_v3", "boxing_v2", "combat_plane_v2", "combat_tank_v2", "double_dunk_v3"),
    *("entombed_competitive_v3", "entombed_cooperative_v3", "flag_capture_v2", "foozpong_v3"),
    *("ice_hockey_v2", "joust_v3", "mario_bros_v3", "maze_craze_v3", "othello_v3", "pong_v3"),
    *("quadrapong_v4", "space_invaders_v2", "space_war_v2", "surround_v2", "tennis_v3"),
    *("video_checkers_v4", "volleyball_pong_v3", "warlords_v3", "wizard_of_wor_v3"),
)
BUTTERFLY = ("cooperative_pong_v6", "knights_archers_zombies_v11", "pistonball_v6")
CLASSIC = (
    *("chess_v6", "connect_four_v3", "go_v5", "hanabi_v5", "leduc_holdem_v4", "rps_v2"),
    *("texas_holdem_no_limit_v6", "texas_holdem_v4", "tictactoe_v3"),
)
SISL = ("multiwalker_v9", "pursuit_v5")
CARDS = ("leduc_holdem", "texas_holdem", "texas_holdem_no_limit")


def _module(family: str, game: str) -> str:
    """The module of a game, beside the one of its version, which warns of its own end."""
    plain = game.rpartition("_v")[0]
    return f"pettingzoo.{family}.{'rlcard_envs' if plain in CARDS else plain}.{plain}"


PETTINGZOO_GAMES: Mapping[str, str] = {
    f"{family}/{game}": _module(family, game)
    for family, games in (
        ("atari", ATARI),
        ("butterfly", BUTTERFLY),
        ("classic", CLASSIC),
        ("sisl", SISL),
    )
    for game in games
}
"""The games of PettingZoo 1.27: FAMILY/NAME -> its module."""

# What a package of Gymnasium's own games needs, as an extra of its name.
_EXTRAS: Mapping[str, str] = {
    "box2d": "box2d",
    "classic_control": "classic-control",
    "mujoco": "mujoco",
    "phys2d": "jax",
    "tabular": "jax",
    "toy_text": "toy-text",
}
# Words of `gymnasium.make` itself that are no option of a game.
_NOT_OPTIONS: Mapping[str, str] = {
    "disable_env_checker": "games are checked here already, by `arena env check`; leave it out",
    "render_mode": "nothing is shown while games are played; leave it out",
}
_ID = re.compile(r"[A-Za-z0-9_./-]+")
# A word of an option: it names no file, no module and no function.
_WORD = re.compile(r"[A-Za-z0-9_-]*")
_WINNERS = "the ranking of summed rewards"


def id_spec(name: str) -> EnvSpec:
    """The game of an id, not measured yet: `replayable` and `chance` are placeholders.

    Raises: EnvNameError for an id that is not known.
    """
    kind, _, game_id = name.partition(":")
    if not _ID.fullmatch(game_id) or ".." in game_id:
        raise EnvNameError(
            f"env {name!r}: no id; expected letters, digits and _ . / - after {kind}:"
        )
    known = gymnasium.registry if f"{kind}:" == GYMNASIUM else PETTINGZOO_GAMES
    if game_id not in known:
        hint = did_you_mean(game_id, known, f"{kind}:")
        raise EnvNameError(f"env {name!r} is not among the {len(known)} ids of {kind}{hint}")
    make_one = _make_gymnasium if f"{kind}:" == GYMNASIUM else _make_pettingzoo

    def make(**options: Any) -> Game:
        with aside():
            game = make_one(name, game_id, options)
        return quiet(game)

    described = f"{game_id} ({kind} {version(kind)})"
    return EnvSpec(name, make, True, True, _WINNERS, described, paths=_paths)


def _make_gymnasium(name: str, game_id: str, options: Mapping[str, Any]) -> Game:
    if refused := [f"{option}: {why}" for option, why in _NOT_OPTIONS.items() if option in options]:
        raise EnvOptionsError(refused)
    try:
        env = gymnasium.make(game_id, disable_env_checker=True, **options)
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        point = str(gymnasium.registry[game_id].entry_point)
        part = point.removeprefix("gymnasium.envs.").partition(".")[0].partition(":")[0]
        extra = f"gymnasium[{_EXTRAS[part]}]" if part in _EXTRAS else None
        raise EnvError(_missing(name, error, extra)) from error
    return GymnasiumGame(env, name)


def _make_pettingzoo(name: str, game_id: str, options: Mapping[str, Any]) -> Game:
    family = game_id.partition("/")[0]
    if find_spec(f"pettingzoo.{game_id.replace('/', '.')}") is None:
        raise EnvError(
            f"env {name!r}: pettingzoo {version('pettingzoo')} has no such version of it; "
            "pip install 'pettingzoo==1.27.*'"
        )
    try:
        module = import_module(PETTINGZOO_GAMES[game_id])
        # Games in which all act at once have both; the other kind lets them act in turn.
        build = getattr(module, "parallel_env", None) or module.env
        brought = _cartridges() if family == "atari" else {}
        return adapt(build(**{**brought, **options}), name)
    except ImportError as error:
        extra = "pbt-arena[atari]" if family == "atari" else f"pettingzoo[{family}]==1.27.*"
        raise EnvError(_missing(name, error, extra)) from error


def _cartridges() -> dict[str, str]:
    """The option that has PettingZoo take Atari's games from `ale-py`, where it brings them."""
    from ale_py import roms

    return {"auto_rom_install_path": str(Path(roms.__file__).parent)}


def _missing(name: str, error: BaseException, extra: str | None) -> str:
    """extra: what pip takes for the game's packages, None where only the game's error knows."""
    missing = getattr(error, "name", None)
    why = f"{missing!r} is not installed" if missing else str(error).partition("\n")[0]
    return f"env {name!r}: {why}; " + (
        f"pip install '{extra}'" if extra else "install what the game needs"
    )


def _paths(options: Mapping[str, Any]) -> Sequence[str]:
    """The options that may name a file or code: texts that are more than a word."""
    return [name for name, value in options.items() if not _is_plain(value)]


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    if isinstance(value, Mapping):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float)
