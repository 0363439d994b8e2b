"""The command line as a client of the service.

It finds the service by its state file, sends its token, and turns problems into messages.
"""

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from arena.data.paths import check_population_name, data_dir
from arena.data.service_state import read_state, read_token
from pbt.errors import PbtError

TIMEOUT_S = 90.0


class ServiceUnreachableError(PbtError):
    """No service runs for this data directory, or it does not answer."""

    exit_code = 5


class RefusedError(PbtError):
    """The service refused a request. exit_code: 2 when the user's input is wrong, else 1."""

    def __init__(self, text: str, status: int) -> None:
        self.status = status
        self.exit_code = 2 if status in (404, 422) else 1
        super().__init__(text)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(self._path)


@dataclass(frozen=True)
class Client:
    """A running service.

    url     its address, without a slash at the end
    token   the token that is sent with every request, None where it cannot be read
    socket  the path of its Unix socket, None where it listens on an address
    """

    url: str
    token: str | None
    socket: str | None = None

    @classmethod
    def find(cls, data: Path) -> Self:
        """Raises: ServiceUnreachableError."""
        state = read_state(data)
        if state is None:
            raise ServiceUnreachableError(
                f"no service runs for {data}; start one with `arena serve`, or name another data "
                "directory with --data"
            )
        return cls(state.url, read_token(data), state.socket)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the JSON of the answer.

        Raises: RefusedError with the service's message, ServiceUnreachableError.
        """
        place = urlsplit(self.url)
        connection = (
            http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
            if self.socket is None
            else _UnixConnection(self.socket)
        )
        headers = {"accept": "application/json"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        text = None if body is None else json.dumps(body)
        if text is not None:
            headers["content-type"] = "application/json"
        try:
            connection.request(method, place.path + path, text, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServiceUnreachableError(
                f"the service at {self.socket or self.url} does not answer: {error}; look at its "
                "output, or start it again with `arena serve`"
            ) from error
        finally:
            connection.close()
        report = json.loads(content) if content else None
        if answer.status >= http.client.BAD_REQUEST:
            raise RefusedError(_words(report), answer.status)
        return report


def call_population(
    data: Path | None, method: str, name: str, below: str = "", body: object = None
) -> Any:
    """Send a request about one population. below: the rest of the path, such as "/members"."""
    client, path = Client.find(data_dir(data)), f"/v1/populations/{check_population_name(name)}"
    return client.call(method, f"{path}{below}", body)


def _words(problem: Any) -> str:
    """The message of a problem: what is wrong, and one line for each place where it is wrong."""
    lines = [str(entry["detail"]) for entry in problem.get("errors", ())]
    return "\n  ".join([str(problem["detail"]), *lines])
