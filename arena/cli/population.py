"""`arena population`: the commands that ask a running service about its populations.

It is a client of the REST interface and needs no torch.
"""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.assessment_text import assessment_lines, member_columns, member_rows
from arena.cli.output import (
    DataOption,
    DryRunOption,
    JsonOption,
    NameArgument,
    SetOption,
    StartOption,
    print_json,
    print_table,
    say,
)
from arena.cli.population_edits import clone, join, leave, set_
from arena.cli.service_client import Client, call_population
from arena.cli.train import NameOption
from arena.cli.webhook import webhook
from arena.data.paths import check_population_name, data_dir
from pbt.errors import PbtError

app = typer.Typer(
    help="Populations of a running service (`arena serve`).",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

WaitOption = Annotated[bool, typer.Option(help="Wait until the operation is done, or failed.")]
POLL_S = 0.3
WAIT_TIMEOUT_S = 300.0
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
_COLUMNS = ("name", "state", "wanted", ">frames", ">restarts", "message")


@app.command(epilog="Example: arena population create connect_four --name first --start")
def create(
    config: Annotated[
        str, typer.Argument(help="A config file (.toml) or the name of a shipped one.")
    ],
    name: NameOption = None,
    start: StartOption = False,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a population. Its config is checked first, also against its game."""
    from pbt.config.load import load_config

    loaded = load_config(config, overrides or ())
    chosen = check_population_name(name if name is not None else Path(config).stem.lower())
    body = {
        "name": chosen,
        "config": loaded.model_dump(mode="json", exclude_unset=True),
        "start": start,
    }
    made = Client.find(data_dir(data)).call(
        "POST", f"/v1/populations?dry_run={'true' if dry_run else 'false'}", body
    )
    if as_json:
        print_json(made)
    elif dry_run:
        say(f"the checks passed: population {chosen!r} can be created")
    else:
        say(
            f"population {chosen!r} is created"
            + ("" if start else f"; train it with `arena population start {chosen}`")
        )


@app.command("list", epilog="Example: arena population list")
def list_(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the populations of the service: whether each learns, and its state."""
    client, items, cursor = Client.find(data_dir(data)), [], ""
    while True:
        page = client.call("GET", f"/v1/populations?limit=500{cursor}")
        items += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    if as_json:
        print_json({"populations": items})
        return
    if not items:
        print("no population; make one: arena population create connect_four --start")
        return
    print_table(
        ("name", "conclusion", *_COLUMNS[1:]),
        [
            (
                item["id"],
                (item["summary"]["conclusion"] or "-").replace("_", " "),
                *_cells(item)[1:],
            )
            for item in items
        ],
    )


@app.command(epilog="Example: arena population status first")
def status(name: NameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show whether one population learns, which member is best, and what is wrong with it."""
    population, told = (
        call_population(data, "GET", name),
        call_population(data, "GET", name, "/assessment"),
    )
    if as_json:
        print_json({**population, "assessment": told})
        return
    for line in assessment_lines(told):
        print(line)
    print_table(_COLUMNS, [_cells(population)])
    if told["members"]:
        print_table(member_columns(told), member_rows(told), spare=("state",))
    if population["status"]["state"] == "failed":
        for line in population["status"]["last_log_lines"]:
            say(f"  | {line}")


@app.command(epilog="Example: arena population logs first --lines 50")
def logs(
    name: NameArgument,
    lines: Annotated[
        int, typer.Option(min=1, max=2000, help="How many of the newest lines.")
    ] = 100,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the newest output of the population's trainer."""
    log = call_population(data, "GET", name, f"/logs?lines={lines}")
    if as_json:
        print_json(log)
    else:
        print("\n".join(log["lines"]))


def _add_operation(kind: str, summary: str) -> None:
    """Add the command that asks the service for one operation of a population."""

    @app.command(kind, help=summary, epilog=f"Example: arena population {kind} first")
    def operation(
        name: NameArgument,
        wait: WaitOption = True,
        data: DataOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _ask(data, name, kind, as_json, wait=wait)


_add_operation("start", "Train the population, from its newest checkpoint or from the first frame.")
_add_operation("stop", "Save the population and end its processes.")
_add_operation("pause", "Save the population and free the machine until the population is resumed.")
_add_operation("resume", "Go on training after a pause.")


app.command(epilog="Example: arena population webhook first https://hooks.example.org/arena")(
    webhook
)


for _edit, _title, _example in (
    (set_, "set", "set first stop_at_frames=2_000_000 evaluation.share=0.1"),
    (join, "join", "join first --weights m0"),
    (leave, "leave", "leave first m1"),
    (clone, "clone", "clone first second --set learning.gamma=0.98 --start"),
):
    app.command(_title, epilog=f"Example: arena population {_example}")(_edit)


@app.command(epilog="Example: arena population delete first --yes")
def delete(
    name: NameArgument,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove without asking for confirmation.")
    ] = False,
    wait: WaitOption = True,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop the training, then remove the population's rows and files. Games of matches stay."""
    if not yes and not typer.confirm(
        f"Remove population {name!r} with all its games, snapshots and checkpoints?", err=True
    ):
        raise typer.Exit(1)
    _ask(data, name, "delete", as_json, wait=wait)


def _ask(data: Path | None, name: str, kind: str, as_json: bool, *, wait: bool) -> None:
    """Ask the service for an operation, and wait for its end. Raises: PbtError when it fails."""
    client, path = Client.find(data_dir(data)), f"/v1/populations/{check_population_name(name)}"
    operation = (
        client.call("DELETE", path) if kind == "delete" else client.call("POST", f"{path}/{kind}")
    )
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    waits_for = ""
    while wait and operation["state"] not in ENDED and not waits_for:
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
        operation = client.call("GET", f"/v1/operations/{operation['id']}")
        if kind in ("start", "resume"):
            # It may wait for days, so the command does not wait with it.
            waits_for = _waits_for(client.call("GET", path)["status"])
    if as_json:
        print_json(operation)
    if operation["state"] == "FAILED":
        raise PbtError(
            f"{kind} of population {name!r}: {operation['problem']}; `arena population logs "
            f"{name}` has more"
        )
    if not as_json:
        words = waits_for or operation["state"].lower()
        say(f"population {name!r}: {kind} {words}")


def _waits_for(status: Any) -> str:
    """What a start waits for that may take for ever, in words; "" for nothing of the kind."""
    if status["state"] == "queued":
        return "queued until another one stops"
    return str(status["message"]) if status["reason"] == "held" else ""


def _cells(item: Any) -> tuple[str, ...]:
    status = item["status"]
    return (
        item["id"],
        status["state"],
        item["spec"]["desired"] or "-",
        f"{status['frames']:,}",
        str(status["restarts"]),
        status["message"],
    )
