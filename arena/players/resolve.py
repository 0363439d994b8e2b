"""Names of players are resolved here: snapshots of the league, scripted players, and guests.

Examples of names are `random`, `oneply`, `demo/m2`, `demo/m2@1.2M`, `demo@best`, a snapshot id, and
`exec:./bot.py` for a guest, which is a program outside the league.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.data.paths import IMPORTED, data_dir, league_path, population_paths
from arena.data.snapshot_cards import card_path, read_card, weights_folder
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S, GuestProgram, find_program, is_guest
from arena.league.database import League, open_league
from arena.league.objectives import objective_in_force
from arena.league.populations import stored_config
from arena.league.snapshot_names import FORMS, best_names_text, find_snapshot
from arena.league.stored_snapshots import StoredSnapshot
from arena.league.summaries import list_populations
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.envs import registry
from pbt.envs.contract import EnvSpec
from pbt.envs.names import absolute_name
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef

RANDOM = "random"
_ID = re.compile(r"[0-9a-f]{8,64}")


class GuestRefused(PlayerError):
    """A player is a program of the user's, and here none may be run."""


@dataclass(frozen=True)
class ResolvedPlayer:
    """A player whose name was resolved, with all that is needed to seat it.

    The fields from config to frames are None for scripted players and guests.

    ref          the player, as the league knows it
    label        its name for people: "demo/m2@1.2M", "random"
    env_name     the game that it plays
    env_options  the game's options
    config       the config of its population, for the model
    objective    what its population counts in now
    snapshots    the folder of its weights
    population   the population that it was trained in
    member       the member that it is a snapshot of
    role         the role that it plays; scripted players and guests play any
    frames       the frames that the member had trained
    program      the program of a guest, else None
    """

    ref: PlayerRef
    label: str
    env_name: str
    env_options: Mapping[str, Any]
    config: RunConfig | None = None
    objective: ObjectiveKind | None = None
    snapshots: Path | None = None
    population: str | None = None
    member: str | None = None
    role: str | None = None
    frames: int | None = None
    program: GuestProgram | None = None

    def plays(self, role: str) -> bool:
        return self.role is None or self.role == role

    def in_role(self, role: str | None) -> "ResolvedPlayer":
        """The same player in this role only; as it is where it does not play it, and for None."""
        return replace(self, role=role) if role is not None and self.plays(role) else self


def resolve_players(
    names: Sequence[str],
    data: Path | None = None,
    env: str | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    allow_files: bool = False,
    move_timeout_s: float = DEFAULT_MOVE_TIMEOUT_S,
) -> tuple[EnvSpec, list[ResolvedPlayer]]:
    """(the game, the players with these names). It only reads.

    names           names of players; snapshots say which game is played
    data            the data directory; None: $ARENA_DATA, else ./arena-data
    env             name of the game, needed where no player is a snapshot
    options         options of that game
    allow_files     whether the game may be "./file.py:function" and a player "exec:./program" of
                    the local user, whose code then runs
    move_timeout_s  limit for one answer of such a program
    Raises: PlayerError for names without a player and for players of different games, EnvNameError
    for an unknown game, EnvError for a game whose code fails.
    """
    env = absolute_name(env) if env is not None else None
    guests = {
        name: _guest(name, move_timeout_s, allow_files=allow_files)
        for name in names
        if is_guest(name)
    }
    trained = {
        name: trained_player(name, data_dir(data))
        for name in dict.fromkeys(names)
        if name not in guests and names_snapshot(name)
    }
    first = next(iter(trained.values()), None)
    if options:
        _check_options(options, env, first)
    game = first.env_name if first is not None else env
    if game is None:
        raise PlayerError(_no_game(names, data_dir(data)))
    played = first.env_options if first is not None else options or {}
    spec = registry.spec(game, allow_files=allow_files, options=played)
    _check_one_game(list(trained.values()), env)
    clashing = _clashing_labels(spec, guests.values())
    return spec, [
        _seated_guest(guests[name], game, played, clashing)
        if name in guests
        else trained.get(name) or _scripted_player(name, spec, game, played, data)
        for name in names
    ]


def _clashing_labels(spec: EnvSpec, programs: Iterable[GuestProgram]) -> set[str]:
    """The labels that several of the game's scripted players and these guests have."""
    labels = [
        *scripted_names(spec),
        *(label for label, _ in {(program.label, program.name) for program in programs}),
    ]
    return {label for label in labels if labels.count(label) > 1}


def _check_one_game(trained: Sequence[ResolvedPlayer], env: str | None) -> None:
    """Raises: PlayerError when two players were trained in different games, or one not in `env`."""
    for player in trained:
        first = trained[0]
        if (player.env_name, player.env_options) != (first.env_name, first.env_options):
            raise PlayerError(
                f"{first.label} plays {_described(first, player)}, {player.label} plays "
                f"{_described(player, first)}; expected players of one game"
            )
    if trained and env is not None and env != trained[0].env_name:
        raise PlayerError(
            f"--env {env}: {trained[0].label} plays {trained[0].env_name}; leave --env out "
            f"(in Python env=), or name players of {env}"
        )


def scripted_names(spec: EnvSpec) -> list[str]:
    """The names of a game's players that need no weights."""
    return sorted({RANDOM, *spec.scripted})


