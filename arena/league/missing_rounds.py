"""Rounds that must exist and do not: other rows say that they were decided, or were due.

A round that copied or mutated wrote an event with its verdict. A member whose clock passed a
multiple of the period had a round there: a snapshot that was taken by schedule shows where the
clock stood at an update at which the member went on learning. A snapshot of generation g came after
g copies.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from arena.league.chain_state import Difference
from arena.league.database import League
from arena.league.populations import stored_config
from arena.league.stored_history import StoredEvent, StoredRound, list_events
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.population.pbt_decision import next_due

_PERIOD_KEYS = ("pbt.period_frames", "pbt.warmup_frames", "pbt.enabled")


def missing_rounds(
    league: League, population: str, rounds: Sequence[StoredRound], since: float = 0.0
) -> list[Difference]:
    """One difference for each round that other rows tell of, and each event that a round lacks.

    rounds  those that are not superseded, in the order they were decided
    since   seconds since the epoch; rows from before may be of a version that wrote others
    Raises: PlayerError.
    """
    events = [
        stored
        for stored in list_events(league, population, superseded=False)
        if stored.created_at >= since
    ]
    config = config_as_stored(stored_config(league, population), f"stored config of {population!r}")
    snapshots = list_snapshots(league, population)
    return [
        *_by_events(rounds, events, since),
        *_by_clocks(rounds, events, snapshots, config, since),
        *_by_generations(rounds, snapshots),
    ]


def _by_events(
    rounds: Sequence[StoredRound], events: Sequence[StoredEvent], since: float
) -> Iterator[Difference]:
    decided, told = set(), set()
    for stored in rounds:
        directive = stored.record.directive
        kind = "copy" if directive.copy_from else "mutate" if directive.mutated else None
        if kind is not None and stored.created_at >= since:
            decided.add((kind, stored.record.member, stored.record.frames, stored.record.verdict))
    for stored_event in events:
        event = stored_event.event
        if event.kind in ("copy", "mutate"):
            told.add((event.kind, event.member, event.frames, event.text))
    for kind, member, frames, _ in sorted(told - decided):
        where = f"rounds of {member}"
        yield Difference(where, "none", f"one at {frames} frames, as the event {kind!r} says")
    for kind, member, frames, verdict in sorted(decided - told):
        where = f"events of {member}"
        yield Difference(where, "none", f"{kind!r} at {frames} frames: {verdict}")


def _by_clocks(
    rounds: Sequence[StoredRound],
    events: Sequence[StoredEvent],
    snapshots: Sequence[StoredSnapshot],
    config: RunConfig,
    since: float,
) -> Iterator[Difference]:
    edited = any(
        stored.event.kind == "edit" and key in stored.event.text
        for stored in events
        for key in _PERIOD_KEYS
    )
    scheduled = any(member.schedule for member in config.members.values())
    if not config.pbt.enabled or edited or scheduled or since > 0.0:
        return
    begun = _beginnings(rounds, events, snapshots)
    ended = {
        (stored.event.member, stored.event.frames)
        for stored in events
        if stored.event.kind == "finish"
    }
    for stored in snapshots:
        member, frames = stored.record.member, stored.record.frames
        if stored.record.reason != "schedule" or (member, frames) in ended:
            continue
        last = max(point for point in begun[member] if point <= frames)
        due = next_due(last, config.pbt.period_frames, config.pbt.warmup_frames)
        if due <= frames:
            expected = f"one at {due} to {frames} frames, since its clock stood at {frames}"
            yield Difference(f"rounds of {member} after {last} frames", "none", expected)


def _by_generations(
    rounds: Sequence[StoredRound], snapshots: Sequence[StoredSnapshot]
) -> Iterator[Difference]:
    copies: dict[str, list[int]] = defaultdict(list)
    for stored in rounds:
        if stored.record.directive.copy_from is not None:
            copies[stored.record.member].append(stored.record.frames)
    for made in snapshots:
        member, frames = made.record.member, made.record.frames
        found = sum(at <= frames for at in copies[member])
        if made.record.generation > found:
            where = f"rounds of {member} up to {frames} frames"
            expected = f"{made.record.generation}, the generation of snapshot {made.label}"
            yield Difference(where, f"{found} copies", expected)


def _beginnings(
    rounds: Sequence[StoredRound],
    events: Sequence[StoredEvent],
    snapshots: Sequence[StoredSnapshot],
) -> dict[str, list[int]]:
    """Member -> points of its clock from which the next round is counted.

    They are its first snapshot, its rounds, and the ends that it went on from.
    """
    begun: dict[str, list[int]] = defaultdict(list)
    for stored in snapshots:
        if not begun[stored.record.member]:
            begun[stored.record.member].append(stored.record.frames)
    for decided in rounds:
        begun[decided.record.member].append(decided.record.frames)
    for noted in events:
        if noted.event.kind == "finish" and noted.event.member is not None:
            begun[noted.event.member].append(noted.event.frames)
    return begun
