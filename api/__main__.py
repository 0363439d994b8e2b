"""`python -P -m api SETTINGS`: runs one service, from taking the lock to the last trainer's end.

SETTINGS is JSON; `arena serve` writes it.
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
from arena.standard_streams import secure_streams
from pbt import __version__
from pbt.envs.registry import ALLOWED_VARIABLE
from pbt.errors import HeldError, PbtError

DRAIN_S = 3


def serve(settings: Settings) -> None:
    """Run the service until a signal ends it.

    Raises: HeldError while another service has the data directory, PbtError for a port in use.
    """
    log_to_stderr(settings.log_format)
    # Only the owner may read the files of this process and of the trainings that it starts; every
    # other person reads through the service, with a token.
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
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  compared, not bound
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
        # uvicorn skips the shutdown of the application when it is told to hurry.
        stack.callback(app.state.context.supervisor.close)
        code = app.state.context.tokens.new_code("admin")
        print(
            (
                f"pbt-arena {__version__} serves {settings.data}\n  {url}/#code={code}\n  (logs "
                "a browser in, once, within 10 minutes)"
            ),
            flush=True,
        )
        # uvicorn raises a signal again after it has shut down; everything is done by then.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: None)
        # The objects made so far stay for good. To search them for garbage would take a tenth of a
        # second, while a request waits for its answer.
        gc.freeze()
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises: PbtError that says what to do when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is given, so that asyncio knows accepted sockets as TCP and turns Nagle's
    # algorithm off; else small packets would wait for one another.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # A client that connects before the service is ready waits, instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        raise PbtError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another port with "
            "--port, or --port 0 for any free one"
        ) from error
    return listening


def main() -> int:
    """Read the settings, run the service and return its exit code."""
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
