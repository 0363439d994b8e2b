"""Checks a config against its game: roles, members and reward terms."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pbt.config.learning import OF_ONE_CHOICE
from pbt.config.problems import did_you_mean
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError


class Named(Protocol):
    """A role, as far as a config knows it."""

    @property
    def name(self) -> str: ...


class GameShape(Protocol):
    """The part of `pbt.envs.contract.Game` that a config can contradict.

    It is declared here because `config` stands below `envs`.
    """

    @property
    def roles(self) -> Sequence[Named]: ...

    @property
    def seat_roles(self) -> Sequence[int]: ...

    @property
    def reward_terms(self) -> Sequence[str]: ...


def everyone(config: RunConfig, roles: Sequence[str]) -> dict[str, str]:
    """Member name -> role name of all members that ever were, in order.

    First come the members that the population began with, then those that joined.
    """
    later = sorted(config.population.joined, key=member_number)
    return _first_members(config, roles) | {
        name: config.population.joined[name].role for name in later
    }


def _first_members(config: RunConfig, roles: Sequence[str]) -> dict[str, str]:
    """The members to begin with: "m0", "m1", ... counted through the roles in the game's order.

    A role that the table omits has none.
    """
    counts = config.population.members
    per_role = {role: counts if isinstance(counts, int) else counts.get(role, 0) for role in roles}
    in_order = [role for role in roles for _ in range(per_role[role])]
    return {f"m{index}": role for index, role in enumerate(in_order)}


def member_roles(config: RunConfig, roles: Sequence[str]) -> dict[str, str]:
    """Member name -> role name of the members that play: `everyone` without those that left."""
    return {
        name: role
        for name, role in everyone(config, roles).items()
        if name not in config.population.left
    }


def member_number(name: str) -> int:
    """3 of "m3": its place among all members that ever were, and in the policy table."""
    return int(name.removeprefix("m"))


def check_against_game(config: RunConfig, game: GameShape, source: str = "config") -> None:
    """Raises: ConfigError with every contradiction between config and game."""
    roles = [role.name for role in game.roles]
    problems = _role_problems(config.population.members, roles)
    if not problems:
        problems += _membership_problems(config, roles)
        members = list(everyone(config, roles))
        last = members[-1]
        problems += [
            _unknown(f"members.{name}", name, "member", members, f"m0 to {last}")
            for name in config.members
            if name not in members
        ]
    problems += _limit_problems(config, game)
    terms = list(game.reward_terms)
    problems += _term_problems("learning.shaping", config.learning.shaping, terms)
    for name, override in config.members.items():
        problems += _term_problems(f"members.{name}.shaping", override.shaping, terms)
        for number, step in enumerate(override.schedule):
            problems += _term_problems(
                f"members.{name}.schedule.{number}.shaping", step.shaping, terms
            )
    if problems:
        raise ConfigError(source, problems)


def algorithm_problems(config: RunConfig, one_choice: Mapping[str, bool]) -> list[str]:
    """What speaks against the members' algorithms in a game, one line each.

    one_choice  role -> whether its actions are one choice
    """
    problems = {}
    for member, role in member_roles(config, list(one_choice)).items():
        name = config.algorithm_of(member)
        if name in OF_ONE_CHOICE and not one_choice[role]:
            own = member in config.members and config.members[member].algorithm is not None
            place = f"members.{member}.algorithm" if own else "learning.algorithm"
            problems[place] = (
                f'{place} = "{name}": it learns games with one choice a step, and {role} acts '
                'otherwise; make it "appo"'
            )
    return list(problems.values())


def _limit_problems(config: RunConfig, game: GameShape) -> list[str]:
    """What is wrong with the objective and with numbers, one line each."""
    problems = []
    resident, seats = config.matchmaking.resident, len(game.seat_roles)
    if seats == 1 and config.env.objective not in (None, "return"):
        problems.append(
            f'env.objective = "{config.env.objective}": this game has one seat, so it has '
            'no other player to beat; make it "return", or leave it out'
        )
    if resident != "auto" and resident < seats:
        problems.append(
            f"matchmaking.resident = {resident}: an evaluation game seats {seats} frozen players "
            f'at once; make it {seats} or more, or "auto"'
        )
    # For a game that needs much of the machine, `pbt.envs.contract.Needing`.
    if (lacking := getattr(game, "machine_problems", None)) is not None:
        tables = config.sampling.environments
        problems += lacking(1 if tables == "auto" else tables)
    # For a game that has deadlines of its own, `pbt.envs.contract.Deadlined`.
    longest_s = getattr(game, "longest_wait_s", 0.0)
    if config.env.timeout_s <= longest_s and config.runtime.placement != "serial":
        problems.append(
            f"env.timeout_s = {config.env.timeout_s:g}: this game itself ends what does not "
            f"answer for up to {longest_s:g} s; make it longer, say "
            f"{max(60.0, 2 * longest_s):g}, or one that hangs costs all games of its worker"
        )
    return problems


def _role_problems(counts: int | Mapping[str, int], roles: Sequence[str]) -> list[str]:
    if isinstance(counts, int):
        return []
    role_names = ", ".join(roles)
    unknown = [
        _unknown(f"population.members.{role}", role, "role", roles, role_names)
        for role in counts
        if role not in roles
    ]
    missing = [
        (
            f"population.members.{role}: missing; every role needs members; add {role} = 4 "
            f"(roles: {role_names})"
        )
        for role in roles
        if role not in counts
    ]
    return unknown + missing


def _membership_problems(config: RunConfig, roles: Sequence[str]) -> list[str]:
    """What is wrong with the members that joined and left, one line each."""
    joined, left = config.population.joined, config.population.left
    first, members = _first_members(config, roles), everyone(config, roles)
    playing = set(member_roles(config, roles).values())
    problems = [
        (
            f"population.joined.{name}: the population began with a member of that name; go on "
            f"at m{len(first)}"
        )
        for name in joined
        if name in first
    ]
    shown = ", ".join(roles)
    problems += [
        _unknown(f"population.joined.{name}.role", one.role, "role", roles, shown)
        for name, one in joined.items()
        if one.role not in roles
    ]
    problems += [
        _unknown(f"population.began.{name}", name, "member", first, ", ".join(first))
        for name in config.population.began
        if name not in first
    ]
    problems += [
        _unknown(f"population.left.{name}", name, "member", members, ", ".join(members))
        for name in left
        if name not in members
    ]
    return problems + [
        f"population.left: no member plays {role} any more; each role keeps a member"
        for role in roles
        if role not in playing
    ]


def _term_problems(place: str, weights: Mapping[str, float], terms: Sequence[str]) -> list[str]:
    return [
        _unknown(f"{place}.{term}", term, "reward term", terms, ", ".join(terms))
        for term in weights
        if term not in terms
    ]


def _unknown(place: str, word: str, kind: str, known: Iterable[str], shown: str) -> str:
    guess = did_you_mean(word, known)
    return f"{place}: no such {kind} in this game; " + (
        f"did you mean {guess}?" if guess else f"it has {shown}"
    )
