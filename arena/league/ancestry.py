"""The league's rows about a policy's ancestry are read here, for `arena.league.lineage`."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from arena.data.paths import IMPORTED, POPULATION_NAME
from arena.league.database import League
from arena.league.lineage import (
    Edit,
    FirstWeights,
    Histories,
    Origin,
    RoundDecision,
    Values,
    Weights,
)
from arena.league.populations import stored_config
from arena.league.snapshot_names import find_snapshot
from arena.league.stored_history import StoredEvent, list_decisions, list_events
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.league.summaries import member_names
from pbt.config.learning import HYPERPARAMS
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import PlayerError
from pbt.hyperparams import (
    initial_hyperparams,
    scheduled_hyperparams,
    shaping_terms,
    with_edits,
)

# These patterns match the texts of "edit" events as `arena.training.train` words them.
_NAME = "|".join((*HYPERPARAMS, r"shaping\.\S+"))
_SECTION = "|".join({row.section: None for row in HYPERPARAMS.values()})
_EDITED = re.compile(rf"edited (?:{_SECTION})\.({_NAME}): .* -> (\S+)")
_BEGAN = re.compile(rf"edited members\.(m\d+)\.({_NAME}): None -> (\S+)")
STILL_LEARNING = float("inf")


def find_weights(league: League, text: str) -> tuple[str, Weights]:
    """(population, weights) of a member as it is now ("demo/m2"), or of a snapshot by any name.

    The snapshot's weights may be gone. Raises: PlayerError.
    """
    population, _, member = text.partition("/")
    if (
        member
        and "@" not in member
        and population != IMPORTED
        and POPULATION_NAME.fullmatch(population)
        and member in member_names(league, population)
    ):
        return population, _newest(league, population, member)
    snapshot = find_snapshot(league, text, playable=False)
    if snapshot.population == IMPORTED:
        raise PlayerError(
            f"{text}: imported from another league, which has its ancestry; its card says "
            "what it was trained with at last"
        )
    return snapshot.population, _weights(snapshot)


def population_config(league: League, population: str) -> RunConfig:
    """The config that a population was made with.

    Raises: PlayerError, ConfigError for a config that this program cannot read.
    """
    return _config_of(json.dumps(stored_config(league, population)), population)


@lru_cache(maxsize=64)
def _config_of(stored: str, population: str) -> RunConfig:
    """The parsed config, cached: parsing takes longer than all queries, and it never changes."""
    return config_as_stored(json.loads(stored), f"stored config of {population!r}")


def read_histories(league: League, population: str) -> Histories:
    """The histories of a population's members. Raises: PlayerError, ConfigError."""
    with league.read():
        config = population_config(league, population)
        decisions = list_decisions(league, population)
        made = list_snapshots(league, population, superseded=True)
        events = list_events(league, population)
        members = member_names(league, population)
    rounds: dict[str, list[RoundDecision]] = defaultdict(list)
    for decision in decisions:
        rounds[decision.directive.member].append(decision)
    snapshots = {stored.record.snapshot_id: _weights(stored) for stored in made}
    edits = [
        Edit(row.event.frames, row.created_at, values)
        for row in events
        if (values := _edited(row.event.text))
    ]
    taken_over = _taken_over([row.event.text for row in events])
    terms = _reward_terms(config, rounds, taken_over)
    origins = _origins(events, made, snapshots)
    initial = {member: initial_hyperparams(config, member, terms).flat() for member in members}
    for member, origin in origins.items():
        # It begins with the config of that time, and a donor's values come before those.
        earlier = {
            name: value
            for edit in edits
            if edit.created_at <= origin.created_at
            for name, value in edit.values.items()
        }
        began = initial_hyperparams(with_edits(config, earlier), member, terms).flat()
        initial[member] = began | taken_over.get(member, {})
    schedules = {member: _schedule(config, member, terms) for member in members}
    firsts = {
        member: FirstWeights(one.player, one.weights, one.optimizer)
        for member, one in config.population.began.items()
    }
    return Histories(dict(rounds), snapshots, edits, initial, schedules, origins, firsts)


def _origins(
    events: Sequence[StoredEvent], made: Sequence[StoredSnapshot], snapshots: Mapping[str, Weights]
) -> dict[str, Origin]:
    """Member -> its origin, for the members that joined later.

    The donor is the parent of the member's first snapshot.
    """
    firsts = {
        stored.record.member: stored.record
        for stored in made
        if stored.record.reason == "initial" and not stored.superseded
    }
    joins = [row for row in events if row.event.kind == "join" and not row.superseded]
    origins = {}
    for row in joins:
        member = row.event.member or ""
        parent = firsts[member].parent_id if member in firsts else None
        origins[member] = Origin(snapshots[parent] if parent is not None else None, row.created_at)
    return origins


def _newest(league: League, population: str, member: str) -> Weights:
    """A member's weights at the last moment that the league knows of."""
    rounds = list_decisions(league, population, member)
    clocks = [
        0,
        *(decision.frames for decision in rounds),
        *(stored.record.frames for stored in list_snapshots(league, population, member)),
    ]
    copies = sum(decision.directive.copy_from is not None for decision in rounds)
    return Weights(member, max(clocks), copies, STILL_LEARNING)


def _weights(stored: StoredSnapshot) -> Weights:
    record = stored.record
    return Weights(
        record.member, record.frames, record.generation, stored.created_at, record.snapshot_id
    )


def _reward_terms(
    config: RunConfig,
    rounds: Mapping[str, list[RoundDecision]],
    taken_over: Mapping[str, Values],
) -> tuple[str, ...]:
    """The names of the game's reward terms, which are those of every member.

    Rounds name all of them. Without any round they are those that the config names for a member,
    or that a member took over from another.
    """
    for decisions in rounds.values():
        for decision in decisions:
            return tuple(sorted(shaping_terms(decision.directive.hyperparams)))
    named = set(config.learning.shaping)
    for values in taken_over.values():
        named.update(shaping_terms(values))
    for override in config.members.values():
        named.update(override.shaping, *(step.shaping for step in override.schedule))
    return tuple(sorted(named))


def _schedule(config: RunConfig, member: str, terms: tuple[str, ...]) -> list[tuple[int, Values]]:
    override = config.members.get(member)
    frames = [step.at_frames for step in override.schedule] if override else []
    return [(at, scheduled_hyperparams(config, member, terms, at).flat()) for at in frames]


def _taken_over(texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """Member -> the hyperparameters that it took over from its donor, from the texts of events."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for text in texts:
        if match := _BEGAN.fullmatch(text):
            values[match[1]][match[2]] = float(match[3])
    return dict(values)


def _edited(text: str) -> dict[str, float]:
    """{hyperparameter: value} that an event's text says was edited, {} for any other event.

    A reward weight that was removed from the config ("None") is 1 again.
    """
    match = _EDITED.fullmatch(text)
    if not match:
        return {}
    return {match[1]: 1.0 if match[2] == "None" else float(match[2])}
