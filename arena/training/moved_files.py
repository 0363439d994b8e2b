"""Files of the user's that a population needs and that lie elsewhere now.

At its starts a training keeps what its game was: the hashes of these files, and what a few seeded
games came to. At a resume `--set env.name=./new/place.py:make`, or `--set env.options.wad=...`,
says where such a file lies now. It must be the same game; the population's config stays as it is.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from arena.data.paths import PopulationPaths
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.envs.contract import EnvSpec
from pbt.envs.measured import own_files
from pbt.envs.names import absolute_name, is_file_name
from pbt.envs.places import place_of, remember_place
from pbt.envs.testing.playthrough import Referee, play
from pbt.errors import ConfigError, EnvNameError
from pbt.files import write_whole
from pbt.user_folders import expanded

FILE = "game.json"
NAME, OPTION = "env.name", "env.options."
GAMES = 3
STEPS = 200


def keep_print(paths: PopulationPaths, config: RunConfig, spec: EnvSpec) -> None:
    """Keep what the game is, if it is made of files; once for each content of them."""
    files = _files(config.env.name, config.env.game_options)
    if not files or (_kept(paths) or {}).get("files") == files:
        return
    kept = {"files": files, "games": _games(spec, config)}
    with suppress(OSError):  # a move is then judged by less
        write_whole(paths.root / FILE, json.dumps(kept, indent=1))


def take_moves(
    paths: PopulationPaths, config: RunConfig, overrides: Sequence[str]
) -> tuple[list[str], list[str]]:
    """(the other overrides, a line for each file that has moved). It notes where they lie now.

    config  in force
    Raises: ConfigError where a file is missing or the game is another one.
    """
    rest, moves = [], {}
    for word in overrides:
        key, _, text = word.partition("=")
        found = _moved(config, key.strip(), text.strip().strip("\"'"))
        if found is None:
            rest.append(word)
        else:
            moves[key.strip()] = found
    notes = []
    for key, (old, new) in moves.items():
        why = _same(paths, config, key, old, new)
        remember_place(old, new)
        notes.append(f"{key}: {old} lies at {new} now; {why}")
    return rest, notes


def _moved(config: RunConfig, key: str, text: str) -> tuple[Path, Path] | None:
    """(the place that the config names, the new one) of a file; None for another edit."""
    env = config.env
    if key == NAME and is_file_name(env.name) and is_file_name(text):
        old, _, function = env.name.rpartition(":")
        new, _, other = absolute_name(text).rpartition(":")
        return (Path(old), Path(new)) if function == other else None
    option = key.removeprefix(OPTION)
    if option != key and option in _path_options(env.name, env.options):
        return Path(env.options[option]), expanded(text).resolve()
    return None


def _path_options(name: str, options: Mapping[str, Any]) -> Sequence[str]:
    return registry.spec(name).paths(options) if name in registry.names() else ()


def _same(paths: PopulationPaths, config: RunConfig, key: str, old: Path, new: Path) -> str:
    """Why the file at the new place is the same. Raises: ConfigError where it is not."""
    source = f"--set {key}={new}"
    if not new.is_file():
        raise ConfigError(source, [f"{key}: no file {new}; expected what was {old}"])
    kept = _kept(paths)
    if kept is None:
        raise ConfigError(
            source, [f"{key}: nothing was kept of {old} to compare it with; put it back there"]
        )
    if key != NAME:
        if kept["files"].get(key) == _digest(new):
            return "its content is the same"
        raise ConfigError(source, [f"{key}: the content of {new} is not that of {old}"])
    try:
        env_name = f"{new}:{config.env.name.rpartition(':')[2]}"
        measured = (True, True)
        spec = registry.spec(env_name, allow_files=True, measured=measured)
    except EnvNameError as error:
        raise ConfigError(source, [f"{key}: {error}"]) from error
    if _files(env_name, {}).items() <= kept["files"].items():
        return "its files are the same"
    if kept["games"] == _games(spec, config):
        return f"its files differ, and {GAMES} seeded games are the same"
    raise ConfigError(
        source,
        [
            f"{key}: {new} is not the game that was {old}: its files differ, and so do {GAMES} "
            "seeded games; train a new population with it"
        ],
    )


def _kept(paths: PopulationPaths) -> dict[str, Any] | None:
    try:
        kept = json.loads((paths.root / FILE).read_bytes())
        return {"files": dict(kept["files"]), "games": list(kept["games"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _files(name: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The hashes of a game's files, by their place beside the game, and of those of its options."""
    found = {}
    if is_file_name(name):
        root = place_of(Path(name.rpartition(":")[0])).parent
        found = {os.path.relpath(file, root): _digest(file) for file in own_files(name)}
    for option in _path_options(name, options):
        path = place_of(Path(options[option]))
        if path.is_file():
            found[f"{OPTION}{option}"] = _digest(path)
    return found


def _games(spec: EnvSpec, config: RunConfig) -> list[str]:
    """What a few seeded games came to, each in one hash of all that was seen and done."""
    if not is_file_name(config.env.name):
        return []
    with closing(partial(spec.make, **config.env.game_options)()) as game:
        referee = Referee(game)
        return [play(referee, "the game", seed, seed, STEPS).digest for seed in range(GAMES)]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
