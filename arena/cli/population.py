"""`arena population`: the commands that ask a running service about its populations.

It is a client of the REST interface and needs no torch.
"""

import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from arena.cli.assessment_text import assessment_lines, member_columns, member_rows
from arena.cli.output import (
    DataOption,
    JsonOption,
    NameArgument,
    SetOption,
    print_json,
    print_table,
    say,
)
from arena.cli.service_client import Client
from arena.cli.train import NameOption
from arena.cli.webhook import webhook
from arena.data.paths import check_population_name, data_dir
from pbt.errors import ConfigError, PbtError

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
    start: Annotated[bool, typer.Option("--start", help="Start training it at once.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, but create nothing.")
    ] = False,
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
    population, told = _call(data, "GET", name), _call(data, "GET", name, "/assessment")
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
    log = _call(data, "GET", name, f"/logs?lines={lines}")
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


@app.command(
    "set",
    epilog="Example: arena population set first stop_at_frames=2_000_000 evaluation.share=0.1",
)
def set_(
    name: NameArgument,
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="Settings that can still be changed after the first start, with new values.",
        ),
    ],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Edit the config of a population.

    A running training goes on with the new values; for some of them its processes start again.
    """
    body = {"set": dict(_assignment(word) for word in values)}
    edited = _call(data, "PATCH", name, body=body)
    if as_json:
        print_json(edited)
    else:
        say(
            f"population {name!r} takes: "
            f"{', '.join(edited['spec']['pending_edits']) or 'nothing to change'}"
        )
        for effect in edited["effects"]:
            say(f"  {effect}")


app.command(epilog="Example: arena population webhook first https://hooks.example.org/arena")(
    webhook
)


@app.command(epilog="Example: arena population join first --weights m0")
def join(
    name: NameArgument,
    weights: Annotated[
        str | None,
        typer.Option(
            help=(
                "A member (m0) or a snapshot's id whose weights it begins with. Default: newly "
                "initialised weights."
            )
        ),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="Its role; needed only when the game has several.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a member. It learns from now on, also while the others train."""
    body = {
        key: value for key, value in (("weights", weights), ("role", role)) if value is not None
    }
    _tell_member(_call(data, "POST", name, "/members", body), as_json)


@app.command(epilog="Example: arena population leave first m1")
def leave(
    name: NameArgument,
    member: Annotated[str, typer.Argument(metavar="MEMBER", help="The member, such as m1.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a member out of the training.

    A last snapshot of it is kept. Its games and ratings stay.
    """
    change = _call(data, "DELETE", name, f"/members/{quote(member, safe='')}")
    _tell_member(change, as_json)


def _tell_member(change: Any, as_json: bool) -> None:
    if as_json:
        print_json(change)
    else:
        what = f"joins as {change['role']}" if change["change"] == "join" else "leaves"
        say(
            f"population {change['population']!r}: {change['member']} {what} as soon as its "
            "trainer has saved, or starts"
        )


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


def _call(data: Path | None, method: str, name: str, below: str = "", body: object = None) -> Any:
    """Send a request about one population. below: the rest of the path, such as "/members"."""
    client, path = Client.find(data_dir(data)), f"/v1/populations/{check_population_name(name)}"
    return client.call(method, f"{path}{below}", body)


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


def _assignment(word: str) -> tuple[str, Any]:
    """`learning.gamma=0.98` -> ("learning.gamma", 0.98), read as `--set` reads it."""
    from pbt.config.load import options_from

    key, equals, _ = word.partition("=")
    if not equals:
        raise ConfigError(
            "arena population set",
            [f"{word}: it has no value; expected section.key=value"],
        )
    table: Any = options_from([word])
    for part in key.strip().split("."):
        table = table[part]
    return key.strip(), table


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
