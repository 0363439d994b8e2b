"""Export and import of snapshots: the unchanged weights' file, with a card beside it.

The card is described in `arena.data.snapshot_cards`.
"""

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import closing
from io import BufferedWriter
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from arena.data.snapshot_cards import (
    MAX_CARD_BYTES,
    CardError,
    SnapshotCard,
    card_beside,
    card_path,
    read_card,
    weights_folder,
)
from arena.players.cards import card_of
from arena.players.resolve import ResolvedPlayer
from pbt.algorithms.registry import frozen_rule
from pbt.envs import registry
from pbt.envs.names import absolute_name, is_file_name
from pbt.errors import ConfigError, EnvError, EnvFileError, PbtError, PlayerError, SnapshotError
from pbt.files import copy_checked, write_whole
from pbt.models.policy_model import PolicyModel
from pbt.models.tensor_file import TensorFile, read_tensor_file
from pbt.models.weights import MODEL_PREFIX
from pbt.snapshots import FileSnapshotStore
from pbt.transport.slab import role_layout

CHUNK_BYTES = 1 << 20
_DTYPES = {
    torch.float32: "F32",
    torch.float64: "F64",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int64: "I64",
    torch.bool: "BOOL",
}


class ExchangeError(PbtError):
    """The files or the name that the user gave cannot be exported or imported.

    A file is missing or exists already, or the name belongs to another snapshot.
    """

    exit_code = 2


class TakenNameError(ExchangeError):
    """The name in this league belongs to another snapshot, or to a card that cannot be read."""


class ForeignGameError(CardError):
    """The card's game is code that may not be run here: a file, or a package not allowed."""


def export_snapshot(
    player: ResolvedPlayer, out: Path, hyperparams: dict[str, float]
) -> SnapshotCard:
    """Writes the weights to `out` and the card beside it. It overwrites no file.

    player       a snapshot
    out          the file of the weights
    hyperparams  those in force when the snapshot was taken, {} if unknown
    Raises: PlayerError for a player without weights, SnapshotError when they are gone or damaged,
    ExchangeError when the files cannot be written.
    """
    if not out.name:
        raise ExchangeError(f"--out {out}: names no file; expected one, such as best.safetensors")
    if player.config is None or player.snapshots is None:
        raise PlayerError(f"{player.label} has no weights; expected a snapshot, such as demo@best")
    store = FileSnapshotStore(player.snapshots)
    store.load(player.ref.name)
    source = store.path(player.ref.name)
    whose = {name: getattr(player, name) or "" for name in ("population", "member", "role")}
    frames, size_bytes = player.frames or 0, source.stat().st_size
    card = card_of(player.config, player.ref.name, size_bytes, hyperparams, **whose, frames=frames)
    text = card.model_dump_json(indent=2) + "\n"
    if len(text.encode()) > MAX_CARD_BYTES:
        raise SnapshotError(
            f"card of {player.label}: found {len(text)} characters; expected at most "
            f"{MAX_CARD_BYTES}: its env.options are too long"
        )
    _write_new(card_beside(out), text.encode())
    try:
        with source.open("rb") as weights, _create(out) as copy:
            shutil.copyfileobj(weights, copy, CHUNK_BYTES)
    except BaseException:
        card_beside(out).unlink()
        raise
    return card


def _create(path: Path) -> BufferedWriter:
    """Opens a new file. Raises: ExchangeError when it exists or cannot be written."""
    try:
        return path.open("xb")
    except FileExistsError:
        raise ExchangeError(
            f"{path}: exists already; expected a new file: name another with --out, or remove it"
        ) from None
    except OSError as error:
        raise ExchangeError(
            f"{path}: {error.strerror}; name a file in a folder you can write"
        ) from error


def _write_new(path: Path, content: bytes) -> None:
    with _create(path) as file:
        file.write(content)


def import_snapshot(
    weights: Path, data: Path, name: str, env: str | None = None, *, allow_files: bool = False
) -> SnapshotCard:
    """Imports a snapshot as `imported/NAME`.

    Card, header and shapes are checked before a tensor is allocated, and everything is checked
    before the first byte is written.

    weights  the weights' file; its card lies beside it
    data     the data directory
    name     its name in this league
    env      where the file of the card's game lies here, where elsewhere
    allow_files  the game may be a file of the user's, whose code then runs
    Raises: ExchangeError for missing files and for `env` of another game than the card's,
    TakenNameError for the name of another snapshot, PlayerError for an unsafe name, CardError that
    says what is wrong with the card (ForeignGameError: its game is not run here), SnapshotError
    that says what is wrong with the file's header, its shapes or its content.
    """
    destination = card_path(data, name)
    card = _card_of(weights)
    if env is not None:
        card = card.model_copy(update={"env_name": _moved(card.env_name, env)})
    _refuse_taken(destination, card)
    _check_weights(weights, card, allow_files=allow_files)
    stored = FileSnapshotStore(weights_folder(data)).path(card.snapshot_id)
    if not stored.exists():
        _copy(weights, stored, card.snapshot_id)
    write_whole(
        destination,
        (card.model_dump_json(indent=2) + "\n").encode(),
        durable=True,
        many_writers=True,
    )
    return card


def _refuse_taken(destination: Path, card: SnapshotCard) -> None:
    """Raises: TakenNameError unless the name is free, or belongs to the same snapshot."""
    if not destination.exists():
        return
    name = f"imported/{destination.stem}"
    try:
        known = read_card(destination).snapshot_id
    except CardError as error:
        raise TakenNameError(
            f"{error}; choose another name, or remove that one: arena delete {name}"
        ) from error
    if known != card.snapshot_id:
        raise TakenNameError(
            f"{name} is another snapshot already; choose another name, or remove that one: "
            f"arena delete {name}"
        )


