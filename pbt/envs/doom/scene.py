"""What every Doom game asks of an engine: scenario, map, screen."""

from functools import cache
from pathlib import Path
from typing import Any

from pbt.envs.doom.engine import load_vizdoom
from pbt.envs.doom.options import DoomNames, SceneOptions, scenario_file
from pbt.envs.doom.wad import Starts, map_names, map_starts
from pbt.errors import EnvError, EnvOptionsError

# ViZDoom carries these; a scenario that names none plays the second.
_GAMES = ("freedoom1.wad", "freedoom2.wad")
# What ViZDoom says where the .cfg file names no map, also of freedoom1, which has none of that
# name.
_UNNAMED_MAP = "map01"
_MOST_NAMED = 6


@cache
def known() -> DoomNames:
    """What the installed ViZDoom has. Raises: EnvError without ViZDoom."""
    vizdoom = load_vizdoom()
    names = (
        frozenset(kind.__members__)
        for kind in (vizdoom.ScreenResolution, vizdoom.GameVariable, vizdoom.Button)
    )
    return DoomNames(Path(vizdoom.scenarios_path), *names)


def game_file(name: str) -> Path:
    """A game's own WAD that comes with ViZDoom."""
    return Path(load_vizdoom().__file__).with_name(name)


def configure_scene(game: Any, options: SceneOptions) -> None:
    """game: a `vizdoom.DoomGame` that has not started.

    Raises: EnvError when ViZDoom refuses the scenario, EnvOptionsError for a game, a WAD or a map
    that cannot be played: engines do not refuse them, but play something else, or never start.
    """
    vizdoom = load_vizdoom()
    try:
        game.load_config(str(scenario_file(options, known())))
    except Exception as error:
        raise EnvError(
            f"scenario {options.scenario!r} does not load: {type(error).__name__}: {error}; "
            "mend its .cfg file"
        ) from error
    # Arguments of the engine's command line, by which a file of somebody else's could write files.
    game.clear_game_args()
    game.set_doom_game_path(str(_asked_game(game, options)))
    has_own_wad = bool(game.get_doom_scenario_path())
    if options.wad is not None:
        game.set_doom_scenario_path(str(Path(options.wad).expanduser().resolve()))
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
    """Of the map of a game that was configured; None where it cannot be read."""
    wads = [Path(wad) for wad in (game.get_doom_scenario_path(), game.get_doom_game_path()) if wad]
    return next(
        (found for wad in wads if (found := map_starts(wad, game.get_doom_map())) is not None), None
    )


def _asked_game(game: Any, options: SceneOptions) -> Path:
    """By the name of the file only, and always with its path: else whatever lies in the working
    directory under such a name is played.
    """
    name = Path(game.get_doom_game_path()).name or _GAMES[-1]
    if name.lower() in _GAMES:
        return game_file(name.lower())
    raise EnvOptionsError([
        (f"scenario = {options.scenario!r}: its .cfg file asks for the game {name} "
"(doom_game_path), which ViZDoom does not carry; expected "
f'{" or ".join(_GAMES)}; take the scenario "freedoom1" or "freedoom2", or name one '
'of these files, or none, in a .cfg file of your own')
    ])  # fmt: skip


def _asked_map(game: Any, options: SceneOptions, has_own_wad: bool) -> str:
    """has_own_wad: the .cfg file names one, so maps of the game are none of the scenario's."""
    wad, played = game.get_doom_scenario_path(), Path(game.get_doom_game_path())
    asked: str = game.get_doom_map() if options.map is None else options.map
    own = _maps_of(Path(wad), options) if wad else []
    if asked.upper() in own:
        return asked
    # Sounds and monsters, say, for the game's own maps.
    of_game = not own and not has_own_wad
    games = map_names(played)
    if of_game and asked.upper() in games:
        return asked
    if of_game and options.map is None and asked == _UNNAMED_MAP:
        return games[0]
    there = games if of_game else own
    names = (", ".join(there[:_MOST_NAMED]) or "none") + (
        f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
    )
    whose = (
        "" if options.map is not None else " (of the .cfg file, or ViZDoom's where that names none)"
    )
    found = (
        f"map = {asked!r}{whose}: {played.name if of_game else Path(wad).name} has no "
        f"such map; it has {names}"
    )
    elsewhere = (
        f"; {played.name} has a {asked.upper()}, which is another game than this scenario"
        if asked.upper() in games
        else ""
    )
    raise EnvOptionsError([f"{found}{elsewhere}; say another map, or another wad"])


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
