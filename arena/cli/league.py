"""`arena league`, `populations`, `metrics`, `games`, `anchor`, `delete`: what the data directory
holds. None of it needs torch.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from arena.cli.output import DataOption, JsonOption, print_json, print_table, say
from arena.cli.rating_table import TOP_ROWS, print_league, rating_text
from arena.cli.tables import tables_of
from arena.data.lock import holder
from arena.data.metrics import MetricsRow, metrics_csv, read_metrics
from arena.data.paths import IMPORTED, data_dir, league_path, population_paths
from arena.data.telemetry import telemetry_csv
from arena.league.database import League, open_league, upgrade_league
from arena.league.deletion import DeletionPlan, file_sizes, plan_deletion, refuse_held
from arena.league.deletion import delete as delete_from
from arena.league.frames import frames_text
from arena.league.populations import stored_config
from arena.league.retention import mark_anchor
from arena.league.snapshot_names import find_snapshot
from arena.league.standings import best_standing, standings
from arena.league.summaries import PopulationSummary, list_populations
from pbt.errors import ConfigError, SnapshotError
from pbt.records import GameKind

__all__ = ["anchor", "delete", "games", "league", "metrics", "populations", "print_league"]

TABLE_GAMES = 20
NOTHING = "no population in {}; train one: arena demo, or arena train connect_four"
_UNITS = ("B", "kB", "MB", "GB")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The population's name.")]


def league(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A population; else each of them.", show_default=False
        ),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Rate it together with all other populations of its game.")
    ] = False,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="GAME",
            help="Instead: everybody who plays this game.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Print so many rows, 0 for all.")] = TOP_ROWS,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """The rating table: Elo of frozen snapshots, fitted from all evaluation games, `random` = 0.
    Below it: who beats whom in circles.
    """
    folder = data_dir(data)
    if name is None and not league_path(folder).exists():
        print_json([]) if as_json else print(NOTHING.format(folder))
        return
    with open_league(league_path(folder), read_only=True) as opened:
        tables = tables_of(opened, name, env, everyone=everyone)
        if as_json:
            reports = [table.report(opened) for table in tables]
            print_json(reports if name is None else reports[0])
            return
        for number, table in enumerate(tables):
            print("\n" * (number > 0), end="")
            table.show(opened, top)
        if not tables:
            print(NOTHING.format(folder))


def populations(data: DataOption = None, as_json: JsonOption = False) -> None:
    """What has been trained: state, size, and how good the best is."""
    folder = data_dir(data)
    rows: list[dict[str, Any]] = []
    if league_path(folder).exists():
        with open_league(league_path(folder), read_only=True) as opened:
            rows = [_population(opened, folder, summary) for summary in list_populations(opened)]
    if as_json:
        print_json(rows)
    elif not rows:
        print(NOTHING.format(folder))
    else:
        columns = (
            "name",
            "state",
            "game",
            ">members",
            ">frames",
            ">games",
            ">best rating",
            ">files",
            ">rows",
            "made",
        )
        print_table(
            columns,
            [_population_cells(row) for row in rows],
            spare=("rows", "made", "files", "members", "games"),
        )


def _population(league: League, data: Path, summary: PopulationSummary) -> dict[str, Any]:
    paths = population_paths(data, summary.name)
    pid = holder(paths.lock)
    state = summary.state
    if state == "running" and pid is None:
        state = "killed"
    elif pid is not None:
        state = "running"
    best = best_standing(standings(league, summary.name))
    return {
        "name": summary.name,
        "state": state,
        "pid": pid,
        "env": summary.env_name,
        "members": summary.members,
        "frames": summary.frames,
        "games": summary.games,
        "best": None
        if best is None
        else {
            "player": best.label,
            "elo": best.elo,
            "low": best.low,
            "high": best.high,
            "text": rating_text(best),
        },
        "file_bytes": sum(file_sizes(paths.root)),
        "row_bytes": summary.size_bytes,
        "created_at": summary.created_at,
        "starts": summary.incarnations,
    }


def _population_cells(row: dict[str, Any]) -> tuple[str, ...]:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created_at"]))
    state = f"running ({row['pid']})" if row["pid"] else row["state"]
    best = row["best"]["text"] if row["best"] else "-"
    sizes = bytes_text(row["file_bytes"]), bytes_text(row["row_bytes"])
    return (
        row["name"],
        state,
        row["env"],
        str(row["members"]),
        frames_text(row["frames"]),
        str(row["games"]),
        best,
        *sizes,
        made,
    )


def bytes_text(count: float) -> str:
    """1234567 -> 1.2 MB."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def metrics(
    name: NameArgument,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Every point of every curve as CSV.")
    ] = False,
    telemetry: Annotated[
        bool,
        typer.Option("--telemetry", help="Instead: where the time of its processes went, as CSV."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the CSV there instead of to stdout.", show_default=False
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Training curves: the newest values per member, or all of them as CSV. Works while training
    runs.
    """
    if (as_csv or telemetry) and as_json:
        raise ConfigError(
            "arena metrics", [f"{'--csv' if as_csv else '--telemetry'} and --json: choose one"]
        )
    if out is not None and not (as_csv or telemetry):
        raise ConfigError("arena metrics", [f"--out {out}: only the CSV goes to a file; add --csv"])
    folder = data_dir(data)
    with open_league(league_path(folder), read_only=True) as opened:
        stored_config(opened, name)
    curves = population_paths(folder, name).metrics
    if as_csv or telemetry:
        _write_csv(partial(telemetry_csv if telemetry else metrics_csv, curves), out)
        return
    newest: dict[str, MetricsRow] = {row.member: row for row in read_metrics(curves)}
    if as_json:
        print_json(
            [
                {"member": row.member, "frames": row.frames, "t": row.t, "values": row.values}
                for row in newest.values()
            ]
        )
    elif not newest:
        print(f"population {name}: no curves yet; the first points come with the first updates")
    else:
        _print_newest(newest)


def _write_csv(write: Callable[[TextIO], int], out: Path | None) -> None:
    if out is None:
        write(sys.stdout)
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            rows = write(file)
    except OSError as error:
        raise ConfigError(
            "arena metrics",
            [f"--out {out}: {error.strerror}; name a file in a folder you can write"],
        ) from error
    say(f"{rows} rows in {out}")


def _print_newest(newest: dict[str, MetricsRow]) -> None:
    """One column per member: there are more values than members."""
    members = sorted(newest)
    names = sorted({name for row in newest.values() for name in row.values})
    rows = [("frames", *(frames_text(newest[member].frames) for member in members))]
    for name in names:
        values = [newest[member].values.get(name) for member in members]
        rows.append((name, *("-" if value is None else f"{value:.4g}" for value in values)))
    print_table(("newest value", *(f">{member}" for member in members)), rows)


def games(
    name: NameArgument,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="CSV on stdout, all games unless --limit.")
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(metavar="training|evaluation", help="Only these.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Only so many of the newest; {TABLE_GAMES} unless --csv.",
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """The games of a population, oldest first."""
    from arena.cli.games_listing import newest_games, print_games, write_games_csv
    from arena.league.game_rows import GameFilter, population_games

    if as_csv and as_json:
        raise ConfigError("arena games", ["--csv and --json: choose one"])
    wanted = GameFilter(kind=_game_kind(kind))
    with open_league(league_path(data_dir(data)), read_only=True) as opened:
        if as_csv and limit is None:
            write_games_csv(population_games(opened, name, wanted), sys.stdout)
            return
        found = newest_games(opened, name, wanted, limit or TABLE_GAMES)
    if as_csv:
        write_games_csv(found, sys.stdout)
    elif as_json:
        print_json(
            [
                {
                    **asdict(game.record),
                    "actions": None,
                    "incarnation": game.incarnation,
                    "committed_at": game.committed_at,
                }
                for game in found
            ]
        )
    elif found:
        print_games(found)
    else:
        print(f"population {name}: no such games yet")


def _game_kind(word: str | None) -> GameKind | None:
    match word:
        case None | "training" | "evaluation":
            return word
    raise ConfigError("arena games", [f"--kind {word}: expected training or evaluation"])


def anchor(
    player: Annotated[
        str, typer.Argument(metavar="PLAYER", help="A snapshot, such as demo/m2@1.2M or demo@best.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Let it be thinned out again.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark a snapshot as an anchor: however long training goes on, its weights stay and it can
    be played.
    """
    path = league_path(data_dir(data))
    with open_league(path, read_only=not path.exists()) as opened:
        found = find_snapshot(opened, player)
        mark_anchor(opened, found.record.snapshot_id, not remove)
    label = f"{found.population}/{found.record.member}@{frames_text(found.record.frames)}"
    if as_json:
        print_json({"player": label, "id": found.record.snapshot_id, "anchor": not remove})
    else:
        print(
            f"{label} ({found.record.snapshot_id[:8]}) is "
            f"{'no anchor any more' if remove else 'an anchor: its weights stay'}"
        )


def delete(
    name: NameArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a population for ever: its rows, checkpoints, snapshots and curves; or an imported
    snapshot. Games of matches stay with the match.
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
    from arena.data.cards import existing_card, read_card, remove_import

    alone = name.removeprefix(f"{IMPORTED}/")
    path, card = existing_card(folder, alone), None
    try:
        card = read_card(path)
    except SnapshotError as error:
        say(f"warning: {error}; it can be removed all the same")
    if card is not None and not as_json:
        print(
            f"snapshot {name} ({card.snapshot_id[:8]}), {bytes_text(card.size_bytes)}, of "
            f"{card.population}/{card.member}"
        )
    if not dry_run:
        _confirm(name, yes)
        remove_import(folder, alone)
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
    """Raises: ConfigError when nobody can be asked, Exit when the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            "arena delete",
            [
                (
                    f"nobody can be asked: repeat it with --yes to delete {name!r}, or with "
                    "--dry-run to look"
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
        starts = f"{rows.incarnations} start" + "s" * (rows.incarnations != 1)
        counts = (
            f"{rows.games} games, {rows.rounds} rounds, {rows.snapshots} snapshots, "
            f"{rows.events} events, {starts}"
        )
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