def _moved(known: str, env: str) -> str:
    """The name of a file's game where it lies here. Ratings of one game are not for another.

    Raises: ExchangeError unless both are files of the same name, and the same function of it.
    """
    name = absolute_name(env)
    if not is_file_name(known):
        raise ExchangeError(
            f"--env {env}: the snapshot was trained in {known}, which is no file; leave --env out"
        )
    if not is_file_name(name) or Path(name).name != Path(known).name:
        raise ExchangeError(
            f"--env {env}: the snapshot was trained in {known}; expected the place of "
            f"{Path(known).name} here, since a file or function of another name is another game"
        )
    return name


def _card_of(weights: Path) -> SnapshotCard:
    """Raises: ExchangeError where the weights or their card are missing, SnapshotError."""
    for path in (weights, card_beside(weights)):
        if not path.is_file():
            found = "not a file" if path.exists() else "no such file"
            raise ExchangeError(
                f"{path}: {found}; expected the weights that `arena export` wrote, and "
                f"their card {card_beside(weights).name} beside"
            )
    return read_card(card_beside(weights))


def _check_weights(weights: Path, card: SnapshotCard, *, allow_files: bool) -> None:
    """Raises: SnapshotError when the file is not the one that the card describes, or is damaged."""
    info = read_tensor_file(weights)
    if info.size_bytes != card.size_bytes:
        raise SnapshotError(
            f"{weights}: found {info.size_bytes} bytes; expected {card.size_bytes}, as its "
            "card says: the file is not the one exported"
        )
    expected = _expected_shapes(card, info.tensors, allow_files=allow_files)
    _check_shapes(info, expected, weights)
    _check_content(weights, card)
    _check_finite(weights)


def _expected_shapes(
    card: SnapshotCard, names: Iterable[str], *, allow_files: bool
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Tensor name -> (dtype, shape) of the acting network, from the card's game and model.

    names: of the tensors that are there.

    The network is built on the "meta" device, which allocates no memory for the weights.
    Raises: CardError where they cannot be made.
    """
    try:
        config, spec = card.config(), registry.spec(card.env_name, allow_files=allow_files)
        with closing(spec.make(**card.env_options)) as game:
            roles = {role.name: role for role in game.roles}
            if card.role not in roles:
                raise CardError(
                    f"card: role {card.role!r}: {card.env_name} has {', '.join(roles)}; the "
                    "snapshot was exported from another version"
                )
            layout = role_layout(roles[card.role], game.reward_terms, 1, 0)
        with torch.device("meta"):
            model = PolicyModel(layout, config.model, rule=frozen_rule(config, names))
    except EnvFileError as error:
        raise ForeignGameError(
            f"card: {error}; nothing was imported. If you trust that file: arena import "
            f"--allow-files, and --env ./FILE.py:FUNCTION where it lies elsewhere on this machine"
        ) from error
    except (ConfigError, EnvError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise CardError(
            f"card: its game and network cannot be made here: {error}; nothing was imported"
        ) from error
    return {
        f"{MODEL_PREFIX}{name}": (_DTYPES[tensor.dtype], tuple(tensor.shape))
        for name, tensor in model.state_dict().items()
    }


def _check_shapes(
    info: TensorFile, expected: dict[str, tuple[str, tuple[int, ...]]], weights: Path
) -> None:
    """Compares the network's tensors; others, such as the optimiser's moments, are ignored."""
    stored = {
        name: (tensor.dtype, tensor.shape)
        for name, tensor in info.tensors.items()
        if name.startswith(MODEL_PREFIX)
    }
    problems = [
        f"{name[:80]}: found {stored.get(name, 'nothing')}, expected "
        f"{expected.get(name, 'nothing')}"
        for name in sorted({*stored, *expected})
        if stored.get(name) != expected.get(name)
    ]
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise SnapshotError(
            f"{weights}: tensors that do not fit its card: {'; '.join(problems[:5])}{more}; "
            "nothing was imported"
        )


def _check_content(weights: Path, card: SnapshotCard) -> None:
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != card.snapshot_id:
        raise SnapshotError(
            f"{weights}: found SHA-256 {digest[:12]}..., expected {card.snapshot_id[:12]}...: "
            "the file is damaged or another one"
        )


def _check_finite(weights: Path) -> None:
    """Refuses weights that are not finite. It holds one tensor in memory at a time."""
    try:
        with safe_open(weights, framework="pt") as tensors:
            bad = [
                name
                for name in tensors.keys()  # noqa: SIM118  not a dictionary: it has no iterator
                if name.startswith(MODEL_PREFIX)
                and not torch.isfinite(tensors.get_tensor(name)).all()
            ]
    except SafetensorError as error:
        raise SnapshotError(
            f"{weights}: cannot be read as safetensors: {error}; nothing was imported"
        ) from error
    if bad:
        raise SnapshotError(
            f"{weights}: {bad[0]}: found numbers that are not finite; expected weights that "
            "can play; nothing was imported"
        )


def _copy(weights: Path, stored: Path, snapshot_id: str) -> None:
    """Copies the file whole or not at all.

    The copy is hashed as well, because the file may have changed since it was checked.
    """
    if not copy_checked(weights, stored, snapshot_id):
        raise SnapshotError(f"{weights} changed while it was imported; nothing was imported")
