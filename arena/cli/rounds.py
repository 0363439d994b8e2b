"""`arena rounds`: what PBT decided."""

from dataclasses import asdict

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json, print_table
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.frames import frames_text
from arena.league.stored_history import StoredRound, list_rounds

app = typer.Typer(no_args_is_help=True, help="List the PBT rounds; `arena verify` verifies them.")


@app.command("list")
def list_stored(name: NameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List every round that is in force, in the order of the decisions."""
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        rounds = list_rounds(league, name)
    if as_json:
        print_json(
            [
                {
                    **asdict(stored.record),
                    "incarnation": stored.incarnation,
                    "created_at": stored.created_at,
                }
                for stored in rounds
            ]
        )
    elif rounds:
        rows = [
            (
                r.record.round,
                r.record.member,
                frames_text(r.record.frames),
                action(r),
                r.record.verdict,
            )
            for r in rounds
        ]
        print_table((">round", "member", ">frames", "did", "why"), rows)
    else:
        print(
            f"population {name}: no PBT round yet; the first comes at pbt.warmup_frames of a "
            "member's clock"
        )


def action(stored: StoredRound) -> str:
    """What the round told the member to do, in a few words."""
    directive = stored.record.directive
    parts = [f"copied {directive.copy_from}"] if directive.copy_from else []
    parts += [f"mutated {', '.join(directive.mutated)}"] if directive.mutated else []
    return "; ".join(parts) or "kept"
