"""What tests of games by hand ask of a service."""

from pathlib import Path
from typing import Any

from tests.api.service import Service


def sit(service: Service, opponent: str = "quick", **more: Any) -> Any:
    """A play, once the person is to move or it has come to nothing."""
    made = service.call(
        "POST",
        "/v1/plays",
        {"opponent": opponent, "name": "Ada", "env": "connect_four", **more},
        status=201,
    )
    return other_than(service, made, "starting")


def other_than(service: Service, play: Any, state: str) -> Any:
    """The play, once it is in another state."""
    return service.wait(
        lambda: found if (found := seen(service, play["id"]))["state"] != state else None
    )


def seen(service: Service, name: str) -> Any:
    return service.call("GET", f"/v1/plays/{name}")


def move(service: Service, play: Any, action: int, status: int = 200, at: int | None = None) -> Any:
    said = {"action": action, "at": len(play["moves"]) if at is None else at}
    return service.call("POST", f"/v1/plays/{play['id']}/moves", said, status=status)


def end(service: Service, play: Any) -> Any:
    return service.call("DELETE", f"/v1/plays/{play['id']}")


def pid_of(service: Service, play: Any) -> int:
    found: int = service.app.state.context.plays.find(play["id"]).pid
    return found


def gone(pid: int) -> bool:
    """Or waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (
        FileNotFoundError,
        ProcessLookupError,
    ):  # the latter when it goes between opening and reading
        return True
