"""The snapshots that the members of a new population begin with are named, found and checked here.

A warm start takes weights and the statistics of observations; the optimiser's moments and the scale
of returns come along where they are asked for. All else begins as in any population.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arena.data.paths import IMPORTED, league_path
from arena.league.database import open_league
from arena.league.stored_snapshots import list_snapshots
from arena.players.resolve import ResolvedPlayer, trained_player
from pbt.config.population import Began
from pbt.config.resume import changes, shown
from pbt.config.schema import RunConfig
from pbt.config.semantics import member_number, member_roles
from pbt.envs.names import is_file_name
from pbt.errors import ConfigError, PbtError
from pbt.learning.optimizer import OPTIMIZER_PREFIXES
from pbt.models.weights import RULE_PREFIX
from pbt.runtime.warm_start import misfits_of
from pbt.snapshots import FileSnapshotStore
from pbt.transport.slab import RoleLayout

ID_DIGITS = 12
_OF_MEMBER = re.compile(r"(m[0-9]+)=(.+)")
# What decides the shape of a network, besides the game's own code.
_SHAPING = ("model.", "env.options.", "env.resize", "env.grey", "env.stack")


@dataclass(frozen=True)
class StartFrom:
    """The weights that members of a new population begin with, in place of their own first ones.

    players    each for all members of its role that `members` does not name
    members    member -> its player
    optimizer  with the optimiser's moments and the scale of returns
    """

    players: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    optimizer: bool = False


OWN_WEIGHTS = StartFrom()
"""Every member begins with first weights of its own, but for what the config says."""


def wanted_weights(words: Sequence[str], *, optimizer: bool = False) -> StartFrom:
    """What the words of `--from` ask for.

    words: players such as "first@best", and "m0=first/m2@1.2M"
    Raises: ConfigError where a member has two, for a word of neither form, and for moments of no
    weights.
    """
    players, members = [], dict[str, str]()
    for word in words:
        named = _OF_MEMBER.fullmatch(word)
        if named is None and "=" in word and not word.startswith("exec:"):
            problem = (
                f"{word}: not a member with its player; expected one such as m0=first/m2@1.2M, or "
                "a player alone, such as first@best"
            )
            raise ConfigError("the weights to begin with", [problem])
        if named is None:
            players.append(word)
        elif members.setdefault(named[1], named[2]) != named[2]:
            problem = f"{word}: {named[1]} begins with {members[named[1]]} already; expected one"
            raise ConfigError("the weights to begin with", [problem])
    if optimizer and not words:
        raise ConfigError(
            "the weights to begin with",
            ["the optimiser's moments come with weights; say whose, or leave the optimiser out"],
        )
    return StartFrom(tuple(dict.fromkeys(players)), members, optimizer)


@dataclass(frozen=True)
class _Asked:
    """What members of one role are to begin with. found: the player, once its name is resolved."""

    members: tuple[str, ...]
    role: str
    player: str
    optimizer: bool
    found: ResolvedPlayer

    @property
    def place(self) -> str:
        return _place(self.members, self.player)


def _place(members: Sequence[str], player: str) -> str:
    return f"population.began ({', '.join(members)}): {player}"


def begun_config(
    config: RunConfig,
    wanted: StartFrom,
    data: Path,
    layouts: Sequence[RoleLayout],
    source: str,
) -> RunConfig:
    """The config of a new population, with the ids of the snapshots that its members begin with.

    Nothing is written.

    config   its networks are decided
    wanted   what was asked for besides what the config says, before which it goes
    data     the data directory
    layouts  what the networks of every role see and do
    Raises: ConfigError with every player that is not there, or does not fit game, role or network.
    """
    if wanted == OWN_WEIGHTS and not config.population.began:
        return config
    asking = _Asking(data, member_roles(config, [layout.role.name for layout in layouts]))
    asking.ask(config, wanted)
    of_role = {layout.role.name: layout for layout in layouts}
    problems = asking.problems + [
        f"{one.place}: {problem}"
        for one in asking.asked
        if (problem := _problem(one, config, of_role[one.role], data))
    ]
    if problems:
        raise ConfigError(source, problems)
    began = {
        member: Began(weights=one.found.ref.name, player=one.found.label, optimizer=one.optimizer)
        for one in asking.asked
        for member in one.members
    }
    ordered = {name: began[name] for name in sorted(began, key=member_number)}
    population = config.population.model_copy(update={"began": ordered})
    return config.model_copy(update={"population": population})


def warm_words(config: RunConfig) -> list[str]:
    """One line for each snapshot that members begin with."""
    groups: dict[Began, list[str]] = {}
    for member, one in config.population.began.items():
        groups.setdefault(one, []).append(member)
    return [f"{', '.join(members)}: {origin_words(one)}" for one, members in groups.items()]


def origin_words(one: Began) -> str:
    moments = " and its optimiser's moments" * one.optimizer
    return f"begins with the weights of {one.player} ({one.weights[:ID_DIGITS]}){moments}"


class _Asking:
    """Collects what members are to begin with.

    asked     snapshots that are there
    problems  the other ones, in words
    """

    def __init__(self, data: Path, roles: Mapping[str, str]) -> None:
        """roles: member -> its role, of the new population."""
        self.asked: list[_Asked] = []
        self.problems: list[str] = []
        self._data, self._roles = data, roles
        self._known: dict[str, ResolvedPlayer | PbtError] = {}
        self._by_role: dict[str, str] = {}

    def ask(self, config: RunConfig, wanted: StartFrom) -> None:
        """Ask for all that is wanted; what the config says goes behind it."""
        began, moments = config.population.began, wanted.optimizer
        named = {member: (one.weights, one.optimizer) for member, one in began.items()}
        named |= {member: (player, moments) for member, player in wanted.members.items()}
        for member, (player, optimizer) in named.items():
            self._of_member(member, player, optimizer=optimizer)
        others = [member for member in self._roles if member not in named]
        for player in wanted.players:
            self._of_all(others, player, optimizer=moments)

    def _of_member(self, member: str, player: str, *, optimizer: bool) -> None:
        """Ask for one member."""
        place = _place([member], player)
        if member not in self._roles:
            self.problems.append(f"{place}: no such member; there are {', '.join(self._roles)}")
        elif (found := self._found(player, place)) is not None:
            self.asked.append(_Asked((member,), self._roles[member], player, optimizer, found))

    def _of_all(self, members: Sequence[str], player: str, *, optimizer: bool) -> None:
        """Ask for those of the members that play the player's role."""
        found = self._found(player, _place(members, player))
        if found is None:
            return
        role = found.role or ""
        mine = tuple(member for member in members if self._roles[member] == role)
        place, other = _place(mine or members, player), self._by_role.setdefault(role, player)
        if role not in self._roles.values():
            playing = ", ".join(dict.fromkeys(self._roles.values()))
            self.problems.append(f"{place}: it plays {role}; expected a player of {playing}")
        elif other != player:
            self.problems.append(
                f"{place}: all members that play {role} begin with {other} already; say whose "
                "weights each takes, as in m0=first/m2"
            )
        elif mine:
            self.asked.append(_Asked(mine, role, player, optimizer, found))

    def _found(self, player: str, place: str) -> ResolvedPlayer | None:
        """The snapshot with this name; None, and one problem more, where there is none."""
        if player not in self._known:
            try:
                self._known[player] = trained_player(player, self._data)
            except PbtError as error:
                self._known[player] = error
        known = self._known[player]
        if isinstance(known, ResolvedPlayer):
            return known
        self.problems.append(f"{place}: {' '.join(str(known).split())}")
        return None


