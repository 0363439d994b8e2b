"""`python -P -m api SETTINGS`: one service, from the lock to the last trainer's end. SETTINGS is
JSON; `arena serve` writes it.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from contextlib import ExitStack

import uvicorn
from pydantic import ValidationError

from api.app import create_app
from api.http.observability import log_to_stderr
from api.http.protocol import Protocol
from api.http.settings import Settings
from arena.data.lock import PopulationLock, holder
from arena.data.service_state import ServiceState, remove_state, service_lock, write_state
from pbt import __version__
from pbt.errors import HeldError, PbtError

DRAIN_S = 3


def serve(settings: Settings) -> None:
    """Until a signal ends it. Raises: HeldError while another service has the data directory,
    PbtError when the port is taken.
    """
    log_to_stderr(settings.log_format)
    # What is made here and by the trainings started here is its owner's: whoever else may look has
    # a token.
    os.umask(0o077)
    with ExitStack() as stack:
        lock = service_lock(settings.data)
        try:
            stack.enter_context(PopulationLock(lock, "service"))
        except HeldError:
            raise HeldError(
                f"{settings.data} is served by process {holder(lock)} already; open it with "
                "`arena open`"
            ) from None
        listening = stack.enter_context(listen(settings.host, settings.port))
        app = create_app(settings)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        port = listening.getsockname()[1]
        # compared
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104
        url = f"http://{everywhere.get(settings.host, host)}:{port}"
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_S,
        )
        server = uvicorn.Server(config)
        write_state(settings.data, ServiceState(os.getpid(), url, time.time(), __version__))
        stack.callback(remove_state, settings.data)
        # uvicorn leaves it out when it is told to hurry.
        stack.callback(app.state.context.supervisor.close)
        code = app.state.context.tokens.new_code("admin")
        print(
            (
                f"pbt-arena {__version__} serves {settings.data}\n  {url}/#code={code}\n  (logs "
                "a browser in, once, within 10 minutes)"
            ),
            flush=True,
        )
        # uvicorn raises a signal again once it has shut down; what is to be done about it is done
        # by then.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: None)
        # What is there by now stays: looking through all of it for garbage would take a tenth of a
        # second, in the middle of somebody's answer.
        gc.freeze()
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Raises: PbtError that says what to do about a port that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: what is accepted is else not known as such, and asyncio leaves small packets
    # waiting for one another.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # Who calls before everything is opened waits, instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        raise PbtError(
            f"{host}:{port} cannot be listened on: {error.strerror}; choose another with "
            "--port, or --port 0 for any free one"
        ) from error
    return listening


def main() -> int:
    try:
        serve(Settings.model_validate(json.loads(sys.argv[1])))
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
