"""The rows of records that are no games, as they are made before they are stored."""

from dataclasses import asdict, dataclass
from typing import Any

from arena.league.rows import certificate_values, round_values
from pbt.records import Event, RoundRecord, SnapshotRecord, WiringCertificate


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of another table than `games`.

    It is made in the caller's thread, so that a record that cannot be stored raises there.

    kind    name of the kind of its rows in `ROW_KINDS`
    key     the columns by which a row that is stored already is known
    values  column -> value
    """

    kind: str
    key: tuple[str, ...]
    values: dict[str, Any]


Told = RoundRecord | SnapshotRecord | WiringCertificate | Event
"""A record of a training that is no game."""


def entry(record: Told, position: int) -> Entry:
    """The row of a record. position: that of an event in its incarnation.

    Raises: ValueError when a number of a round or certificate is nan or infinite.
    """
    match record:
        case RoundRecord():
            return Entry("rounds", ("incarnation_id", "member", "round"), round_values(record))
        case SnapshotRecord():
            return Entry("snapshots", ("population_id", "snapshot_id"), asdict(record))
        case WiringCertificate():
            key = ("incarnation_id", "member", "frames")
            return Entry("wiring certificates", key, certificate_values(record))
        case Event():
            at = ("incarnation_id", "position")
            return Entry("events", at, {**asdict(record), "position": position})
