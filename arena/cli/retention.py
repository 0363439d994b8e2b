"""`arena anchor` and `arena delete`: which snapshots and populations a data directory keeps."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.data.paths import IMPORTED, data_dir, league_path
from arena.league.chain_notes import record_import
from arena.league.database import open_league, upgrade_league
from arena.league.deletion import DeletionPlan, plan_deletion, refuse_held
from arena.league.deletion import delete as delete_from
from arena.league.frames import frames_text
from arena.league.retention import mark_anchor
from arena.league.snapshot_names import find_snapshot
from arena.words import bytes_text, number_of
from pbt.errors import ConfigError, SnapshotError


def anchor(
    player: Annotated[
        str, typer.Argument(metavar="PLAYER", help="A snapshot, such as demo/m2@1.2M or demo@best.")
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the mark away: its weights may be removed again.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark a snapshot as an anchor: its weights are kept and it can be played for ever.

    The weights of other snapshots are removed from time to time while a training goes on.
    """
    path = league_path(data_dir(data))
    with open_league(path, read_only=not path.exists()) as opened:
        snapshot = find_snapshot(opened, player)
        mark_anchor(opened, snapshot.record.snapshot_id, not remove)
    label = f"{snapshot.population}/{snapshot.record.member}@{frames_text(snapshot.record.frames)}"
    if as_json:
        print_json({"player": label, "id": snapshot.record.snapshot_id, "anchor": not remove})
    else:
        print(
            f"{label} ({snapshot.record.snapshot_id[:8]}) is "
            f"{'no anchor any more' if remove else 'an anchor: its weights stay'}"
        )


DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Remove without asking for confirmation.")]
GoneArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help='A population; or "imported/NAME", an imported snapshot.'),
]


def delete(
    name: GoneArgument,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a population for ever, or an imported snapshot.

    The rows, checkpoints, snapshots and curves of the population go. Games of matches stay with
    the match.
    """
    folder = data_dir(data)
    if name.startswith(f"{IMPORTED}/"):
        _delete_import(folder, name, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if not dry_run:
        upgrade_league(league_path(folder))
    plan = plan_deletion(folder, name)
    if not as_json:
        print("\n".join(_plan_lines(plan)))
    if not dry_run:
        refuse_held(folder, name)
        _confirm(name, yes)
        delete_from(folder, name)
        say(f"population {name!r} is gone")
    if as_json:
        rows = asdict(plan.rows) if plan.rows else None
        print_json(
            {
                "population": name,
                "deleted": not dry_run,
                "rows": rows,
                "files": plan.files,
                "file_bytes": plan.size_bytes,
            }
        )


def _delete_import(folder: Path, name: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    from arena.data.snapshot_cards import existing_card, read_card, remove_import

    alone = name.removeprefix(f"{IMPORTED}/")
    path, card = existing_card(folder, alone), None
    try:
        card = read_card(path)
    except SnapshotError as error:
        say(f"warning: {error}; the import can be removed all the same")
    if card is not None and not as_json:
        print(
            f"snapshot {name} ({card.snapshot_id[:8]}), {bytes_text(card.size_bytes)}, of "
            f"{card.population}/{card.member}"
        )
    if not dry_run:
        _confirm(name, yes)
        remove_import(folder, alone)
        with open_league(league_path(folder)) as league:
            record_import(league, alone, None)
        say(f"snapshot {name!r} is gone; its games stay")
    if as_json:
        print_json(
            {
                "import": name,
                "deleted": not dry_run,
                "id": None if card is None else card.snapshot_id,
            }
        )


def _confirm(name: str, yes: bool) -> None:
    """Ask before something is removed.

    Raises: ConfigError without a terminal to ask at, Exit when the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            "arena delete",
            [
                (
                    f"{name!r} was not removed: there is no terminal to confirm it at; repeat "
                    "the command with --yes, or with --dry-run to see what would be removed"
                )
            ],
        )
    if not typer.confirm(f"Delete {name!r} for ever?", err=True):
        say("nothing was removed")
        raise typer.Exit(1)


def _plan_lines(plan: DeletionPlan) -> list[str]:
    lines = [f"population {plan.name}"]
    if plan.rows is not None:
        rows = plan.rows
        of_kinds = {
            "game": rows.games,
            "round": rows.rounds,
            "snapshot": rows.snapshots,
            "event": rows.events,
            "start": rows.incarnations,
        }
        counts = ", ".join(number_of(count, kind) for kind, count in of_kinds.items())
        lines.append(
            f"  rows   {counts}; about {bytes_text(rows.size_bytes)}, which the league uses again"
        )
    where = ", ".join(map(str, plan.folders))
    lines.append(
        f"  files  {plan.files}, {bytes_text(plan.size_bytes)}, in {where}"
        if plan.folders
        else "  files  none"
    )
    return lines
