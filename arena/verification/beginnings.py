"""The weights of another population that members began with, held against their first snapshots."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arena.league.chain_state import Difference
from arena.league.stored_snapshots import StoredSnapshot
from arena.verification.files import SUFFIX, file_difference
from pbt.config.schema import RunConfig
from pbt.errors import SnapshotError
from pbt.models.tensor_file import TensorInfo, read_tensor_file
from pbt.models.weights import MODEL_PREFIX, RULE_PREFIX


def beginning_differences(
    config: RunConfig, snapshots: Sequence[StoredSnapshot], folder: Path
) -> Iterator[Difference]:
    """Compares the first snapshot of each such member with the one that its config names.

    config     the one that the population was made with
    snapshots  of the population, those that are superseded included
    folder     of its snapshots, which has the others as well
    """
    for member, one in config.population.began.items():
        where = f"the weights that {member} began with ({one.player})"
        firsts = (
            stored
            for stored in snapshots
            if stored.record.member == member
            and stored.record.reason == "initial"
            and not stored.superseded
        )
        first = next(firsts, None)
        if first is None:
            continue
        if one.weights not in (first.record.parent_id, first.record.snapshot_id):
            found = f"{first.record.parent_id}, from which its first snapshot is"
            yield Difference(where, found, one.weights)
        origin = folder / f"{one.weights}{SUFFIX}"
        altered = file_difference(where, origin, one.weights)
        yield from altered
        own = folder / f"{first.record.snapshot_id}{SUFFIX}"
        if not altered and own.exists() and (problem := _unlike(origin, own)):
            yield Difference(f"first snapshot of {member}", problem)


def _unlike(origin: Path, own: Path) -> str:
    """What of the network differs between two files, in words; "" where nothing does."""
    try:
        (theirs, of_origin), (mine, of_own) = _network(origin), _network(own)
    except SnapshotError as error:
        return str(error)
    for name in sorted({*theirs, *mine}):
        there, here = theirs.get(name), mine.get(name)
        if there is None or here is None or (there.dtype, there.shape) != (here.dtype, here.shape):
            return f"{name} is not of the shape that {origin.name[:12]} has"
        if _bytes(origin, of_origin, there) != _bytes(own, of_own, here):
            return f"{name} does not hold the numbers of snapshot {origin.name[:12]}"
    return ""


def _network(path: Path) -> tuple[Mapping[str, TensorInfo], int]:
    """(what acts and was learned, by name; where the data begin). Raises: SnapshotError."""
    info = read_tensor_file(path)
    data_bytes = max(tensor.last for tensor in info.tensors.values())
    network = {
        name: tensor
        for name, tensor in info.tensors.items()
        if name.startswith(MODEL_PREFIX) and not name.startswith(RULE_PREFIX)
    }
    return network, info.size_bytes - data_bytes


def _bytes(path: Path, begin: int, tensor: TensorInfo) -> bytes:
    with path.open("rb") as file:
        file.seek(begin + tensor.first)
        return file.read(tensor.last - tensor.first)
