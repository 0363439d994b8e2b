"""Whether a map has room for a match."""

from pathlib import Path

from pbt.envs.doom.engine import load_vizdoom
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.scene import configure_scene, scene_starts


def room_problems(options: MatchOptions) -> list[str]:
    """Of matches that crash the engine: it looks for another place where all of a map's are taken,
    and fails where the map has none for single players either. Nothing is said of a map that cannot
    be read. Raises: EnvError when ViZDoom refuses the scenario.
    """
    game = load_vizdoom().DoomGame()
    configure_scene(game, options)
    starts = scene_starts(game)
    everybody = options.players + options.bots
    if starts is None or (starts.deathmatch and (everybody <= starts.deathmatch or starts.players)):
        return []
    key, named = (
        ("scenario", Path(options.scenario).stem)
        if options.wad is None
        else ("wad", Path(options.wad).name)
    )
    place = f"{named} {game.get_doom_map()}"
    advice = 'try scenario = "cig", whose map01 has room for 16'
    if not starts.deathmatch:
        return [f"{key}: {place} has no places for players of a deathmatch to appear; {advice}"]
    return [
        (
            f"players + bots = {everybody}: {place} has room for {starts.deathmatch}, and more "
            f"crash Doom's engine; {advice}"
        )
    ]
