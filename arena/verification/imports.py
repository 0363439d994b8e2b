"""Verification of imported snapshots: the chain of imports, their cards and their weights."""

from pathlib import Path

from arena.data.paths import IMPORTED, league_path
from arena.data.snapshot_cards import imported_folder, read_card, weights_folder
from arena.league.chain import IMPORTS
from arena.league.chain_check import check_chain
from arena.league.chain_notes import imported_by_records
from arena.league.chain_state import Difference
from arena.league.database import open_league
from arena.verification.files import SUFFIX, file_difference
from arena.verification.report import Observer, VerifyReport, VerifyRequest, head_difference
from arena.words import number_of
from pbt.errors import SnapshotError


def verify_imports(data: Path, request: VerifyRequest, observe: Observer) -> VerifyReport:
    """Verifies the imported snapshots. Imports from before the chain began have no record."""
    with open_league(league_path(data), read_only=True) as league:
        wanted = [] if request.head is None else [request.head]
        chain = check_chain(league, IMPORTS, wanted)
        recorded = imported_by_records(league)
    differences = [*chain.differences, *head_difference(request, chain)]
    cards = {path.stem: path for path in sorted(imported_folder(data).glob("*.json"))}
    for place, (name, path) in enumerate(cards.items()):
        observe("imports", place, len(cards))
        differences += _card_differences(data, name, path, recorded.get(name))
    for name in sorted(recorded.keys() - cards.keys()):
        differences.append(Difference(f"{IMPORTED}/{name}", "no card", "the card of its import"))
    unknown, before = len(cards.keys() - recorded.keys()), chain.unknown.get("imports", 0)
    have = number_of(unknown, "import has", "imports have")
    notes = (f"{have} no record: the chain began later",) * bool(unknown)
    if unknown > before:
        found = f"{number_of(unknown, 'card')} without a record"
        differences.append(Difference(IMPORTED, found, f"{before}, those before the chain began"))
    counts = {"imports": len(cards)}
    return VerifyReport("imports", IMPORTED, chain, tuple(differences), counts, notes=notes)


def _card_differences(data: Path, name: str, path: Path, recorded: str | None) -> list[Difference]:
    """recorded: id of the snapshot that was imported by this name, None without a record."""
    where = f"{IMPORTED}/{name}"
    try:
        card = read_card(path)
    except SnapshotError as error:
        return [Difference(where, str(error))]
    if recorded is not None and card.snapshot_id != recorded:
        found = f"a card of snapshot {card.snapshot_id[:16]}"
        return [Difference(where, found, f"{recorded[:16]}, as it was imported")]
    weights = weights_folder(data) / f"{card.snapshot_id}{SUFFIX}"
    return file_difference(where, weights, card.snapshot_id)
