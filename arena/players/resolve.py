"""Players found by name: the league's snapshots, scripted players, programs that play along.

Names are such as `random`, `oneply`, `demo/m2`, `demo/m2@1.2M`, `demo@best`, a snapshot id,
`exec:./bot.py`.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.data.cards import card_path, read_card, weights_folder
from arena.data.paths import IMPORTED, data_dir, league_path, population_paths
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S, GuestProgram, find_program, is_guest
from arena.league.database import open_league
from arena.league.populations import stored_config
from arena.league.queries import list_populations
from arena.league.snapshot_names import FORMS, find_snapshot
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.names import absolute_name
from pbt.errors import EnvOptionsError, PlayerError
from pbt.records import PlayerRef

RANDOM = "random"
_ID = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True)
class ResolvedPlayer:
    """A player whose name was found, and all that is needed to seat it.

    label        a name it can be called by: "demo/m2@1.2M", "random"
    env_name, env_options  the game it plays;  role: the one role of a snapshot, None for scripted
                           players and guests, which play any
    config       of its population, for the model;  snapshots: the folder of its weights;
                 population, member, frames: whose snapshot, how old.
                 All None for scripted players and guests
    program      of a guest, else None
    """

    ref: PlayerRef
    label: str
    env_name: str
    env_options: Mapping[str, Any]
    config: RunConfig | None = None
    snapshots: Path | None = None
    population: str | None = None
    member: str | None = None
    role: str | None = None
    frames: int | None = None
    program: GuestProgram | None = None

    def plays(self, role: str) -> bool:
        return self.role is None or self.role == role


def resolve_players(
    names: Sequence[str],
    data: Path | None = None,
    env: str | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    allow_files: bool = False,
    move_timeout_s: float = DEFAULT_MOVE_TIMEOUT_S,
) -> tuple[EnvSpec, list[ResolvedPlayer]]:
    """The players of these names and the game they share: that of the snapshots among them, else
    `env`. Reads only.

    data         the data directory; None: $ARENA_DATA, else ./arena-data
    env          name of the game; needed where nobody was trained;  options: of that game
    allow_files  the game may be "./file.py:function" and a player "exec:./program" of the local
                 user, whose code then runs
    move_timeout_s  for one answer of such a program
    Raises: PlayerError for names that name nobody, and for players of different games; EnvNameError
    for an unknown game,
    EnvError for a game whose code fails.
    """
    env = absolute_name(env) if env is not None else None
    guests = {
        name: _guest(name, move_timeout_s, allow_files=allow_files)
        for name in names
        if is_guest(name)
    }
    trained = {
        name: _trained_player(name, data_dir(data))
        for name in dict.fromkeys(names)
        if name not in guests and _names_snapshot(name)
    }
    first = next(iter(trained.values()), None)
    if options:
        _check_options(options, env, first)
    game = first.env_name if first is not None else env
    if game is None:
        raise PlayerError(_no_game(names, data_dir(data)))
    spec = registry.spec(game, allow_files=allow_files)
    _check_one_game(list(trained.values()), env)
    played = first.env_options if first is not None else options or {}
    labels = [
        *scripted_names(spec),
        *(label for label, _ in {(program.label, program.name) for program in guests.values()}),
    ]
    clashing = {label for label in labels if labels.count(label) > 1}
    return spec, [
        _seated_guest(guests[name], game, played, clashing)
        if name in guests
        else trained.get(name) or _scripted_player(name, spec, game, played, data)
        for name in names
    ]


def _check_one_game(trained: Sequence[ResolvedPlayer], env: str | None) -> None:
    """Raises: PlayerError when two of them were trained in different games, or in another one
    than was asked for.
    """
    for player in trained:
        first = trained[0]
        if (player.env_name, player.env_options) != (first.env_name, first.env_options):
            found = (
                f"{first.label} plays {_described(first, player)}, {player.label} plays "
                f"{_described(player, first)}"
            )
            raise PlayerError(f"{found}; expected players of one game")
    if trained and env is not None and env != trained[0].env_name:
        raise PlayerError(
            f"--env {env}: {trained[0].label} plays {trained[0].env_name}; leave --env away, "
            f"or name players of {env}"
        )


def make_game(env: EnvSpec, options: Mapping[str, Any]) -> Game:
    """A table of the game. Raises: EnvOptionsError for options that it does not take."""
    try:
        return env.make(**options)
    except TypeError as error:
        if not options:
            raise
        problem = (
            f"{options_text(options)}: not what {env.name} takes ({error}); `arena env "
            "check` shows what a game makes of them"
        )
        raise EnvOptionsError([problem]) from error


def scripted_names(spec: EnvSpec) -> list[str]:
    """Players of a game that need no weights."""
    return sorted({RANDOM, *spec.scripted})


def _guest(name: str, move_timeout_s: float, *, allow_files: bool) -> GuestProgram:
    if not allow_files:
        raise PlayerError(
            f"player {name!r} is a program of the user's; expected a player of the league, "
            "because only the local command line runs programs"
        )
    return find_program(name, move_timeout_s)


def _seated_guest(
    program: GuestProgram, game: str, options: Mapping[str, Any], clashing: Collection[str]
) -> ResolvedPlayer:
    """clashing: labels that others have, too; the hash tells such a guest apart."""
    label = program.name if program.label in clashing else program.label
    return ResolvedPlayer(PlayerRef("guest", program.name), label, game, options, program=program)


def _names_snapshot(name: str) -> bool:
    return "/" in name or "@" in name or _ID.fullmatch(name) is not None


def _trained_player(name: str, data: Path) -> ResolvedPlayer:
    path = league_path(data)
    if not path.exists():
        raise PlayerError(
            f"player {name!r}: there is no league in {data}; train a population first, or "
            "name the right directory with --data"
        )
    with open_league(path, read_only=True) as league:
        found = find_snapshot(league, name)
        if found.population == IMPORTED:
            config, folder = (
                read_card(card_path(data, found.record.member)).config(),
                weights_folder(data),
            )
        else:
            config = config_from_table(
                stored_config(league, found.population), f"stored config of {found.population!r}"
            )
            folder = population_paths(data, found.population).snapshots
    record, label = found.record, found.label
    ref = PlayerRef("snapshot", record.snapshot_id)
    return ResolvedPlayer(
        ref,
        label,
        config.env.name,
        config.env.options,
        config,
        folder,
        found.population,
        record.member,
        record.role,
        record.frames,
    )


def _check_options(
    options: Mapping[str, Any], env: str | None, trained: ResolvedPlayer | None
) -> None:
    given = f"--set {options_text(options)}"
    if env is None:
        raise PlayerError(
            f"{given}: found no --env; expected the game that takes it: add --env NAME, or "
            "leave --set away"
        )
    if trained is not None:
        found = f"{trained.label} plays {_described(trained)}"
        raise PlayerError(
            f"{given}: {found}; expected scripted players, since a trained one brings its "
            "options: leave --set or that player away"
        )


def _scripted_player(
    name: str, spec: EnvSpec, game: str, options: Mapping[str, Any], data: Path | None
) -> ResolvedPlayer:
    known = scripted_names(spec)
    if name in known:
        return ResolvedPlayer(PlayerRef("scripted", name), name, game, options)
    raise PlayerError(_nobody(name, known, _populations(data_dir(data))))


def _no_game(names: Sequence[str], data: Path) -> str:
    """Only bare names were given, and no game: one of them may have been meant as a population."""
    populations = _populations(data)
    for name in names:
        if name != RANDOM and difflib.get_close_matches(name, populations, n=1):
            return _nobody(name, [], populations)
    return (
        f"players {', '.join(names)}: none of them says which game is played; add --env "
        f"NAME, such as --env connect_four; trained players are {FORMS}"
    )


def _nobody(name: str, scripted: Sequence[str], populations: Sequence[str]) -> str:
    """What to type instead of a name that is no scripted player."""
    if name in populations:
        return (
            f"player {name!r} is a whole population; expected one player of it: "
            f"{name}@best, or a member such as {name}/m0"
        )
    near = difflib.get_close_matches(name, [*scripted, *populations], n=1)
    hint = f"; did you mean {near[0]}{'@best' * (near[0] not in scripted)}?" if near else "."
    own = f"This game has {', '.join(scripted)}; trained" if scripted else "Trained"
    return f"player {name!r} names nobody{hint} {own} players are {FORMS}"


def _populations(data: Path) -> list[str]:
    path = league_path(data)
    if not path.exists():
        return []
    with open_league(path, read_only=True) as league:
        return [population.name for population in list_populations(league)]


def options_text(options: Mapping[str, Any]) -> str:
    """Such as "scenario = 'basic', frame_skip = 2"."""
    return ", ".join(f"{name} = {value!r}" for name, value in options.items())


def _described(player: ResolvedPlayer, beside: ResolvedPlayer | None = None) -> str:
    """The game of a player; beside one of the same name, only what is not the same."""
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
