"""A comparison of two configurations: what is compared, and what is kept of it on disk.

Both are trained with the same seeds (`arena.matches.compare_trainings`); then all their final
players meet (`arena.matches.compare_finals`). After an interruption the same call goes on.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from arena.data.paths import check_population_name, league_path, population_names
from arena.league.database import open_league
from arena.league.summaries import list_populations
from arena.matches.plan_problems import PlanError, PlanProblem, config_place
from arena.matches.seating import Entrant, arrange
from pbt.config.resume import changes
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, declared_objective
from pbt.envs.measuring import as_played
from pbt.errors import PbtError, PlayerError
from pbt.files import write_whole
from pbt.objective import chosen_objective

Say = Callable[[str], None]
Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")
FOLDER = "comparisons"
# A match of a comparison has two players, each of which plays one role.
MOST_ROLES = 2


class Interrupted(Exception):
    """The user stopped the comparison; everything so far is kept."""


@dataclass(frozen=True)
class Contestant:
    """One of the two configurations.

    label      "A" or "B"
    source     file or name of the config
    config     the config with all overrides
    arguments  of `arena train` that give the same config
    """

    label: str
    source: str
    config: RunConfig
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What is to be trained and played.

    name         of the comparison
    contestants  the two configurations
    seeds        number of runs of each configuration
    frames       of each member
    games        of each pair of runs, at least
    data         the data directory
    """

    name: str
    contestants: Mapping[Side, Contestant]
    seeds: int
    frames: int
    games: int
    data: Path

    def population(self, side: Side, seed: int) -> str:
        """Name of the population of a run."""
        return f"{self.name}-{side}{seed}"

    def runs(self) -> list[tuple[Side, int]]:
        """All runs in the order trained.

        Both configurations follow each other with each seed, so that an interrupted comparison has
        equally many runs of both.
        """
        return [(side, seed) for seed in range(1, self.seeds + 1) for side in SIDES]

    @property
    def path(self) -> Path:
        """The file that keeps the comparison."""
        return self.data / FOLDER / f"{self.name}.json"

    def plan(self) -> dict[str, Any]:
        """Everything that decides the result, except the number of seeds, which may grow."""
        configs = {
            side: contestant.config.model_dump(mode="json", exclude={"seed"})
            for side, contestant in self.contestants.items()
        }
        return {"configs": configs, "games": self.games}

    def refused(self, pointer: str, text: str, command: str = "") -> PlanError:
        """The error to raise when it cannot be made. The arguments are those of a `PlanProblem`."""
        return PlanError(f"comparison {self.name!r}", [PlanProblem(pointer, text, command)])

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Dotted key -> (A's value, B's value), where they differ."""
        a, b = (self.contestants[side].config for side in SIDES)
        return {
            key: values
            for key, values in changes(a, b).items()
            if key not in ("description", "seed")
        }


@dataclass(frozen=True)
class Kept:
    """The part of a comparison that is kept on disk.

    meetings  the finals, by the names of the two players: {"match": number in the league}, and
              once the match is over "games", "errors" and what it is worth, as
              `arena.matches.compare_values.meeting_value`
    looks     numbers of seeds at which a result was computed, in order
    seeds     number of seeds whose runs belong to it
    """

    meetings: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: list[int] = field(default_factory=list)
    seeds: int = 0


def check(comparison: Comparison) -> EnvSpec:
    """The game of both. Raises: PlanError when the two cannot be compared."""
    a, b = (comparison.contestants[side].config for side in SIDES)
    for side, seed in comparison.runs():
        check_population_name(comparison.population(side, seed))
    if (a.env.name, a.env.game_options) != (b.env.name, b.env.game_options):
        raise comparison.refused(
            "/b/env",
            f"env: A plays {a.env.name} {a.env.game_options}, B plays {b.env.name} "
            f"{b.env.game_options}; expected one game",
        )
    if a.model_dump(exclude={"seed", "description"}) == b.model_dump(
        exclude={"seed", "description"}
    ):
        same = "A and B are the same configuration; change a value of one of them"
        raise comparison.refused("/b", same, f"{same} (--set-a and --set-b of `arena compare` do)")
    spec = registry.spec(a.env.name, allow_files=True, options=a.env.game_options)
    game = spec.make(**a.env.game_options)
    roles = [game.roles[role].name for role in game.seat_roles]
    seats, declared = len(roles), declared_objective(spec, game)
    game.close()
    _check_seats(comparison, a.env.name, roles)
    own, other = (chosen_objective(one.env.objective, declared, seats) for one in (a, b))
    if own != other and seats > 1:
        apart = f"env.objective: A counts in {own}, B in {other}; expected one objective"
        raise comparison.refused(
            "/b/env/objective",
            f'{apart}, such as "{own}" in both',
            f"{apart}, such as --set env.objective={own}",
        )
    return as_played(spec, a.env.game_options)


def _check_seats(comparison: Comparison, game: str, roles: Sequence[str]) -> None:
    """Check that a player of A and one of B can fill a table. roles: of the seats.

    Raises: PlanError that says what to do where they cannot.
    """
    different = list(dict.fromkeys(roles))
    if len(different) > MOST_ROLES:
        of_each = " ".join(f"{comparison.population('a', 1)}/{role}@best" for role in different)
        most = (
            f"env.name: {game} has the roles {', '.join(different)}, and a player of A and one of "
            "B fill two at most; train both"
        )
        then = "and then compare the players of one role among the same others"
        raise comparison.refused(
            "/a/env/name",
            f"{most} as populations, {then} by matches, such as {of_each} and B's of one role",
            f"{most} by `arena train`, {then} by `arena match`, such as {of_each} and B's of one "
            "role",
        )
    if len(different) == 1 and len(roles) > 1:
        for objective in ("win", "return"):
            try:
                arrange(game, roles, [Entrant("A", None), Entrant("B", None)], objective)
            except PlayerError as error:
                raise comparison.refused("/a/env/name", f"env.name: {error}") from error


def read_kept(comparison: Comparison) -> Kept:
    """What is kept of a comparison; empty for a new one.

    Raises: PlanError when its name belongs to another comparison, or when populations of its runs
    exist already; PbtError when the file is damaged.
    """
    if comparison.path.exists():
        try:
            stored = json.loads(comparison.path.read_bytes())
            plan = stored["plan"]
            looks, seeds = stored.get("looks", []), stored.get("seeds", comparison.seeds)
            kept = Kept(dict(stored["meetings"]), list(looks), int(seeds))
        except (ValueError, KeyError) as error:
            raise PbtError(
                f"{comparison.path}: damaged ({error!r}); remove it and train under another name"
            ) from error
        if problems := _other_plan(plan, comparison):
            begun = PlanProblem("/name", "give what it was begun with, or another name")
            raise PlanError(f"comparison {comparison.name!r}, begun before", [*problems, begun])
    else:
        kept = Kept()
    existing = _populations(comparison.data)
    new = (
        comparison.population(side, seed) for side, seed in comparison.runs() if seed > kept.seeds
    )
    if taken := next((name for name in new if name in existing), None):
        raise comparison.refused(
            "/name",
            f"population {taken} exists already and belongs to no comparison; choose another name",
        )
    return kept


def _populations(data: Path) -> set[str]:
    """The names of all populations: those with a folder, and those that were never started."""
    names = set(population_names(data))
    if league_path(data).exists():
        with open_league(league_path(data), read_only=True) as league:
            names.update(summary.name for summary in list_populations(league))
    return names


def _other_plan(plan: dict[str, Any], comparison: Comparison) -> list[PlanProblem]:
    """How a stored plan differs from this comparison's; a problem for each difference."""
    frames = plan["configs"]["a"]["stop_at_frames"]
    frames_now = comparison.contestants["a"].config.stop_at_frames
    numbers = ("games", comparison.games, plan["games"]), ("frames", frames_now, frames)
    problems = [
        PlanProblem(f"/{name}", f"{now}: found {before}", f"--{name} {now}: found {before}")
        for name, now, before in numbers
        if now != before
    ]
    for side in SIDES:
        before = config_as_stored(plan["configs"][side], f"stored config {side.upper()}")
        now = comparison.contestants[side].config.model_copy(update={"seed": before.seed})
        problems += [
            PlanProblem(config_place(side, key), text, f"{side.upper()}: {text}")
            for key, (old, new) in changes(before, now).items()
            if key != "stop_at_frames"
            for text in (f"{key} = {new}: found {old}",)
        ]
    return problems


def write_kept(comparison: Comparison, kept: Kept) -> None:
    """Write the comparison's file anew, whole."""
    comparison.path.parent.mkdir(parents=True, exist_ok=True)
    now = replace(kept, seeds=max(kept.seeds, comparison.seeds))
    write_whole(comparison.path, json.dumps({"plan": comparison.plan(), **asdict(now)}, indent=1))
