"""`arena rounds`: what PBT decided."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from arena.cli.output import (
    DataOption,
    JsonOption,
    NameArgument,
    print_json,
    print_table,
)
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.frames import frames_text
from arena.league.round_words import verdict_for_people
from arena.league.stored_history import (
    StoredCertificate,
    StoredRound,
    list_certificates,
    list_rounds,
)
from arena.words import number_of

app = typer.Typer(no_args_is_help=True, help="List the PBT rounds; `arena verify` verifies them.")


@app.command("list")
def list_stored(name: NameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List every round that is in force, in the order of the decisions."""
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        rounds, certificates = list_rounds(league, name), list_certificates(league, name)
    of_round = {
        (one.incarnation, one.record.member, one.record.frames): one for one in certificates
    }
    found = [of_round.get((r.incarnation, r.record.member, r.record.frames)) for r in rounds]
    if as_json:
        print_json(
            [
                {
                    **asdict(stored.record),
                    "incarnation": stored.incarnation,
                    "created_at": stored.created_at,
                    "wiring": None if one is None else wiring_json(one),
                }
                for stored, one in zip(rounds, found, strict=True)
            ]
        )
        return
    if rounds:
        rows = [
            (
                r.record.round,
                r.record.member,
                frames_text(r.record.frames),
                action(r),
                wiring_word(one),
                verdict_for_people(r.record.verdict),
            )
            for r, one in zip(rounds, found, strict=True)
        ]
        columns = (">round", "member", ">frames", "did", "wiring", "why")
        print_table(columns, rows, spare=("wiring",))
    else:
        print(
            f"population {name}: no PBT round yet; the first comes at pbt.warmup_frames of a "
            "member's clock"
        )


@app.command("wiring")
def list_wiring(name: NameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the wiring certificates: what the parts of the training worked with, compared.

    Exit with 1 if something differed.
    """
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        certificates = list_certificates(league, name)
    if as_json:
        print_json([wiring_json(one) for one in certificates])
    else:
        print("\n".join(wiring_lines(name, certificates)))
    if any(one.record.problems for one in certificates):
        raise typer.Exit(1)


def wiring_json(stored: StoredCertificate) -> dict[str, Any]:
    return {
        **asdict(stored.record),
        "agrees": not stored.record.problems,
        "incarnation": stored.incarnation,
        "created_at": stored.created_at,
    }


def wiring_word(stored: StoredCertificate | None) -> str:
    """A round's certificate in a word; "-" while it is not finished."""
    return "-" if stored is None else "DIFFERS" if stored.record.problems else "agrees"


def wiring_lines(name: str, certificates: Sequence[StoredCertificate]) -> list[str]:
    """One line per difference, then how much each check compared, then the sum."""
    lines = [
        f"{one.record.member}, round {one.record.round}, from "
        f"{frames_text(one.record.frames)} frames: {problem}"
        for one in certificates
        for problem in one.record.problems
    ]
    compared: Counter[str] = Counter()
    largest: dict[str, float] = {}
    for check in (check for one in certificates for check in one.record.checks):
        compared[check.name] += check.compared
        if check.largest is not None:
            largest[check.name] = max(check.largest, largest.get(check.name, 0.0))
    differing = sum(bool(one.record.problems) for one in certificates)
    counts = [
        f"  {check}: {count:,} compared"
        + (f", largest difference {largest[check]:.2g}" if check in largest else "")
        for check, count in compared.items()
    ]
    verdict = f"{differing} differ" if differing else "all agree"
    number = number_of(len(certificates), "certificate")
    return [*lines, f"population {name}: {number}: {verdict}", *counts]


def action(stored: StoredRound) -> str:
    """What the round told the member to do, in a few words."""
    directive = stored.record.directive
    parts = [f"copied {directive.copy_from}"] if directive.copy_from else []
    parts += [f"mutated {', '.join(directive.mutated)}"] if directive.mutated else []
    return "; ".join(parts) or "kept"
