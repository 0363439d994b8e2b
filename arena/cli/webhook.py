"""`arena population webhook`: where the service tells what becomes of a population."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json, print_table, say
from arena.cli.service_client import Client
from arena.data.paths import check_population_name, data_dir
from pbt.errors import ConfigError, reason
from pbt.user_folders import expanded

_COLUMNS = ("notice", "time (UTC)", "event", ">attempts", "result")


UrlArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[URL]",
        help="Where to post to. Without it, the webhook is shown.",
        show_default=False,
    ),
]
EventOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EVENT",
        help="finished, failed, stalled or best; may be repeated. Default: all.",
        show_default=False,
    ),
]
SecretOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file with a secret, which signs each notice (X-Arena-Signature).",
        show_default=False,
    ),
]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Remove the webhook.")]


def webhook(
    name: NameArgument,
    url: UrlArgument = None,
    event: EventOption = None,
    secret_file: SecretOption = None,
    remove: RemoveOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have the service post to a URL when a population finishes, fails, stalls or has a new best.

    The host must be allowed: `arena serve --webhook-host HOST`.
    """
    client, path = Client.find(data_dir(data)), f"/v1/populations/{check_population_name(name)}"
    if remove:
        client.call("DELETE", f"{path}/webhook")
        say(f"population {name!r} has no webhook any more")
    elif url is not None:
        body = {
            "url": url,
            **({"events": event} if event else {}),
            **({"secret": _secret(secret_file)} if secret_file is not None else {}),
        }
        _show(client.call("PUT", f"{path}/webhook", body), as_json)
    else:
        _show(client.call("GET", f"{path}/webhook"), as_json)


def _secret(file: Path) -> str:
    try:
        return expanded(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "arena population webhook", [f"--secret-file {file}: {reason(error)}"]
        ) from error


def _show(hook: Any, as_json: bool) -> None:
    if as_json:
        print_json(hook)
        return
    signed = "signed" if hook["signed"] else "not signed"
    print(f"{hook['target']}: {', '.join(hook['events'])}; {signed}")
    rows = [_row(notice) for notice in (*hook["ended"], *hook["waiting"])]
    if rows:
        print_table(_COLUMNS, rows)


def _row(notice: Any) -> tuple[str, ...]:
    result = notice["problem"] or ("waits" if notice["ended_at"] is None else "delivered")
    at = datetime.fromtimestamp(notice["time"], UTC)
    return (
        notice["id"],
        f"{at:%Y-%m-%d %H:%M:%S}",
        notice["event"],
        str(notice["tries"]),
        result,
    )