def _guest(name: str, move_timeout_s: float, *, allow_files: bool) -> GuestProgram:
    if not allow_files:
        raise GuestRefused(
            f"player {name!r} is a program; expected a player of the league, because only the "
            "local command line runs programs of the user"
        )
    return find_program(name, move_timeout_s)


def _seated_guest(
    program: GuestProgram, game: str, options: Mapping[str, Any], clashing: Collection[str]
) -> ResolvedPlayer:
    """A guest as a player. clashing: labels of several players; such a guest shows its hash."""
    label = program.name if program.label in clashing else program.label
    return ResolvedPlayer(PlayerRef("guest", program.name), label, game, options, program=program)


def names_snapshot(name: str) -> bool:
    """Whether a name has the form of a trained player's."""
    return "/" in name or "@" in name or _ID.fullmatch(name) is not None


def trained_player(name: str, data: Path) -> ResolvedPlayer:
    """The snapshot with this name; its game is not made. Raises: PlayerError."""
    path = league_path(data)
    if not path.exists():
        raise PlayerError(
            f"player {name!r}: there is no league in {data}; train a population first, or "
            "name the right directory with --data (in Python data=)"
        )
    with open_league(path, read_only=True) as league:
        return stored_player(league, find_snapshot(league, name), data)


def stored_player(league: League, snapshot: StoredSnapshot, data: Path) -> ResolvedPlayer:
    """A snapshot of the league as a player; its game is not made."""
    population, record = snapshot.population, snapshot.record
    if population == IMPORTED:
        config = read_card(card_path(data, record.member)).config()
        folder, objective = weights_folder(data), config.env.objective
    else:
        config = config_as_stored(
            stored_config(league, population), f"stored config of {population!r}"
        )
        folder = population_paths(data, population).snapshots
        objective = objective_in_force(league, population)
    ref = PlayerRef("snapshot", record.snapshot_id)
    return ResolvedPlayer(
        ref,
        snapshot.label,
        config.env.name,
        config.env.game_options,
        config,
        objective,
        folder,
        population,
        record.member,
        record.role,
        record.frames,
    )


def _check_options(
    options: Mapping[str, Any], env: str | None, trained: ResolvedPlayer | None
) -> None:
    setting = f"--set {options_text(options)}"
    if env is None:
        raise PlayerError(
            f"{setting}: found no --env; expected the game that takes it: add --env NAME, or "
            "leave --set out (in Python env= and options=)"
        )
    if trained is not None:
        raise PlayerError(
            f"{setting}: {trained.label} plays {_described(trained)}; expected scripted "
            "players, since a trained one brings its options: leave --set (in Python "
            "options=) or that player out"
        )


def _scripted_player(
    name: str, spec: EnvSpec, game: str, options: Mapping[str, Any], data: Path | None
) -> ResolvedPlayer:
    scripted = scripted_names(spec)
    if name in scripted:
        return ResolvedPlayer(PlayerRef("scripted", name), name, game, options)
    raise PlayerError(_no_such_player(name, scripted, _populations(data_dir(data))))


def _no_game(names: Sequence[str], data: Path) -> str:
    """The message for bare names without a game. A name may have been meant as a population."""
    populations = _populations(data)
    for name in names:
        if name != RANDOM and difflib.get_close_matches(name, populations, n=1):
            return _no_such_player(name, [], populations)
    return (
        f"players {', '.join(names)}: none of them says which game is played; add --env "
        f'NAME, such as --env connect_four (in Python env="connect_four"); trained players are '
        f"{FORMS}"
    )


def _no_such_player(name: str, scripted: Sequence[str], populations: Mapping[str, str]) -> str:
    """The message for a name without a player: it says what to type instead.

    populations  as `_populations` gives them
    """
    if name in populations:
        return (
            f"player {name!r} is a whole population; expected one player of it: "
            f"{populations[name]}, or a member such as {name}/m0"
        )
    near = difflib.get_close_matches(name, [*scripted, *populations], n=1)
    hint = f"; did you mean {populations.get(near[0], near[0])}?" if near else "."
    own = f"This game has {', '.join(scripted)}; trained" if scripted else "Trained"
    return f"there is no player {name!r}{hint} {own} players are {FORMS}"


def _populations(data: Path) -> dict[str, str]:
    """Name of a population -> the name of its best player, or of that of each role."""
    path = league_path(data)
    if not path.exists():
        return {}
    with open_league(path, read_only=True) as league:
        names = [population.name for population in list_populations(league)]
        return {name: best_names_text(league, name) for name in names}


def options_text(options: Mapping[str, Any]) -> str:
    """The options for people, such as "scenario = 'basic', frame_skip = 2"."""
    return ", ".join(f"{name} = {value!r}" for name, value in options.items())


def _described(player: ResolvedPlayer, beside: ResolvedPlayer | None = None) -> str:
    """The game of a player. beside: where it plays the same game, only options that differ."""
    options = dict(player.env_options)
    if beside is None or beside.env_name != player.env_name:
        return f"{player.env_name} {options}" if options else player.env_name
    names = sorted(
        name
        for name in options.keys() | beside.env_options.keys()
        if options.get(name) != beside.env_options.get(name)
    )
    return f"{player.env_name} with " + ", ".join(
        f"{name} = {options[name]!r}" if name in options else f"no {name} given" for name in names
    )
