"""The settings of one service. Contradictions are found before anything is opened."""

import ipaddress
import sys
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.http.root_path import root_path_problem

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8642
_PYTHON = (sys.executable, "-P", "-m")

Positive = Annotated[float, Field(gt=0.0)]


class Settings(BaseModel):
    """How a service is set up.

    data             the data directory
    host             the address to listen on
    port             the port to listen on; 0 takes any free one
    unix_socket      the path of a Unix socket to listen on instead; None: an address and a port
    root_path        the path below which a proxy shows the service; "": the whole site is its own
    allowed_hosts    names by which others may call it, besides the loopback names and `host`
    tokens_set       the token files exist; needed to listen to other machines
    allowed_games    patterns of ids of Gymnasium and PettingZoo that may be trained and played
    read_only        nothing is written to the data directory, and every change is refused
    max_running      populations and comparisons that train at the same time; others wait
    max_evaluations  matches and other requested work that run at the same time; others wait
    max_plays        games that people play by hand at the same time
    play_idle_s      how long such a game waits for the person's next move
    max_streams      event streams that are open at the same time
    max_streams_each  those of one caller: a token or a session, from one address
    max_body_bytes   the longest body of a request
    max_import_bytes  the longest body of a request that uploads a snapshot
    webhook_hosts    hosts that webhooks may be sent to; an address that is not public must be
                     named itself
    webhook_timeout_s  how long one attempt may take
    webhook_tries    attempts to send a notice
    webhook_backoff_s  the wait before the second attempt; it is five times as long each time
    webhook_look_s   seconds between two looks for what webhooks tell
    webhook_best_s   seconds between two looks for a new best snapshot
    webhook_stalled_s  a training without progress for so long is told to be stalled
    log_format       "console" or "json"
    soft_disk_bytes  with less free space than this nothing new is started
    hard_disk_bytes  with less free space than this trainings save and stop, and changes are refused
    look_every_s     seconds between two looks of the supervisor
    stop_grace_s     how long a trainer may take to save before it is killed
    backoff_s        the wait before a trainer that ended by itself is first started again
    max_backoff_s    the longest such wait
    max_restarts     how often a trainer may end by itself without a new checkpoint in between;
                     after one end more the training has failed
    trainer          the program that trains a population, without its arguments
    checker          the program that checks a config against its game
    request_checker  the program that checks whether requested work can be done
    importer         the program that checks an uploaded snapshot and imports it
    player           the program that plays a match
    worker           the program that does other work that was requested
    sitting          the program that plays one game against a person
    replayer         the program that plays a stored game again
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path
    host: str = DEFAULT_HOST
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    unix_socket: Path | None = None
    root_path: str = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_games: tuple[Annotated[str, Field(pattern=r"^[^\s]+$")], ...] = ()
    tokens_set: bool = False
    read_only: bool = False
    max_running: Annotated[int, Field(ge=1)] = 2
    max_evaluations: Annotated[int, Field(ge=1)] = 1
    max_plays: Annotated[int, Field(ge=1)] = 4
    play_idle_s: Positive = 1800.0
    max_streams: Annotated[int, Field(ge=1)] = 60
    max_streams_each: Annotated[int, Field(ge=1)] = 12
    max_body_bytes: Annotated[int, Field(ge=1024)] = 1 << 20
    max_import_bytes: Annotated[int, Field(ge=1024)] = 2 * 10**9
    webhook_hosts: tuple[Annotated[str, Field(pattern=r"^[^\s/@]+$")], ...] = ()
    webhook_timeout_s: Positive = 5.0
    webhook_tries: Annotated[int, Field(ge=1)] = 4
    webhook_backoff_s: Positive = 2.0
    webhook_look_s: Positive = 1.0
    webhook_best_s: Positive = 60.0
    webhook_stalled_s: Positive = 300.0
    log_format: str = Field("console", pattern="^(console|json)$")
    soft_disk_bytes: Annotated[int, Field(ge=0)] = 5 * 10**9
    hard_disk_bytes: Annotated[int, Field(ge=0)] = 2 * 10**9
    look_every_s: Positive = 0.25
    stop_grace_s: Positive = 60.0
    backoff_s: Positive = 1.0
    max_backoff_s: Positive = 60.0
    max_restarts: Annotated[int, Field(ge=0)] = 5
    trainer: tuple[str, ...] = (*_PYTHON, "arena.programs.cli")
    checker: tuple[str, ...] = (*_PYTHON, "arena.programs.config_check")
    request_checker: tuple[str, ...] = (*_PYTHON, "arena.programs.request_check")
    importer: tuple[str, ...] = (*_PYTHON, "arena.programs.import_check")
    player: tuple[str, ...] = (*_PYTHON, "arena.programs.match")
    worker: tuple[str, ...] = (*_PYTHON, "arena.programs.job")
    sitting: tuple[str, ...] = (*_PYTHON, "arena.programs.play")
    replayer: tuple[str, ...] = (*_PYTHON, "arena.programs.replay")

    @model_validator(mode="after")
    def _public_needs_more(self) -> Self:
        problems = public_problems(self.host, self.allowed_hosts, self.tokens_set)
        if (problem := root_path_problem(self.root_path)) is not None:
            problems.append(problem)
        if self.unix_socket is not None and (self.host, self.port) != (DEFAULT_HOST, DEFAULT_PORT):
            problems.append(
                f"--unix-socket {self.unix_socket}: it takes the place of --host and --port; leave "
                "those out, or this"
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def folder(self) -> Path:
        """The folder of the service's own files."""
        return self.data / "service"

    @property
    def hosts(self) -> frozenset[str]:
        """The names that the Host header of a request may have, in lower case, without port."""
        own = () if self.host in ("0.0.0.0", "::") else (self.host,)  # noqa: S104  compared only
        return frozenset(plain_host(name) for name in (*LOOPBACK_NAMES, *own, *self.allowed_hosts))


def plain_host(name: str) -> str:
    """A name of a host in lower case, an address of IPv6 without brackets and in its short form."""
    bare = name.strip("[]").lower()
    try:
        return ipaddress.IPv6Address(bare).compressed
    except ValueError:
        return bare


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def public_problems(host: str, allowed_hosts: tuple[str, ...], tokens_set: bool) -> list[str]:
    """Why a service must not listen on this address; [] when it may."""
    if is_loopback(host):
        return []
    problems = []
    if not tokens_set:
        problems.append(
            f"--host {host} is open to other machines: make tokens first with `arena serve "
            "--make-tokens`"
        )
    if not allowed_hosts:
        problems.append(
            f"--host {host} is open to other machines: name how they call it with "
            "--allowed-host NAME"
        )
    return problems
