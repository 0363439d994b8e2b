"""What the league knows of a policy's ancestry, ready for `arena.league.lineage`."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from arena.data.paths import IMPORTED, POPULATION_NAME
from arena.league.database import League
from arena.league.lineage import Edit, Histories, Origin, RoundDecision, Values, Weights
from arena.league.populations import stored_config
from arena.league.queries import (
    StoredEvent,
    StoredSnapshot,
    list_decisions,
    list_events,
    list_snapshots,
    member_names,
)
from arena.league.snapshot_names import find_snapshot
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.errors import PlayerError
from pbt.hyperparams import SHAPING_PREFIX, scheduled_hyperparams

# As `arena.training.train` words the event of an edit.
_EDITED = re.compile(
    r"edited learning\.(learning_rate|entropy_coef|adam_beta1|shaping\.\S+): .* -> (\S+)"
)
_BEGAN = re.compile(
    r"edited members\.(m\d+)\.(learning_rate|entropy_coef|adam_beta1|shaping\.\S+): None -> (\S+)"
)
STILL_LEARNING = float("inf")


def find_weights(league: League, text: str) -> tuple[str, Weights]:
    """(population, weights) of "demo/m2", a member as it is now, or of a snapshot by any of its
    names, whose weights may be gone.

    Raises: PlayerError.
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
    found = find_snapshot(league, text, playable=False)
    if found.population == IMPORTED:
        raise PlayerError(
            f"{text}: imported from another league, which has its ancestry; its card says "
            "what it was trained with at last"
        )
    return found.population, _weights(found)


def population_config(league: League, population: str) -> RunConfig:
    """The configuration it was made with. Raises: PlayerError, ConfigError for one this program
    cannot read.
    """
    return _config_of(json.dumps(stored_config(league, population)), population)


@lru_cache(maxsize=64)
def _config_of(stored: str, population: str) -> RunConfig:
    """Checking it takes longer than all queries of a history, and it never changes."""
    return config_from_table(json.loads(stored), f"stored config of {population!r}")


def read_histories(league: League, population: str) -> Histories:
    """Raises: PlayerError, ConfigError."""
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
    told = _told([row.event.text for row in events])
    terms = {member: _reward_terms(config, member, rounds, told) for member in members}
    origins = _origins(events, made, snapshots)
    initial = {
        member: scheduled_hyperparams(config, member, terms[member], 0).flat() for member in members
    }
    for member, origin in origins.items():
        initial[member] = _began(
            initial[member],
            [edit for edit in edits if edit.created_at <= origin.created_at],
            told.get(member, {}),
        )
    schedules = {member: _schedule(config, member, terms[member]) for member in members}
    return Histories(dict(rounds), snapshots, edits, initial, schedules, origins)


def _origins(
    events: Sequence[StoredEvent], made: Sequence[StoredSnapshot], snapshots: Mapping[str, Weights]
) -> dict[str, Origin]:
    """Of the members that joined: since when, and the parent of their first snapshot."""
    firsts = {
        stored.record.member: stored.record
        for stored in made
        if stored.record.reason == "initial" and not stored.superseded
    }
    joins = [row for row in events if row.event.kind == "join" and not row.superseded]
    found = {}
    for row in joins:
        member = row.event.member or ""
        parent = firsts[member].parent_id if member in firsts else None
        found[member] = Origin(snapshots[parent] if parent is not None else None, row.created_at)
    return found


def _began(values: Values, edits: Sequence[Edit], told: Values) -> dict[str, float]:
    """What a member that joined began with. values: of the config the population was made with;
    told: its own, of whose weights it took.
    """
    edited = dict(values)
    for edit in edits:
        edited |= {name: value for name, value in edit.values.items() if name in edited}
    return edited | dict(told)


def _newest(league: League, population: str, member: str) -> Weights:
    """A member at the last moment the league knows of."""
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
    member: str,
    rounds: Mapping[str, list[RoundDecision]],
    told: Mapping[str, Values],
) -> tuple[str, ...]:
    """As the member's rounds name them; a member without rounds is known by what its config says
    alone.
    """
    for decision in rounds.get(member, ()):
        return tuple(
            name.removeprefix(SHAPING_PREFIX)
            for name in decision.directive.hyperparams
            if name.startswith(SHAPING_PREFIX)
        )
    if member in told:
        return tuple(
            sorted(
                name.removeprefix(SHAPING_PREFIX)
                for name in told[member]
                if name.startswith(SHAPING_PREFIX)
            )
        )
    override = config.members.get(member)
    if override is None:
        return tuple(sorted(config.learning.shaping))
    return tuple(
        sorted(
            {
                *config.learning.shaping,
                *override.shaping,
                *(term for step in override.schedule for term in step.shaping),
            }
        )
    )


def _schedule(config: RunConfig, member: str, terms: tuple[str, ...]) -> list[tuple[int, Values]]:
    override = config.members.get(member)
    frames = [step.at_frames for step in override.schedule] if override else []
    return [(at, scheduled_hyperparams(config, member, terms, at).flat()) for at in frames]


def _told(texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """Member -> the values of whoever it took over at its start, as the events of that start
    say.
    """
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for text in texts:
        if match := _BEGAN.fullmatch(text):
            found[match[1]][match[2]] = float(match[3])
    return dict(found)


def _edited(text: str) -> dict[str, float]:
    """The hyperparameter an event tells of, {} for any other event. A weight taken out of the
    config went back to 1.
    """
    found = _EDITED.fullmatch(text)
    if not found:
        return {}
    return {found[1]: 1.0 if found[2] == "None" else float(found[2])}
