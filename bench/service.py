"""Measures how much readers of the service cost a training, and how fast the service answers.

    python -m bench.service --rounds 5 --seconds 60 --json service.json

A population trains under `arena serve`. In turn there are no clients, and 32 clients that request
things that are not cached. Each client sends one request every two seconds, at its own time: curves
of a new number of points, a page of games, members, values, ratings (whose revision changes with
the games).

Reported: p50 and p99 of the time of all answers, and by path; of each round, frames per second with
and without clients and the loss between them, with the median over rounds; processor time of the
service with and without clients, and of the clients, as shares of one core (a training that uses
all cores loses as much of them); answers with another status than 200; and how often a log contains
"database is locked". Exit code 1 when p99 is over 150 ms, the median loss is 5 % or more, an answer
has another status, or a log contains that text.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np

from bench.served import NAME, Service, served
from bench.throughput import hardware

CLIENTS, EVERY_S = 32, 2.0
SETTLE_S = 10.0
LOCKED = "database is locked"
MOST_P99_MS, MOST_LOSS = 150.0, 0.05


@dataclass
class Asked:
    """The answers to all clients.

    answers_s  path -> time to the last byte of each answer
    refused    texts on answers with another status than 200
    """

    answers_s: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)


def question(rng: random.Random) -> str:
    """A path that was hardly requested before."""
    return rng.choice(
        [
            f"populations/{NAME}/metrics?points={rng.randint(10, 1900)}",
            f"populations/{NAME}/games?limit={rng.randint(1, 200)}"
            f"&kind={rng.choice(['training', 'evaluation'])}",
            f"populations/{NAME}/members",
            f"populations/{NAME}/hyperparameters",
            f"populations/{NAME}",
            f"ratings?population={NAME}",
            f"populations/{NAME}/events?limit={rng.randint(1, 400)}",
        ]
    )


async def ask(service: Service, seconds: float, seed: int) -> Asked:
    """Let all clients send requests for some seconds, each on a connection of its own."""
    asked, until = Asked(), time.monotonic() + seconds

    async def client(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        await asyncio.sleep(rng.random() * EVERY_S)
        async with asyncio.timeout(seconds + 60.0), Caller(service) as caller:
            while (began := time.monotonic()) < until:
                path = question(rng)
                status, body = await caller.get(f"/v1/{path}")
                asked.answers_s[path.partition("?")[0]].append(time.monotonic() - began)
                if status != HTTPStatus.OK:
                    asked.refused.append(f"{status} {path}: {body[:200]!r}")
                await asyncio.sleep(max(0.0, began + EVERY_S - time.monotonic()))

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return asked


class Caller:
    """A connection of a client, which sends one request after the other.

    It speaks HTTP by hand: real clients run on other machines, and a library would cost this one a
    quarter of the service's processor time.
    """

    def __init__(self, service: Service) -> None:
        self._place = urlsplit(service.state.url)
        headers = {"host": self._place.netloc, **service.headers}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(
            self._place.hostname, self._place.port
        )
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._writer.close()

    async def get(self, path: str) -> tuple[int, bytes]:
        """(status, body) of an answer"""
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._headers}\r\n".encode())
        first, *headers = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(
            int(value)
            for name, _, value in (line.partition(b":") for line in headers)
            if name == b"content-length"
        )
        return int(first.split()[1]), await self._reader.readexactly(length)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The figures of one stretch of time.

    frames_per_s   of the training
    service_cores  processor time of the service, as a share of one core
    clients_cores  processor time of the clients, as a share of one core
    """

    frames_per_s: float
    service_cores: float
    clients_cores: float


def stretch(service: Service, seconds: float, asked: Asked | None, seed: int) -> Stretch:
    """Measure for some seconds.

    asked  takes the answers to all clients; None for a time without clients
    """
    before, began = service.frames()
    clock, served_s, own_s = time.monotonic(), service.processor_s(), time.process_time()
    if asked is None:
        time.sleep(seconds)
    else:
        answered = asyncio.run(ask(service, seconds, seed))
        for path, times in answered.answers_s.items():
            asked.answers_s[path] += times
        asked.refused += answered.refused
    took = time.monotonic() - clock
    after, ended = service.frames()
    return Stretch(
        (after - before) / (ended - began),
        (service.processor_s() - served_s) / took,
        (time.process_time() - own_s) / took,
    )


