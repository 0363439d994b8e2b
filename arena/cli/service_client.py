"""The command line as a client of the service: it finds it by its state file, shows its token,
and turns problems into messages.
"""

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from arena.data.service_state import read_state, read_token
from pbt.errors import PbtError

TIMEOUT_S = 90.0


class ServiceUnreachableError(PbtError):
    """Nobody serves this data directory."""

    exit_code = 5


class RefusedError(PbtError):
    """The service refused what was asked for. exit_code: 2 for what was typed, else 1."""

    def __init__(self, text: str, status: int) -> None:
        self.status = status
        self.exit_code = 2 if status in (404, 422) else 1
        super().__init__(text)


@dataclass(frozen=True)
class Client:
    """url: without a slash at the end"""

    url: str
    token: str | None

    @classmethod
    def find(cls, data: Path) -> Self:
        """Raises: ServiceUnreachableError."""
        state = read_state(data)
        if state is None:
            raise ServiceUnreachableError(
                f"no service has {data}; start one with `arena serve`, or name another data "
                "directory with --data"
            )
        return cls(state.url, read_token(data))

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer's JSON. Raises: RefusedError with the service's words,
        ServiceUnreachableError.
        """
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
        headers = {"accept": "application/json"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        text = None if body is None else json.dumps(body)
        if text is not None:
            headers["content-type"] = "application/json"
        try:
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServiceUnreachableError(
                f"{self.url} does not answer: {error}; look at it, or start it again with "
                "`arena serve`"
            ) from error
        finally:
            connection.close()
        found = json.loads(said) if said else None
        if answer.status >= http.client.BAD_REQUEST:
            raise RefusedError(_words(found), answer.status)
        return found


def _words(problem: Any) -> str:
    """A problem for people: what is wrong, one line for each place."""
    lines = [str(entry["detail"]) for entry in problem.get("errors", ())]
    return "\n  ".join([str(problem["detail"]), *lines])
