"""Checks that a map has room for the players of a match."""

from pathlib import Path

from pbt.envs.doom.engine import load_vizdoom
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.scene import configure_scene, scene_starts


def room_problems(options: MatchOptions) -> list[str]:
    """What is wrong with a match that would crash the engine, one line each.

    The engine looks for another place where all places of a map are taken, and crashes where the
    map has none for single players either. A map that cannot be read gives no problem.

    Raises: EnvError when ViZDoom refuses the scenario.
    """
    game = load_vizdoom().DoomGame()
    configure_scene(game, options)
    starts = scene_starts(game)
    total = options.players + options.bots
    if starts is None or (starts.deathmatch and (total <= starts.deathmatch or starts.players)):
        return []
    key, shown = (
        ("scenario", Path(options.scenario).stem)
        if options.wad is None
        else ("wad", Path(options.wad).name)
    )
    place = f"{shown} {game.get_doom_map()}"
    advice = 'try scenario = "cig", whose map01 has room for 16'
    if not starts.deathmatch:
        return [f"{key}: {place} has no places for players of a deathmatch to appear; {advice}"]
    return [
        (
            f"players + bots = {total}: {place} has room for {starts.deathmatch}, and more "
            f"crash Doom's engine; {advice}"
        )
    ]
