"""Files beside the league: snapshots' weights, what checkpoints say, and imported snapshots."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.league.chain_state import Difference
from arena.league.stored_history import StoredRound
from arena.league.stored_snapshots import StoredSnapshot
from arena.verification.report import Observer
from pbt.errors import SnapshotError
from pbt.models.tensor_file import read_tensor_file

SUFFIX = ".safetensors"


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """What a checkpoint on the disk says about the league.

    number       of the checkpoint, as its folder is called
    incarnation  id of the start that wrote it
    head         head of the chain when it was written, None for a checkpoint of an older version
    rounds       member -> its last round
    """

    number: str
    incarnation: int
    head: str | None
    rounds: Mapping[str, int]


def read_checkpoints(folder: Path) -> list[CheckpointFacts]:
    """The facts of every readable checkpoint of a population, oldest first.

    A damaged one is left out: a resume passes over it as well.
    """
    found = []
    for path in sorted(folder.glob("[0-9]*/state.json")):
        try:
            found.append(_facts(path.parent.name, json.loads(path.read_bytes())))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _facts(number: str, state: Mapping[str, Any]) -> CheckpointFacts:
    rows = state["league"]
    rounds = {member["name"]: int(member["round"]) for member in state["controller"]["members"]}
    return CheckpointFacts(number, int(rows["incarnation"]), rows.get("head"), rounds)


def checkpoint_differences(
    checkpoints: Sequence[CheckpointFacts],
    seen: Mapping[str, int],
    rounds: Sequence[StoredRound],
    newest_start: tuple[int, str | None] | None,
) -> Iterator[Difference]:
    """Compares checkpoints with the league.

    seen          heads that the chain has
    rounds        those that are not superseded
    newest_start  (id, number of the checkpoint that it went on from) of the newest start
    """
    decided: dict[str, int] = {}
    for stored in rounds:
        member = stored.record.member
        decided[member] = max(decided.get(member, 0), stored.record.round)
    for one in checkpoints:
        where = f"checkpoint {one.number}"
        if one.head is not None and one.head not in seen:
            yield Difference(where, f"head {one.head}, which the chain never had", "a head of it")
        # A checkpoint that a resume passed over knows rounds that were taken back.
        if newest_start is None or (one.incarnation, one.number) not in {
            (newest_start[0], one.number),
            (one.incarnation, newest_start[1]),
        }:
            continue
        for member, number in sorted(one.rounds.items()):
            if number > decided.get(member, 0):
                found = f"rounds up to {decided.get(member, 0)} of {member} in the league"
                yield Difference(where, found, f"{number}, which the checkpoint knows")


def snapshot_differences(
    snapshots: Sequence[StoredSnapshot], folder: Path, observe: Observer
) -> tuple[dict[str, int], list[Difference]]:
    """(counts, differences) of the files of a population's snapshots, whose ids are their SHA-256.

    A superseded snapshot need not have its file.
    """
    differences: list[Difference] = []
    counts = {"snapshot_files": 0, "snapshots_removed": 0}
    for place, stored in enumerate(snapshots):
        snapshot_id = stored.record.snapshot_id
        path = folder / f"{snapshot_id}{SUFFIX}"
        observe("snapshots", place, len(snapshots))
        if stored.weights_removed:
            counts["snapshots_removed"] += 1
        elif path.exists():
            counts["snapshot_files"] += 1
            differences += file_difference(f"snapshot {stored.label}", path, snapshot_id)
            differences += _unlike_its_file(stored, path)
        elif not stored.superseded:
            differences.append(
                Difference(f"snapshot {stored.label}", "no file", f"{path}, or a removed mark")
            )
    return counts, differences


def _unlike_its_file(stored: StoredSnapshot, path: Path) -> Iterator[Difference]:
    """Compares a row with what the file says of itself, which its id covers."""
    try:
        info = read_tensor_file(path)
    except SnapshotError as error:
        yield Difference(f"snapshot {stored.label}", str(error))
        return
    try:
        said = {**json.loads(info.metadata.get("pbt", "{}")), "size_bytes": str(info.size_bytes)}
    except (ValueError, TypeError):
        said = {}
    for name in ("member", "role", "frames", "version", "generation", "size_bytes"):
        found, expected = str(getattr(stored.record, name)), said.get(name)
        if expected is not None and found != expected:
            where = f"snapshot {stored.record.snapshot_id[:12]}, {name}"
            yield Difference(where, found, f"{expected}, as its file says")


def file_difference(where: str, path: Path, sha256: str) -> list[Difference]:
    """The difference of a file that has another SHA-256, or none."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return [Difference(where, f"{path.name} unreadable ({error.strerror})", sha256[:16])]
    if digest == sha256:
        return []
    return [Difference(where, f"a file with SHA-256 {digest[:16]}", sha256[:16])]
