"""`arena serve` and `arena open`. The service is another program (`python -m api`): this one
only says how it is set up, and becomes it.
"""

import json
import os
import sys
from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.cli.service_client import Client
from arena.data.paths import data_dir
from arena.data.service_state import service_folder
from pbt.errors import ConfigError

DEFAULT_PORT = 8642


def serve(
    host: Annotated[
        str,
        typer.Option(
            help=(
                "Address to listen on; anything but this machine's own needs tokens and "
                "--allowed-host."
            )
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="How others call this machine; may be given often.",
            show_default=False,
        ),
    ] = None,
    max_running: Annotated[
        int, typer.Option(min=1, help="Populations that train at the same time; others wait.")
    ] = 2,
    max_plays: Annotated[
        int, typer.Option(min=1, help="Games that people play by hand at the same time.")
    ] = 4,
    soft_disk_gb: Annotated[
        float, typer.Option(min=0, help="Below so much free space nothing new starts.")
    ] = 5.0,
    hard_disk_gb: Annotated[
        float,
        typer.Option(min=0, help="Below it trainings save and wait, and changes are refused."),
    ] = 2.0,
    log_format: Annotated[str, typer.Option(help="console or json.")] = "console",
    make_tokens: Annotated[
        bool,
        typer.Option("--make-tokens", help="Only make the token files, and say where they are."),
    ] = False,
    data: DataOption = None,
) -> None:
    """Train and watch populations over REST. Ctrl-C saves and stops all of them; what was to run
    goes on at the next start.
    """
    folder = data_dir(data)
    if log_format not in ("console", "json"):
        raise ConfigError("arena serve", [f"--log-format {log_format}: expected console or json"])
    if soft_disk_gb < hard_disk_gb:
        raise ConfigError(
            "arena serve",
            [
                (
                    f"--soft-disk-gb {soft_disk_gb:g}: smaller than --hard-disk-gb "
                    f"{hard_disk_gb:g}; expected at least that much"
                )
            ],
        )
    settings = {
        "data": str(folder),
        "host": host,
        "port": port,
        "allowed_hosts": allowed_host or [],
        "max_running": max_running,
        "log_format": log_format,
        "max_plays": max_plays,
        "soft_disk_bytes": int(soft_disk_gb * 1e9),
        "hard_disk_bytes": int(hard_disk_gb * 1e9),
        "tokens_set": (service_folder(folder) / "admin.token").exists(),
    }
    program = "api.http.make_tokens" if make_tokens else "api"
    sys.stdout.flush()
    # -P: a folder of the user's that holds an `api/` must not be run instead of ours.
    # our own program
    os.execv(sys.executable, [sys.executable, "-P", "-m", program, json.dumps(settings)])  # noqa: S606


def open_page(
    data: DataOption = None,
    as_json: JsonOption = False,
    browser: Annotated[
        bool, typer.Option(help="Start the browser; else only print the address.")
    ] = True,
    viewer: Annotated[
        bool,
        typer.Option(
            "--viewer", help="The browser that logs in sees everything and changes nothing."
        ),
    ] = False,
) -> None:
    """Open the service's page, logged in."""
    client = Client.find(data_dir(data))
    answer = client.call("POST", "/v1/session/codes", {"level": "viewer"} if viewer else None)
    url = f"{client.url}/#code={answer['code']}"
    if as_json:
        print_json({"url": url, "valid_s": answer["valid_s"]})
        return
    print(url)
    if browser:
        import webbrowser

        if not webbrowser.open(url):
            say("no browser could be started; open the address above yourself, within 10 minutes")
