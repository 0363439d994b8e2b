"""One service, from taking the lock to the last trainer's end: what `api.__main__` runs."""

import gc
import json
import os
import socket
import sys
import time
from contextlib import ExitStack, suppress
from typing import NoReturn

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from api.app import create_app
from api.http.listening import in_url, listening_on
from api.http.observability import log_to_stderr
from api.http.protocol import Protocol
from api.http.server import Server, ignore_signals
from api.http.settings import Settings
from arena.data.lock import PopulationLock, holder
from arena.data.service_state import (
    ServiceState,
    remove_state,
    service_lock,
    serving_identity,
    write_state,
)
from arena.standard_streams import secure_streams
from pbt import __version__
from pbt.envs.names import ALLOWED_VARIABLE
from pbt.errors import HeldError, PbtError, of_the_machine, refused_place

LOOPBACK = "127.0.0.1,::1,::ffff:127.0.0.1"
"""Addresses of this machine, whose X-Forwarded-Proto and X-Forwarded-For are taken."""
CANCEL_S = 3
"""Seconds until an answer that does not notice the end of its connection is cancelled."""


def serve(settings: Settings) -> None:
    """Run the service until a signal ends it.

    Raises: HeldError while another service has the data directory, PbtError for a port in use.
    """
    log_to_stderr(settings.log_format)
    # Only the owner may read the files of this process and of the trainings that it starts; every
    # other person reads through the service, with a token.
    os.umask(0o077)
    with ExitStack() as stack:
        if not settings.read_only:
            _hold(stack, settings)
        listening = stack.enter_context(listening_on(settings))
        app = create_app(settings)
        url = url_of(settings, listening)
        server = Server(uvicorn_config(app, settings), app.state.context.closing)
        if not settings.read_only:
            _tell(stack, app, settings, url)
        # uvicorn skips the shutdown of the application when it is told to hurry.
        stack.callback(app.state.context.supervisor.close)
        told = _login(app, url) if settings.unix_socket is None else _login_by_proxy(app, settings)
        print(f"pbt-arena {__version__} serves {settings.data}\n  {told}", flush=True)
        ignore_signals()
        # The objects made so far stay for good. To search them for garbage would take a tenth of a
        # second, while a request waits for its answer.
        gc.freeze()
        server.run(sockets=[listening])


def uvicorn_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves the application. `$FORWARDED_ALLOW_IPS` names other proxies to trust."""
    # Only those who may open a Unix socket call through it, and they have no address.
    near = LOOPBACK if settings.unix_socket is None else "*"
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CANCEL_S,
        forwarded_allow_ips=os.environ.get("FORWARDED_ALLOW_IPS", near),
    )


def _hold(stack: ExitStack, settings: Settings) -> None:
    """Be the one service of the data directory. Raises: HeldError while another one is."""
    lock = service_lock(settings.data)
    try:
        stack.enter_context(PopulationLock(lock, "service"))
    except HeldError:
        raise HeldError(
            f"{settings.data} is served by process {holder(lock)} already; open it with "
            "`arena open`"
        ) from None


def _tell(stack: ExitStack, app: FastAPI, settings: Settings, url: str) -> None:
    """Let commands find the service, and say whether another one serves a copy."""
    identity = app.state.context.league.identity
    if copy := stack.enter_context(serving_identity(identity, settings.data)):
        print(f"warning: {copy}", file=sys.stderr, flush=True)
    unix = None if settings.unix_socket is None else str(settings.unix_socket.absolute())
    write_state(settings.data, ServiceState(os.getpid(), url, time.time(), __version__, unix))
    stack.callback(remove_state, settings.data)


def _login(app: FastAPI, url: str) -> str:
    """How a browser logs in. A code is shown on a terminal only: what else is printed is kept."""
    if not sys.stdout.isatty():
        return f"{url}\n  (`arena open` logs a browser in)"
    tokens = app.state.context.tokens
    code = tokens.new_code(tokens.named("admin"), "admin")
    return f"{url}/#code={code}\n  (logs a browser in, once, within 10 minutes)"


def _login_by_proxy(app: FastAPI, settings: Settings) -> str:
    """Where a service on a Unix socket is, and how a browser logs in through its proxy."""
    where = f"unix:{settings.unix_socket}"
    if not sys.stdout.isatty():
        return f"{where}\n  (`arena open` makes a code that logs a browser in)"
    code = f"{settings.root_path}/#code={app.state.context.tokens.new_code('admin')}"
    return f"{where}\n  ({code} behind the proxy's address logs a browser in, once, in 10 minutes)"


def url_of(settings: Settings, listening: socket.socket) -> str:
    """The address of the service, as this machine reaches it."""
    if settings.unix_socket is not None:
        return f"http://localhost{settings.root_path}"
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  compared, not bound
    host = everywhere.get(settings.host, settings.host)
    return f"http://{in_url(host)}:{listening.getsockname()[1]}{settings.root_path}"


def run() -> int:
    """Read the settings that the command line holds, run the service and return its exit code."""
    secure_streams()
    try:
        settings = Settings.model_validate(json.loads(sys.argv[1]))
        # The programs that the service starts make the games, and read this.
        os.environ[ALLOWED_VARIABLE] = " ".join(settings.allowed_games)
        serve(settings)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            print(
                (
                    f"error: {'.'.join(map(str, detail['loc']))} "
                    f"{detail['msg'].removeprefix('Value error, ')}"
                ).replace("error:  ", "error: "),
                file=sys.stderr,
            )
        return 2
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        if not of_the_machine(error):
            raise
        print(f"error: {refused_place(error)}", file=sys.stderr)
        return 1
    return 0


def end(status: int) -> NoReturn:
    """End this process at once: everything is closed.

    Python would first take all modules apart, which lasts a second on a busy machine.
    """
    with suppress(OSError):  # the program that read the output may be gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
