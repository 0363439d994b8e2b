"""Snapshots imported from other leagues: a card that describes the weights, and their file.

The card is `arena-data/imported/NAME.json`, the weights are `imported/weights/ID.safetensors`. The
id is the SHA-256 of the weights' file, as in the league where the snapshot was trained. The same
snapshot is therefore the same player in every league, under any name.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.data.paths import IMPORTED
from pbt.config.game_options import env_table
from pbt.config.learning import ModelConfig
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.errors import PlayerError, SnapshotError

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
MAX_CARD_BYTES = 1 << 16
CARD_SUFFIX = ".json"
# These texts are shown on terminals, so they hold no control characters.
Text = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
# The name of a population or a member; empty where a card does not name one.
Name = Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$")]


class CardError(SnapshotError):
    """What lies where a snapshot's card is expected is none, or it describes what cannot be."""


class SnapshotCard(BaseModel):
    """A card holds what is needed to seat a snapshot outside the league where it was trained.

    format         tells a card from other files
    version        of the format
    snapshot_id    SHA-256 of the weights' file
    size_bytes     size of the weights' file
    env_name       the game
    env_options    the game's options
    role           the role that the network plays
    model          the shape of the network
    precision      the number format of the network
    opening_plies  random moves with which its matches begin
    population     where it was trained, for people to read
    member         the member of that population that it is a snapshot of
    frames         the frames that the member had trained
    hyperparams    the hyperparameters that the member had
    made_by        the program that wrote the card
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
    population: Name
    member: Name
    frames: Annotated[int, Field(ge=0, le=10**15)]
    hyperparams: dict[Text, float] = {}
    made_by: Text = ""

    def config(self) -> RunConfig:
        """The part of a population's configuration that its players need.

        Raises: ConfigError when the card contradicts itself.
        """
        table = {
            "env": env_table(self.env_name, self.env_options),
            "model": self.model.model_dump(mode="json"),
            "runtime": {"precision": self.precision},
            "evaluation": {"opening_plies": self.opening_plies},
        }
        return config_from_table(table, f"card of snapshot {self.snapshot_id[:12]}")


def card_beside(weights: Path) -> Path:
    """The card's file of a weights' file: best.safetensors -> best.safetensors.json."""
    return weights.with_name(weights.name + CARD_SUFFIX)


def read_card(path: Path) -> SnapshotCard:
    """Reads one card. Raises: CardError that names every fault of the card."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CARD_BYTES + 1)
    except OSError as error:
        raise CardError(
            f"{path}: cannot be read ({error.strerror}); expected the card that `arena "
            "export` writes beside the weights"
        ) from error
    if len(content) > MAX_CARD_BYTES:
        raise CardError(f"{path}: more than {MAX_CARD_BYTES} bytes; expected a snapshot's card")
    try:
        return SnapshotCard.model_validate_json(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'card'}: {problem['msg']}"
            for problem in error.errors()[:5]
        )
        raise CardError(f"{path}: no card of a snapshot: {problems}") from None


def imported_folder(data: Path) -> Path:
    return data / IMPORTED


def weights_folder(data: Path) -> Path:
    return imported_folder(data) / "weights"


def card_path(data: Path, name: str) -> Path:
    """The file of the card with this name. Raises: PlayerError for an unsafe file name."""
    if not NAME.fullmatch(name):
        raise PlayerError(
            f"player {f'{IMPORTED}/{name}'!r}: found the name {name!r}; expected 1 to 64 of "
            "a-z, 0-9, '.', '-' and '_', the first a letter or digit"
        )
    return imported_folder(data) / f"{name}.json"


def existing_card(data: Path, name: str) -> Path:
    """The card's file, damaged or not. Raises: PlayerError when no import has this name."""
    path = card_path(data, name)
    if not path.exists():
        names = ", ".join(other.stem for other in sorted(imported_folder(data).glob("*.json")))
        raise PlayerError(f"no snapshot {IMPORTED}/{name}; there are: {names or 'none yet'}")
    return path


def imported_names(data: Path) -> list[str]:
    """The names of all imports, sorted, also of those whose cards are damaged."""
    return sorted(
        path.stem for path in imported_folder(data).glob("*.json") if NAME.fullmatch(path.stem)
    )


def imported_cards(data: Path) -> Iterator[tuple[str, SnapshotCard]]:
    """(name, card) of every import, sorted by name.

    Raises: CardError for a damaged card; its message says how to remove the card.
    """
    for path in sorted(imported_folder(data).glob("*.json")):
        try:
            yield path.stem, read_card(path)
        except CardError as error:
            raise CardError(
                f"{error}; remove it: arena delete {IMPORTED}/{path.stem} --yes"
            ) from None


def remove_import(data: Path, name: str) -> None:
    """Removes an import's card, damaged or not, and its weights unless another card needs them.

    A damaged card among the others may need them, so the weights stay then too.
    Raises: PlayerError when no import has this name.
    """
    path = existing_card(data, name)
    try:
        own: str | None = read_card(path).snapshot_id
    except SnapshotError:
        own = None
    path.unlink()
    try:
        others = {card.snapshot_id for _, card in imported_cards(data)}
    except SnapshotError:
        return
    if own is not None and own not in others:
        (weights_folder(data) / f"{own}.safetensors").unlink(missing_ok=True)