def measure(service: Service, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure with and without clients in turn, in the other order every other round.

    So a slow moment of the machine or of the training hits both alike.
    """
    asked = Asked()
    on: list[Stretch] = []
    off: list[Stretch] = []
    time.sleep(SETTLE_S)
    for number in range(rounds):
        for watched in (False, True) if number % 2 == 0 else (True, False):
            (on if watched else off).append(
                stretch(service, seconds, asked if watched else None, number)
            )
        print(
            (
                f"round {number + 1}: {off[-1].frames_per_s:,.0f} frames/s alone, "
                f"{on[-1].frames_per_s:,.0f} watched"
            ),
            flush=True,
        )
    losses = [
        1 - watched.frames_per_s / alone.frames_per_s
        for watched, alone in zip(on, off, strict=True)
    ]
    every = [seconds for times in asked.answers_s.values() for seconds in times]
    answers = {
        **quantiles(every),
        "by_path": {path: quantiles(times) for path, times in sorted(asked.answers_s.items())},
    }
    taken = {
        "service_alone": statistics.median(each.service_cores for each in off),
        "service_watched": statistics.median(each.service_cores for each in on),
        "clients": statistics.median(each.clients_cores for each in on),
    }
    stretches = {"alone": [asdict(each) for each in off], "watched": [asdict(each) for each in on]}
    return {
        **answers,
        "refused": asked.refused[:20],
        **stretches,
        "losses": losses,
        "median_loss": statistics.median(losses),
        "cores": taken,
    }


def quantiles(times_s: Sequence[float]) -> dict[str, float]:
    """Number of answers, and p50 and p99 of their times."""
    p50, p99 = np.percentile(times_s, [50, 99]) * 1000
    return {"answers": len(times_s), "p50_ms": round(float(p50), 1), "p99_ms": round(float(p99), 1)}


def locked(logs: Sequence[Path]) -> int:
    """How often the logs contain LOCKED."""
    return sum(path.read_text(errors="replace").count(LOCKED) for path in logs if path.exists())


def over_the_limits(result: Mapping[str, Any]) -> list[str]:
    """Texts on everything that is worse than the limits."""
    texts = (
        [f"p99 {result['p99_ms']} ms: at most {MOST_P99_MS:g} ms"]
        if result["p99_ms"] > MOST_P99_MS
        else []
    )
    texts += (
        [f"median loss {result['median_loss']:.1%}: less than {MOST_LOSS:.0%}"]
        if result["median_loss"] >= MOST_LOSS
        else []
    )
    texts += (
        [f"{len(result['refused'])} answers were no success, the first: {result['refused'][0]}"]
        if result["refused"]
        else []
    )
    return texts + ([f"{LOCKED!r} {result['locked']} times: never"] if result["locked"] else [])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="demo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    os.environ.pop("ARENA_TOKEN", None)
    with tempfile.TemporaryDirectory() as folder:
        data, log = Path(folder) / "data", Path(folder) / "serve.log"
        with served(data, log) as service:
            service.train(options.config)
            measured = measure(service, options.rounds, options.seconds)
        measured["locked"] = locked([log, *(data / f"populations/{NAME}/logs").glob("*")])
    result = {
        "config": options.config,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "clients": CLIENTS,
        "hardware": hardware(),
        **measured,
    }
    print(
        f"{result['answers']} answers, p50 {result['p50_ms']} ms, p99 {result['p99_ms']} ms, "
        f"{len(measured['refused'])} refused; "
        f"median loss of training speed {result['median_loss']:.1%}; {LOCKED!r}: "
        f"{result['locked']}"
    )
    core_shares = {process: f"{share:.1%}" for process, share in measured["cores"].items()}
    print(
        f"  of one core: the service {core_shares['service_watched']} watched and "
        f"{core_shares['service_alone']} alone, the clients {core_shares['clients']}"
    )
    for path, figures in measured["by_path"].items():
        print(
            f"  {path}: {figures['answers']} answers, p50 {figures['p50_ms']} ms, "
            f"p99 {figures['p99_ms']} ms"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for problem in (missed := over_the_limits(result)):
        print(f"over the limit: {problem}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