def _problem(one: _Asked, config: RunConfig, layout: RoleLayout, data: Path) -> str | None:
    """Why these members cannot begin with the snapshot."""
    found = one.found
    assert found.config is not None and found.snapshots is not None, "it is a snapshot"
    if not _same_game(found.env_name, config.env.name):
        return (
            f"it plays {found.env_name}; expected a player of {config.env.name}, which this config "
            "trains: name another snapshot, or train that game"
        )
    if found.role != one.role:
        return (
            f"it plays {found.role}; expected one that plays {one.role}, as {one.members[0]} does"
        )
    try:
        weights = FileSnapshotStore(found.snapshots).load(found.ref.name)
    except PbtError as error:
        return str(error)
    if one.optimizer and not any(name.startswith(OPTIMIZER_PREFIXES) for name in weights):
        return _without_moments(found, data)
    of_each = (
        misfits_of(config, member, layout, weights, optimizer=one.optimizer)
        for member in one.members
    )
    misfits = next(filter(None, of_each), None)
    if misfits is None:
        return None
    more = f" (and {len(misfits) - 1} more)" * (len(misfits) > 1)
    advice = _advice(found.config, config, misfits[0])
    return f"it does not fit the network: {misfits[0]}{more}; {advice}"


def _same_game(theirs: str, ours: str) -> bool:
    """Whether two names are of one game. A file may lie elsewhere, under its own name."""
    files = is_file_name(theirs) and is_file_name(ours)
    return theirs == ours or (files and Path(theirs).name == Path(ours).name)


def _without_moments(found: ResolvedPlayer, data: Path) -> str:
    """What is said of a snapshot that has no moments, with the newest that do."""
    whole: list[str] = []
    if found.population not in (None, IMPORTED):
        with open_league(league_path(data), read_only=True) as league:
            whole = [
                f"{one.label} ({one.record.snapshot_id[:ID_DIGITS]})"
                for one in list_snapshots(league, str(found.population))
                if one.record.reason == "round"
                and one.record.role == found.role
                and not one.weights_removed
            ]
    there = f"name one by its id: {', '.join(whole[-3:])}; or" if whole else "there is none here;"
    return (
        "it holds no optimiser's moments; expected a snapshot that a round of PBT copied, as only "
        f"those do: {there} begin with the weights alone"
    )


def _advice(theirs: RunConfig, ours: RunConfig, misfit: str) -> str:
    """What to do about a network of another shape, or of another algorithm."""
    if misfit.startswith(RULE_PREFIX):
        return "it learned by another algorithm; name one of the same, or set learning.algorithm"
    differing = [
        f"{key} = {shown(there)} there and {shown(here)} here"
        for key, (there, here) in changes(theirs, ours).items()
        if key.startswith(_SHAPING)
    ]
    if not differing:
        return "its game was another version; name a snapshot of this one"
    return f"{', '.join(differing[:4])}: set them alike, or name another snapshot"
