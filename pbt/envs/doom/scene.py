"""What every Doom game asks of an engine: scenario, map, screen."""

from functools import cache
from pathlib import Path
from typing import Any

from pbt.envs.doom.engine import load_vizdoom
from pbt.envs.doom.options import Known, SceneOptions, scenario_file
from pbt.errors import EnvError


@cache
def known() -> Known:
    """What the installed ViZDoom has. Raises: EnvError without ViZDoom."""
    vizdoom = load_vizdoom()
    names = (frozenset(kind.__members__) for kind in (vizdoom.ScreenResolution, vizdoom.GameVariable, vizdoom.Button))
    return Known(Path(vizdoom.scenarios_path), *names)


def configure_scene(game: Any, options: SceneOptions) -> None:
    """game: a `vizdoom.DoomGame` that has not started. Raises: EnvError when ViZDoom refuses the scenario."""
    vizdoom = load_vizdoom()
    try:
        game.load_config(str(scenario_file(options, known())))
    except Exception as error:
        raise EnvError(f"scenario {options.scenario!r} does not load: {type(error).__name__}: {error}; mend its .cfg file") from error
    # Arguments of the engine's command line, by which a file of somebody else's could write files.
    game.clear_game_args()
    # Else a commercial doom2.wad in the working directory is played instead.
    game.set_doom_game_path(str(Path(vizdoom.__file__).with_name("freedoom2.wad")))
    if options.wad is not None:
        game.set_doom_scenario_path(str(Path(options.wad).expanduser().resolve()))
    wad = game.get_doom_scenario_path()
    if wad and not Path(wad).is_file():
        raise EnvError(f"scenario {options.scenario!r} names the WAD {wad}, which is not there; put it beside the .cfg file, or say env.options.wad")
    if options.map is not None:
        game.set_doom_map(options.map)
    game.set_screen_resolution(getattr(vizdoom.ScreenResolution, options.resolution))
    game.set_screen_format(vizdoom.ScreenFormat.RGB24)
    game.set_mode(vizdoom.Mode.PLAYER)
    game.set_window_visible(False)
    game.set_sound_enabled(False)
