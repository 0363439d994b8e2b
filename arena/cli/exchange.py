"""`arena export` and `arena import`: snapshots that move between leagues as files."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import IMPORTED, data_dir, league_path
from arena.data.snapshot_cards import SnapshotCard, card_beside
from arena.league.chain_notes import record_export, record_import
from arena.league.database import open_league
from arena.league.frames import frames_text
from arena.league.snapshot_names import find_snapshot
from arena.players.cards import hyperparams_of
from arena.players.resolve import resolve_players

WeightsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Weights that `arena export` wrote; their card must lie beside them, FILE.json.",
    ),
]
ImportedName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The snapshot plays as imported/NAME. Default: the name of the file.",
        show_default=False,
    ),
]
AllowFiles = Annotated[
    bool,
    typer.Option(
        "--allow-files",
        help="The game may be a file of your own; its code is run to check the weights.",
    ),
]
PlaceOption = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="./FILE.py:FUNCTION",
        help="The game where it lies here. Default: where it lay when it was exported.",
        show_default=False,
    ),
]
_UNFIT = re.compile(r"[^a-z0-9_.-]+")


def export(
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOT", help="A snapshot, such as demo@best, demo/m2@1.2M or an id."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help=(
                "The file for the weights, in the format safetensors. A card that describes "
                "them is written beside it, as FILE.json."
            ),
        ),
    ],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a snapshot's weights, byte for byte, and a card that says what they are.

    `arena import FILE` takes them into another league.
    """
    from arena.players.exchange import export_snapshot

    with open_league(league_path(data_dir(data)), read_only=True) as league:
        found = find_snapshot(league, snapshot)
        hyperparams = hyperparams_of(league, found.record.snapshot_id)
    _, (player,) = resolve_players([snapshot], data, None, allow_files=True)
    card = export_snapshot(player, out, hyperparams)
    population = player.population or ""
    files = {"weights": out, "card": card_beside(out)}
    head = _record(data_dir(data), population, card.snapshot_id, files.values())
    text = f"{out}: {player.label} ({card.snapshot_id[:8]}), {card.size_bytes} bytes; its card: "
    _tell(f"{text}{files['card']}", population, head, {**_plain(card), **files}, as_json)


def _record(data: Path, population: str, snapshot_id: str, written: Iterable[Path]) -> str:
    """Record an export in its league, or take the files back. Returns the head of the chain."""
    try:
        with open_league(league_path(data)) as league:
            return record_export(league, population, snapshot_id)
    except BaseException:
        for path in written:
            path.unlink()
        raise


def import_(
    weights: WeightsArgument,
    name: ImportedName = None,
    allow_files: AllowFiles = False,
    env: PlaceOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in a snapshot from another league. It then plays as imported/NAME.

    Its size, header, shapes and content are checked first.
    """
    from arena.players.exchange import import_snapshot

    chosen = (
        name
        if name is not None
        else _UNFIT.sub("-", weights.name.removesuffix(".safetensors").lower()).strip("-._")[:64]
    )
    card = import_snapshot(weights, data_dir(data), chosen, env, allow_files=allow_files)
    with open_league(league_path(data_dir(data))) as league:
        head = record_import(league, chosen, card.snapshot_id)
    player = f"{IMPORTED}/{chosen}"
    text = f"{player}: {_words(card)} plays now: arena match {player} random"
    _tell(text, IMPORTED, head, {"player": player, **_plain(card)}, as_json)


def _tell(text: str, chain: str, head: str, report: Mapping[str, Any], as_json: bool) -> None:
    """Print what was done, and the head of the chain that has the record of it."""
    if as_json:
        print_json({**report, "head": head})
    else:
        print(f"{text}\nproof: arena verify {chain} --head {head}")


def _plain(card: SnapshotCard) -> dict[str, Any]:
    return card.model_dump(mode="json")


def _words(card: SnapshotCard) -> str:
    return (
        f"{card.population}/{card.member}@{frames_text(card.frames)} of {card.env_name} "
        f"({card.snapshot_id[:8]})"
    )
