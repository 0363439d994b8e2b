"""Sets up what every Doom game asks of an engine: scenario, map and screen."""

from functools import cache
from pathlib import Path
from typing import Any

from pbt.envs.doom.engine import load_vizdoom
from pbt.envs.doom.options import DoomNames, SceneOptions, scenario_file
from pbt.envs.doom.wad import Starts, map_names, map_starts
from pbt.errors import EnvError, EnvOptionsError
from pbt.user_folders import expanded

# The games that ViZDoom carries. A scenario that names none plays the second.
_GAMES = ("freedoom1.wad", "freedoom2.wad")
# ViZDoom's map where the .cfg file names none. It is the same for freedoom1, which has no map of
# that name.
_UNNAMED_MAP = "map01"
_MOST_NAMED = 6


@cache
def known() -> DoomNames:
    """The names that the installed ViZDoom has.

    Raises: EnvError without ViZDoom.
    """
    vizdoom = load_vizdoom()
    names = (
        frozenset(kind.__members__)
        for kind in (vizdoom.ScreenResolution, vizdoom.GameVariable, vizdoom.Button)
    )
    return DoomNames(Path(vizdoom.scenarios_path), *names)


def game_file(name: str) -> Path:
    """The WAD of a game that comes with ViZDoom."""
    return Path(load_vizdoom().__file__).with_name(name)


def configure_scene(game: Any, options: SceneOptions) -> None:
    """Set scenario, map and screen of a game.

    game  a `vizdoom.DoomGame` that has not started
    Raises: EnvError when ViZDoom refuses the scenario; EnvOptionsError for a game, a WAD or a map
    that cannot be played. Engines do not refuse those, but play something else, or never start.
    """
    vizdoom = load_vizdoom()
    try:
        game.load_config(str(scenario_file(options, known())))
    except Exception as error:
        raise EnvError(
            f"scenario {options.scenario!r} does not load: {type(error).__name__}: {error}; "
            "mend its .cfg file"
        ) from error
    # Arguments of the engine's command line. With them a foreign .cfg file could write files.
    game.clear_game_args()
    game.set_doom_game_path(str(_asked_game(game, options)))
    has_own_wad = bool(game.get_doom_scenario_path())
    if options.wad is not None:
        game.set_doom_scenario_path(str(expanded(options.wad).resolve()))
    wad = game.get_doom_scenario_path()
    if wad and not Path(wad).is_file():
        raise EnvError(
            f"scenario {options.scenario!r} names the WAD {wad}, which is not there; put it "
            "beside the .cfg file, or say env.options.wad"
        )
    game.set_doom_map(_asked_map(game, options, has_own_wad))
    game.set_screen_resolution(getattr(vizdoom.ScreenResolution, options.resolution))
    game.set_screen_format(vizdoom.ScreenFormat.RGB24)
    game.set_mode(vizdoom.Mode.PLAYER)
    game.set_window_visible(False)
    game.set_sound_enabled(False)


def scene_starts(game: Any) -> Starts | None:
    """The places to appear on the map of a configured game; None where it cannot be read."""
    wads = [Path(wad) for wad in (game.get_doom_scenario_path(), game.get_doom_game_path()) if wad]
    return next(
        (starts for wad in wads if (starts := map_starts(wad, game.get_doom_map())) is not None),
        None,
    )


def _asked_game(game: Any, options: SceneOptions) -> Path:
    """The path of the game's WAD, found by the file's name only.

    Without a path the engine would play any file of that name that lies in the working directory.
    """
    name = Path(game.get_doom_game_path()).name or _GAMES[-1]
    if name.lower() in _GAMES:
        return game_file(name.lower())
    problem = (
        f"scenario = {options.scenario!r}: its .cfg file asks for the game {name} "
        f"(doom_game_path), which ViZDoom does not carry; expected {' or '.join(_GAMES)}; take the "
        'scenario "freedoom1" or "freedoom2", or name one of these files, or none, in a .cfg file '
        "of your own"
    )
    raise EnvOptionsError([problem])


def _asked_map(game: Any, options: SceneOptions, has_own_wad: bool) -> str:
    """The map to play.

    has_own_wad  the .cfg file names a WAD, so maps of the game do not belong to the scenario
    """
    wad, played = game.get_doom_scenario_path(), Path(game.get_doom_game_path())
    name: str = game.get_doom_map() if options.map is None else options.map
    own = _maps_of(Path(wad), options) if wad else []
    if name.upper() in own:
        return name
    # The WAD has no maps: it may bring sounds or monsters for the game's own maps.
    of_game = not own and not has_own_wad
    game_maps = map_names(played)
    if of_game and name.upper() in game_maps:
        return name
    if of_game and options.map is None and name == _UNNAMED_MAP:
        return game_maps[0]
    maps = game_maps if of_game else own
    names = (", ".join(maps[:_MOST_NAMED]) or "none") + (
        f" and {len(maps) - _MOST_NAMED} more" if len(maps) > _MOST_NAMED else ""
    )
    whose = (
        "" if options.map is not None else " (of the .cfg file, or ViZDoom's where that names none)"
    )
    problem = (
        f"map = {name!r}{whose}: {played.name if of_game else Path(wad).name} has no "
        f"such map; it has {names}"
    )
    elsewhere = (
        f"; {played.name} has a {name.upper()}, which is another game than this scenario"
        if name.upper() in game_maps
        else ""
    )
    raise EnvOptionsError([f"{problem}{elsewhere}; say another map, or another wad"])


def _maps_of(wad: Path, options: SceneOptions) -> list[str]:
    try:
        return map_names(wad)
    except (OSError, ValueError) as error:
        place = (
            f"wad = {options.wad!r}"
            if options.wad is not None
            else f"scenario = {options.scenario!r}: the WAD of its .cfg file, {wad}"
        )
        raise EnvOptionsError([f"{place}: {error}"]) from error
