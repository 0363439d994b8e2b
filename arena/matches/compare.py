"""Two configurations trained with the same seeds, all their finals played against each other.
Whatever stops it, the same call goes on from there.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any, Literal

import numpy as np

from arena.data.lock import holder
from arena.data.paths import check_population_name, league_path, population_paths
from arena.league.database import League, open_league
from arena.league.matches import Match, find_match
from arena.league.queries import list_populations, member_names
from arena.matches.game_list import Progress
from arena.matches.play import play_match, resume_match
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.stats.seed_scores import SeedScore, seed_score
from pbt.config.load import config_from_table
from pbt.config.resume import changes
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.envs.contract import EnvSpec
from pbt.errors import ConfigError, HeldError, PbtError
from pbt.files import write_whole
from pbt.seeding import integer

Pair = tuple[ResolvedPlayer, ResolvedPlayer]
Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")
FOLDER = "comparisons"
SEATS = 2


class Interrupted(Exception):
    """Somebody stopped it; everything is kept."""


@dataclass(frozen=True)
class Contestant:
    """One of the two ways to train. label: "A";  source: file or name;  config: with all
    overrides;  arguments: of `arena train` that give it
    """

    label: str
    source: str
    config: RunConfig
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What is to be done. frames: of each member;  games: of each pair of runs, at least"""

    name: str
    contestants: Mapping[Side, Contestant]
    seeds: int
    frames: int
    games: int
    data: Path

    def population(self, side: Side, seed: int) -> str:
        return f"{self.name}-{side}{seed}"

    def runs(self) -> list[tuple[Side, int]]:
        """In the order trained: both ways with each seed, so that a comparison that is stopped
        has as many of either.
        """
        return [(side, seed) for seed in range(1, self.seeds + 1) for side in SIDES]

    @property
    def path(self) -> Path:
        return self.data / FOLDER / f"{self.name}.json"

    def plan(self) -> dict[str, Any]:
        """All that decides the result, but for the number of seeds, which may grow."""
        configs = {
            side: contestant.config.model_dump(mode="json", exclude={"seed"})
            for side, contestant in self.contestants.items()
        }
        return {"configs": configs, "games": self.games}

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Dotted key -> (A's, B's) value."""
        a, b = (self.contestants[side].config for side in SIDES)
        return {
            key: values
            for key, values in changes(a, b).items()
            if key not in ("description", "seed")
        }


@dataclass(frozen=True)
class Kept:
    """What is known of a comparison.

    meetings  the finals, by who meets: {"match": number in the league, and "score", "errors" once
              it is over}
    looks     numbers of seeds after which a result was told, in order
    """

    meetings: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ComparisonResult:
    """scores: [seeds, seeds] of each run of A against each of B;  games: that each of them rests
    on;  errors: of the game, in all matches

    looks: numbers of seeds after which a result was told, this one's the last or told before
    """

    comparison: Comparison
    scores: tuple[tuple[float, ...], ...]
    games: int
    errors: int
    total: SeedScore
    looks: tuple[int, ...]


Say = Callable[[str], None]


def check(comparison: Comparison) -> EnvSpec:
    """Raises: ConfigError when the two cannot be compared."""
    source, (a, b) = (
        f"comparison {comparison.name!r}",
        (comparison.contestants[side].config for side in SIDES),
    )
    for side, seed in comparison.runs():
        check_population_name(comparison.population(side, seed))
    if (a.env.name, a.env.options) != (b.env.name, b.env.options):
        raise ConfigError(
            source,
            [
                (
                    f"env: A plays {a.env.name} {a.env.options}, B plays {b.env.name} "
                    f"{b.env.options}; expected one game"
                )
            ],
        )
    if a.model_dump(exclude={"seed", "description"}) == b.model_dump(
        exclude={"seed", "description"}
    ):
        raise ConfigError(
            source,
            [
                (
                    "A and B are the same configuration; change one of them, in its file or with "
                    "--set-a or --set-b"
                )
            ],
        )
    spec = registry.spec(a.env.name, allow_files=True)
    game = spec.make(**a.env.options)
    seats = len(game.seat_roles)
    game.close()
    if seats > SEATS:
        raise ConfigError(
            source,
            [f"env.name: {a.env.name} has {seats} seats; comparisons are of games of one or two"],
        )
    return spec


def train_runs(comparison: Comparison, say: Say) -> None:
    """Train what is not trained yet. Raises: Interrupted, ConfigError, HeldError, PbtError when
    a training fails.
    """
    check(comparison)
    _keep(comparison, _kept(comparison))
    runs = comparison.runs()
    for number, (side, seed) in enumerate(runs, start=1):
        _train(comparison, side, seed, f"[{number}/{len(runs)}]", say)


# --- what is kept ---------------------------------------------------------------------------------


def _kept(comparison: Comparison) -> Kept:
    """Of the comparison of this name; none of a new one. Raises: ConfigError when it is another
    one, or its populations are somebody else's.
    """
    if comparison.path.exists():
        try:
            stored = json.loads(comparison.path.read_bytes())
            plan, kept = (
                stored["plan"],
                Kept(dict(stored["meetings"]), list(stored.get("looks", []))),
            )
        except (ValueError, KeyError) as error:
            raise PbtError(
                f"{comparison.path}: damaged ({error!r}); remove it and train under another --name"
            ) from error
        if problems := _other_plan(plan, comparison):
            raise ConfigError(
                f"comparison {comparison.name!r}, begun before",
                [*problems, "give what it was begun with, or another --name"],
            )
        return kept
    taken = [
        name
        for side, seed in comparison.runs()
        if population_paths(
            comparison.data, name := comparison.population(side, seed)
        ).config.exists()
    ]
    if taken:
        raise ConfigError(
            f"comparison {comparison.name!r}",
            [
                (
                    f"population {taken[0]} exists already and belongs to no comparison; choose "
                    "another --name"
                )
            ],
        )
    return Kept()


def _looks(comparison: Comparison, kept: Kept) -> tuple[int, ...]:
    """With this one, which is kept; to tell the same result again is none."""
    if comparison.seeds not in kept.looks:
        kept.looks.append(comparison.seeds)
        _keep(comparison, kept)
    return tuple(kept.looks)


def _other_plan(plan: dict[str, Any], comparison: Comparison) -> list[str]:
    found = []
    if plan["games"] != comparison.games:
        found.append(f"--games {comparison.games}: found {plan['games']}")
    for side in SIDES:
        before = config_from_table(plan["configs"][side], f"stored config {side.upper()}")
        now = comparison.contestants[side].config.model_copy(update={"seed": before.seed})
        found += [
            f"{side.upper()}: {key} = {new}: found {old}"
            for key, (old, new) in changes(before, now).items()
        ]
    return found


def _keep(comparison: Comparison, kept: Kept) -> None:
    comparison.path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(comparison.path, json.dumps({"plan": comparison.plan(), **asdict(kept)}, indent=1))


# --- trainings ------------------------------------------------------------------------------------


def _train(comparison: Comparison, side: Side, seed: int, which: str, say: Say) -> None:
    """One run to its end, in a process of its own. Raises: Interrupted when it was stopped
    before, HeldError, PbtError.
    """
    name, contestant = comparison.population(side, seed), comparison.contestants[side]
    if _state(comparison.data, name) == "finished":
        say(f"{which} {name} is trained")
        return
    paths = population_paths(comparison.data, name)
    if (pid := holder(paths.lock)) is not None:
        raise HeldError(
            f"{name} is being trained by process {pid}; wait for it, or stop it with `arena "
            f"stop {name}`, then give the same command again"
        )
    going_on = paths.config.exists()
    say(
        f"{which} {'going on with' if going_on else 'training'} {name}: {contestant.source}, "
        f"seed {seed}"
    )
    fresh = (*contestant.arguments, "--set", f"seed={seed}", "--name", name)
    status = _run_leashed(
        ["train", *(("--resume", name) if going_on else fresh), "--data", str(comparison.data)]
    )
    if _state(comparison.data, name) != "finished":
        if status in (0, 130):
            raise Interrupted
        raise PbtError(
            f"the training of {name} ended with exit code {status}; see {paths.logs}; the "
            "same command goes on from its checkpoint"
        )


def _state(data: Path, name: str) -> str | None:
    """Of a population, None for one that the league does not know."""
    if not league_path(data).exists():
        return None
    with open_league(league_path(data)) as league:
        return next(
            (summary.state for summary in list_populations(league) if summary.name == name), None
        )


def _run_leashed(arguments: Sequence[str]) -> int:
    """`arena` in a process group of its own: whoever stops this process asks that one to save,
    and it ends with this one. Returns its exit code.
    """
    command = [sys.executable, "-P", "-m", "arena.programs.cli", *arguments]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0) as child,
        _forwarding(child),
    ):
        return child.wait()


@contextmanager
def _forwarding(child: subprocess.Popen[bytes]) -> Iterator[None]:
    def forward(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- finals ---------------------------------------------------------------------------------------


def play_finals(
    comparison: Comparison, say: Say, on_progress: Progress | None = None
) -> ComparisonResult:
    """Everybody of each run of A against everybody of each run of B, as far as their roles meet;
    what is played already stands.

    Raises: Interrupted.
    """
    spec, kept = check(comparison), _kept(comparison)
    meetings = kept.meetings
    between = _pairings(comparison, spec)
    pairs = [pair for row in between for found in row for pair in found]
    # Whole pairs of games, alike for every meeting.
    games = 2 * max(1, -(-comparison.games // (2 * len(between[0][0]))))
    left = [pair for pair in pairs if "score" not in meetings.get(_key(pair), {})]
    if left:
        say(f"playing the finals: {len(left)} matches of {games} games")
    with open_league(league_path(comparison.data)) as league:
        for number, pair in enumerate(left):
            if on_progress is not None:
                on_progress(number, len(left))
            _play(comparison, spec, league, kept, pair, games)
    scores = [
        [fmean(meetings[_key(pair)]["score"] for pair in found) for found in row] for row in between
    ]
    errors = sum(meetings[_key(pair)]["errors"] for pair in pairs)
    each = games * len(between[0][0])
    return ComparisonResult(
        comparison,
        tuple(map(tuple, scores)),
        each,
        errors,
        seed_score(np.array(scores), each),
        _looks(comparison, kept),
    )


def _pairings(comparison: Comparison, spec: EnvSpec) -> list[list[list[Pair]]]:
    """Who meets: a row per run of A, a column per run of B."""
    game = spec.make(**comparison.contestants["a"].config.env.options)
    roles = [game.roles[role].name for role in game.seat_roles]
    game.close()
    rows, columns = (
        [_members(comparison, side, seed) for seed in range(1, comparison.seeds + 1)]
        for side in SIDES
    )
    return [
        [[(a, b) for a, b in product(row, column) if _meet(roles, a, b)] for column in columns]
        for row in rows
    ]


def _members(comparison: Comparison, side: Side, seed: int) -> list[ResolvedPlayer]:
    """The last snapshot of each member of a finished run."""
    name = comparison.population(side, seed)
    with open_league(league_path(comparison.data), read_only=True) as league:
        members = member_names(league, name)
    return resolve_players(
        [f"{name}/{member}" for member in members], comparison.data, allow_files=True
    )[1]


def _meet(roles: Sequence[str], a: ResolvedPlayer, b: ResolvedPlayer) -> bool:
    """They can sit at one table, in either order; or, where there is one seat, play the same
    role.
    """
    if len(roles) == 1:
        return True
    first, second = roles
    return (a.plays(first) and b.plays(second)) or (a.plays(second) and b.plays(first))


def _key(pair: Pair) -> str:
    return " ".join(f"{player.population}/{player.member}" for player in pair)


def _play(
    comparison: Comparison, spec: EnvSpec, league: League, kept: Kept, pair: Pair, games: int
) -> None:
    """One match, or the rest of it. Raises: Interrupted."""
    key, meetings = _key(pair), kept.meetings

    def begun(match: Match) -> None:
        meetings[key] = {"match": match.id}
        _keep(comparison, kept)

    try:
        if key in meetings:
            result = resume_match(league, find_match(league, meetings[key]["match"]), pair, spec)
        else:
            result = play_match(
                *pair,
                games=games,
                seed=integer(0, "compare", key, bits=31),
                league=league,
                on_start=begun,
                env=spec,
            )
    except KeyboardInterrupt:
        raise Interrupted from None
    if result.interim:
        raise Interrupted
    meetings[key] |= {"score": result.duel.score, "errors": len(result.errors)}
    _keep(comparison, kept)
