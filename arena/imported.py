"""Snapshots from other leagues: `arena-data/imported/NAME.json`, a card that says what the weights are, and `imported/weights/ID.safetensors`.

The id is the SHA-256 of the weights' file, as in the league they come from: the same snapshot is the same player everywhere, whatever it is called.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.paths import IMPORTED
from pbt.config.load import config_from_table
from pbt.config.schema import ModelConfig, RunConfig
from pbt.errors import SnapshotError

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
MAX_CARD_BYTES = 1 << 16
MAX_SIZES, MAX_WIDTH = 128, 1 << 16
Text = Annotated[str, Field(max_length=256)]


class SnapshotCard(BaseModel):
    """All that is needed to seat a snapshot away from the league it was trained in.

    snapshot_id, size_bytes  of the weights' file;  model, precision: of the network;  opening_plies: random moves its matches begin with
    population, member, frames, hyperparams  where it comes from, for people
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    format: Literal["pbt-arena snapshot"] = "pbt-arena snapshot"
    version: Literal[1] = 1
    snapshot_id: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(ge=1)]
    env_name: Text
    env_options: dict[str, Any]
    role: Text
    model: ModelConfig
    precision: Literal["auto", "float32", "bfloat16"]
    opening_plies: Annotated[int, Field(ge=0, le=1000)]
    population: Text
    member: Text
    frames: Annotated[int, Field(ge=0)]
    hyperparams: dict[Text, float] = {}
    made_by: Text = ""

    def config(self) -> RunConfig:
        """As much of a population's configuration as its players need. Raises: ConfigError when it contradicts itself."""
        table = {
            "env": {"name": self.env_name, "options": self.env_options},
            "model": self.model.model_dump(mode="json"),
            "runtime": {"precision": self.precision},
            "evaluation": {"opening_plies": self.opening_plies},
        }
        return config_from_table(table, f"card of snapshot {self.snapshot_id[:12]}")


def read_card(path: Path) -> SnapshotCard:
    """Raises: SnapshotError saying everything that is wrong with it."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CARD_BYTES + 1)
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be read ({error.strerror}); expected the card that `arena export` writes beside the weights") from error
    if len(content) > MAX_CARD_BYTES:
        raise SnapshotError(f"{path}: more than {MAX_CARD_BYTES} bytes; expected a snapshot's card")
    try:
        card = SnapshotCard.model_validate_json(content)
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, problem['loc'])) or 'card'}: {problem['msg']}" for problem in error.errors()[:5])
        raise SnapshotError(f"{path}: no card of a snapshot: {found}; nothing was imported") from None
    sizes = [*card.model.hidden, card.model.gru_size]
    sizes += [size for layer in card.model.conv for size in (layer.channels, layer.kernel, layer.stride, layer.padding)]
    if len(sizes) > MAX_SIZES or max(sizes) > MAX_WIDTH:
        found = f"{len(sizes)} sizes up to {str(max(sizes))[:20]}"
        raise SnapshotError(f"{path}: model: found {found}; expected at most {MAX_SIZES} up to {MAX_WIDTH}; nothing was imported")
    return card


def imported_folder(data: Path) -> Path:
    return data / IMPORTED


def weights_folder(data: Path) -> Path:
    return imported_folder(data) / "weights"


def card_path(data: Path, name: str) -> Path:
    """Raises: SnapshotError for a name that is no safe file name."""
    if not NAME.fullmatch(name):
        raise SnapshotError(f"name {name!r}: expected 1 to 64 of a-z, 0-9, '.', '-' and '_', the first a letter or digit")
    return imported_folder(data) / f"{name}.json"


def imported_cards(data: Path) -> Iterator[tuple[str, SnapshotCard]]:
    """(name, card) of every import, by name. Raises: SnapshotError for a damaged card."""
    for path in sorted(imported_folder(data).glob("*.json")):
        yield path.stem, read_card(path)


def remove_import(data: Path, name: str) -> SnapshotCard:
    """Its card goes, and its weights unless another name has the same. Raises: SnapshotError when there is none of this name."""
    card = read_card(card_path(data, name))
    card_path(data, name).unlink()
    if all(other.snapshot_id != card.snapshot_id for _, other in imported_cards(data)):
        (weights_folder(data) / f"{card.snapshot_id}.safetensors").unlink(missing_ok=True)
    return card
