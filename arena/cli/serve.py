"""`arena serve` and `arena open`: starting the service and opening its dashboard.

The service is another program (`python -m api`). `arena serve` prepares its settings and then
replaces itself by it.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import urlsplit

import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.cli.service_client import Client
from arena.data.paths import data_dir
from arena.data.service_state import service_folder
from arena.standard_streams import hand_on_stdout
from pbt.errors import ConfigError

DEFAULT_PORT = 8642
MOST_AT_ONCE, MOST_GB = 1000, 1e6


HostOption = Annotated[
    str,
    typer.Option(
        help=(
            "Address to listen on. An address that other machines can reach needs tokens "
            "(--make-tokens) and --allowed-host."
        )
    ),
]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free port.")
]
UnixSocketOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help=(
            "Listen on a Unix socket instead of an address, for a proxy of this machine. Its owner "
            "and its group may connect."
        ),
        show_default=False,
    ),
]
RootPathOption = Annotated[
    str,
    typer.Option(
        metavar="PATH",
        help="The path below which a proxy shows the service, such as /arena. Default: none.",
        show_default=False,
    ),
]
AllowedHostOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A name by which other machines call this one; may be repeated.",
        show_default=False,
    ),
]
AllowGamesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help=(
            "Ids of other packages that requests may train and play, such as 'gymnasium:*'; may be "
            "repeated. Default: built-in games only."
        ),
        show_default=False,
    ),
]
WebhookHostOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST",
        help=(
            "A host that webhooks of populations may be sent to, by name or address; may be "
            "repeated. An address that is not public must be named itself. Default: none."
        ),
        show_default=False,
    ),
]
MaxRunningOption = Annotated[
    int,
    typer.Option(
        min=1, max=MOST_AT_ONCE, help="Populations that train at the same time; others wait."
    ),
]
MaxPlaysOption = Annotated[
    int,
    typer.Option(min=1, max=MOST_AT_ONCE, help="Games that people play by hand at the same time."),
]
SoftDiskOption = Annotated[
    float,
    typer.Option(min=0, max=MOST_GB, help="With less free space than this, nothing new starts."),
]
HardDiskOption = Annotated[
    float,
    typer.Option(
        min=0,
        max=MOST_GB,
        help=("With less free space than this, trainings save and wait, and changes are refused."),
    ),
]
MaxImportOption = Annotated[
    float,
    typer.Option(min=0.001, max=MOST_GB, help="The largest snapshot that a request may import."),
]
LogFormatOption = Annotated[str, typer.Option(help="The format of the log: console or json.")]
ReadOnlyOption = Annotated[
    bool,
    typer.Option(
        "--read-only",
        help=(
            "Write nothing and refuse every change: for a data directory that cannot be written "
            "to. Without its token files, $ARENA_TOKEN is an admin's token."
        ),
    ),
]
MakeTokensOption = Annotated[
    bool,
    typer.Option("--make-tokens", help="Only make the token files, and print where they are."),
]


def serve(
    host: HostOption = "127.0.0.1",
    port: PortOption = DEFAULT_PORT,
    unix_socket: UnixSocketOption = None,
    root_path: RootPathOption = "",
    allowed_host: AllowedHostOption = None,
    allow_games: AllowGamesOption = None,
    webhook_host: WebhookHostOption = None,
    max_running: MaxRunningOption = 2,
    max_plays: MaxPlaysOption = 4,
    max_import_gb: MaxImportOption = 2.0,
    soft_disk_gb: SoftDiskOption = 5.0,
    hard_disk_gb: HardDiskOption = 2.0,
    log_format: LogFormatOption = "console",
    read_only: ReadOnlyOption = False,
    make_tokens: MakeTokensOption = False,
    data: DataOption = None,
) -> None:
    """Run the service: train and watch populations over REST.

    Ctrl-C saves and stops all trainings. Those that were to run go on at the next start.
    """
    _check(log_format, soft_disk_gb, hard_disk_gb)
    settings = {
        "data": str(folder := data_dir(data)),
        "host": host.strip("[]"),
        "port": port,
        "unix_socket": None if unix_socket is None else str(unix_socket),
        "root_path": root_path.rstrip("/"),
        "allowed_hosts": allowed_host or [],
        "allowed_games": allow_games or [],
        "webhook_hosts": webhook_host or [],
        "read_only": read_only,
        "max_running": max_running,
        "log_format": log_format,
        "max_plays": max_plays,
        **_sizes(max_import=max_import_gb, soft_disk=soft_disk_gb, hard_disk=hard_disk_gb),
        "tokens_set": (service_folder(folder) / "admin.token").exists(),
    }
    _become("api.http.make_tokens" if make_tokens else "api", settings)


def _sizes(**gigabytes: float) -> dict[str, int]:
    """The settings in bytes, by their names."""
    return {f"{name}_bytes": int(size * 1e9) for name, size in gigabytes.items()}


def _become(program: str, settings: Mapping[str, Any]) -> NoReturn:
    """Replace this process by a program of the service."""
    hand_on_stdout()
    # -P: a folder `api/` of the user must not be run instead of our own program.
    command = [sys.executable, "-P", "-m", program, json.dumps(settings)]
    os.execv(command[0], command)  # noqa: S606  the command is our own


def _check(log_format: str, soft_disk_gb: float, hard_disk_gb: float) -> None:
    """Raises: ConfigError for options that contradict themselves."""
    if log_format not in ("console", "json"):
        raise ConfigError("arena serve", [f"--log-format {log_format}: expected console or json"])
    if soft_disk_gb < hard_disk_gb:
        least = f"smaller than --hard-disk-gb {hard_disk_gb:g}; expected at least that much"
        raise ConfigError("arena serve", [f"--soft-disk-gb {soft_disk_gb:g}: {least}"])


def open_page(
    data: DataOption = None,
    as_json: JsonOption = False,
    browser: Annotated[
        bool, typer.Option(help="Start a browser, or only print the address.")
    ] = True,
    viewer: Annotated[
        bool,
        typer.Option(
            "--viewer", help="Log the browser in with the right to read but not to change."
        ),
    ] = False,
) -> None:
    """Open the service's dashboard in a browser, logged in."""
    client = Client.find(data_dir(data))
    answer = client.call("POST", "/v1/session/codes", {"level": "viewer"} if viewer else None)
    # A browser reaches a Unix socket through a proxy, whose address only that proxy knows.
    base = client.url if client.socket is None else urlsplit(client.url).path
    url = f"{base}/#code={answer['code']}"
    if as_json:
        print_json({"url": url, "valid_s": answer["valid_s"]})
        return
    print(url)
    if client.socket is not None:
        say("put this behind the address at which your proxy shows the service")
    elif browser:
        import webbrowser

        if not webbrowser.open(url):
            say("no browser could be started; open the address above yourself, within 10 minutes")
