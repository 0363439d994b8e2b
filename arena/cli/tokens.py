"""`arena token`: makes, lists and revokes the tokens of a service.

It works on the files of the data directory, whether a service runs or not; a running service
notices with the next request. Needs no torch.
"""

import re
import time
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from arena.cli.output import DataOption, JsonOption, print_json, print_table, say
from arena.cli.service_client import ServiceUnreachableError
from arena.data.paths import data_dir
from arena.data.service_state import read_state, service_folder
from arena.data.service_tokens import (
    FILE_TOKENS,
    TokenLevel,
    create_token,
    file_token,
    named_tokens,
    revoke_token,
    token_file,
)
from pbt.errors import ConfigError

app = typer.Typer(
    help="Tokens of the service: create, list, revoke; links that only read.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


TokenNameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The token's name, as the service's log shows it.")
]
UNITS_S = {"m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_COLUMNS = ("name", "level", "state", "created", "expires")


@app.command(epilog="Example: arena token create ci --level admin --expires 30d")
def create(
    name: TokenNameArgument,
    level: Annotated[
        TokenLevel, typer.Option(help="viewer reads everything, admin does everything.")
    ] = "viewer",
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long it works: 90m, 12h, 30d or 4w. Default: until it is revoked.",
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it, this once: only a hash of it is kept."""
    expires_at = None if expires is None else expiry(expires, time.time())
    token = create_token(service_folder(data_dir(data)), name, level, expires_at)
    if as_json:
        told = {"name": name, "level": level, "expires_at": expires_at}
        print_json({**told, "token": token})
        return
    print(token)
    say(
        f"{_words(name, level, expires_at)}; it is shown this once. Send it as "
        "`Authorization: Bearer TOKEN`, or paste it on the dashboard's login page"
    )


@app.command(epilog="Example: arena token link guests --expires 3d --url https://arena.example")
def link(
    name: TokenNameArgument,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="How long it works: 90m, 12h, 30d or 4w.")
    ] = "7d",
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                "The address, as its readers type it, of the service or of one of its views. "
                "Default: the service's address on this machine."
            ),
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a link that opens the dashboard to read, in any browser, until it expires.

    The link carries a viewer's token of this name behind `#`, which browsers send to no server.
    """
    directory = data_dir(data)
    expires_at = expiry(expires, time.time())
    address = _address(_url_of_service(directory) if url is None else url)
    token = create_token(service_folder(directory), name, "viewer", expires_at)
    made = f"{address}#token={token}"
    if as_json:
        print_json({"name": name, "level": "viewer", "expires_at": expires_at, "url": made})
        return
    print(made)
    here = "" if url is not None else "; with --url it gets the address that others use"
    say(f"{_words(name, 'viewer', expires_at)}; the link is shown this once{here}")


def _url_of_service(directory: Path) -> str:
    """The address of the service on this machine. Raises: ServiceUnreachableError."""
    state = read_state(directory)
    if state is None or state.socket is not None:
        why = "no service runs" if state is None else "the service listens on a Unix socket"
        raise ServiceUnreachableError(
            f"{why} for {directory}, so how browsers reach it is not known; start one with `arena "
            "serve`, or name the address with --url"
        )
    return state.url


@app.command("list", epilog="Example: arena token list")
def list_(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the tokens, without their secrets."""
    folder, now = service_folder(data_dir(data)), time.time()
    files = [name for name in FILE_TOKENS if token_file(folder, name).exists()]
    tokens = [*(file_token(folder, name) for name in files), *named_tokens(folder)]
    if as_json:
        keys = ("name", "level", "created_at", "expires_at")
        rows = [{key: getattr(token, key) for key in keys} for token in tokens]
        states = [{"expired": token.expired(now)} for token in tokens]
        print_json({"tokens": [{**row, **state} for row, state in zip(rows, states, strict=True)]})
        return
    if not tokens:
        print("no token; `arena serve` makes its own at the first start")
        return
    print_table(
        _COLUMNS,
        [
            (
                token.name,
                token.level,
                "expired" if token.expired(now) else "valid",
                _when(token.created_at),
                "never" if token.expires_at is None else _when(token.expires_at),
            )
            for token in tokens
        ],
    )


@app.command(epilog="Example: arena token revoke ci")
def revoke(name: TokenNameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Make a token worthless at once, with its sessions and its open event streams.

    `admin` and `viewer` get a new secret in their files, which commands of this machine read.
    """
    path = revoke_token(service_folder(data_dir(data)), name)
    if as_json:
        print_json({"name": name, "file": None if path is None else str(path)})
        return
    new = "" if path is None else f"; {path} holds a new one"
    say(f"token {name!r} is revoked, and its sessions have ended{new}")


def expiry(text: str, now: float) -> float:
    """When a token expires, in seconds since 1970. text: a number and a unit, such as 30d.

    Raises: ConfigError.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,3})([mhdw])", text)
    if found is None:
        raise ConfigError(
            "--expires",
            [f'"{text}": expected a whole number from 1 to 9999 and m, h, d or w, such as 30d'],
        )
    return now + int(found[1]) * UNITS_S[found[2]]


def _address(url: str) -> str:
    """The address of a page, ready for a fragment. Raises: ConfigError for what is no address."""
    text = url.rstrip("/")
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or parts.username is not None or not re.fullmatch(r"[!-~]+", text) or "#" in text:
        raise ConfigError("--url", [f'"{url}": expected an address such as https://arena.example'])
    return text if parts.path else f"{text}/"


def _words(name: str, level: str, expires_at: float | None) -> str:
    end = "until it is revoked" if expires_at is None else f"until {_when(expires_at)}"
    return f"token {name!r}: {level}, {end}"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
