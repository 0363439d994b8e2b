"""Does watching cost? A population trains under `arena serve`; in turn, nobody asks anything, and
32 clients ask something that is not cached.

    python -m bench.service --rounds 5 --seconds 60 --json service.json

Each client sends one request every two seconds, at a moment of its own: curves of a new number of
points, a page of games, members, values, ratings (whose revision changes with the games). Reported:
p50 and p99 of all answers, and by what was asked; of each round, frames per second with and without
readers and the loss between them, with the median over rounds; what processor time the service
takes while it is watched and while it is not, and the clients, as shares of one core: a training
that has all cores loses as much of them, whatever the machine does meanwhile; answers that were no
success; how often a log says "database is locked". Exit code 1 when p99 is over 150 ms, the median
loss 5 % or more, an answer no success, or a log says so.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import numpy as np
import psutil

from arena.data.service_state import ServiceState, read_state
from bench.throughput import hardware

NAME, CLIENTS, EVERY_S = "watched", 32, 2.0
START_S, SETTLE_S = 120.0, 10.0
LOCKED = "database is locked"
MOST_P99_MS, MOST_LOSS = 150.0, 0.05


@dataclass
class Asked:
    """answers_s: by what was asked, time to each answer's last byte;  refused: those that were
    no success
    """

    answers_s: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)


class Service:
    """A running one, with a population that trains."""

    def __init__(self, state: ServiceState, data: Path) -> None:
        self.state, self.data = state, data
        self.headers = {
            "authorization": f"Bearer {(data / 'service/admin.token').read_text().strip()}"
        }

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx2.request(
            method, self.state.url + path, json=body, headers=self.headers, timeout=60
        )
        answer.raise_for_status()
        return answer.json()

    def frames(self) -> tuple[int, float]:
        """Trained so far, and when that was counted, by its status file: asking for it would be
        watching.
        """
        status = json.loads((self.data / f"populations/{NAME}/status.json").read_bytes())
        return sum(int(member["frames"]) for member in status["members"]), float(
            status["written_at"]
        )

    def processor_s(self) -> float:
        times = psutil.Process(self.state.pid).cpu_times()
        return times.user + times.system

    def train(self, config: str) -> None:
        from pbt.config.load import load_config

        table = load_config(config, ["stop_at_frames=1_000_000_000_000"]).model_dump(
            mode="json", exclude_unset=True
        )
        self.call("POST", "/v1/populations", {"name": NAME, "config": table, "start": True})
        deadline = time.monotonic() + START_S
        while self.call("GET", f"/v1/populations/{NAME}")["status"]["frames"] == 0:
            assert time.monotonic() < deadline, "it does not train; see the log of its trainer"
            time.sleep(0.5)


@contextmanager
def served(data: Path, log: Path) -> Iterator[Service]:
    with log.open("wb") as output:
        words = [sys.executable, "-P", "-m", "arena", "serve", "--port", "0", "--data", str(data)]
        process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_S
        while (state := read_state(data)) is None:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield Service(state, data)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def question(rng: random.Random) -> str:
    """Something that was hardly asked before."""
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
    """All clients, for so long, each on a connection of its own."""
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
    """A connection that asks again and again. By hand: readers have machines of their own, and a
    library for it costs this one a quarter of what the service does.
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
        """(status, body)"""
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
    """frames_per_s: of the training;  service_cores, clients_cores: processor time, in shares of
    one core
    """

    frames_per_s: float
    service_cores: float
    clients_cores: float


def stretch(service: Service, seconds: float, asked: Asked | None, seed: int) -> Stretch:
    """What was measured over so many seconds while all clients asked, or, without `asked`,
    nobody did.
    """
    before, began = service.frames()
    clock, served_s, own_s = time.monotonic(), service.processor_s(), time.process_time()
    if asked is None:
        time.sleep(seconds)
    else:
        found = asyncio.run(ask(service, seconds, seed))
        for path, times in found.answers_s.items():
            asked.answers_s[path] += times
        asked.refused += found.refused
    took = time.monotonic() - clock
    after, ended = service.frames()
    return Stretch(
        (after - before) / (ended - began),
        (service.processor_s() - served_s) / took,
        (time.process_time() - own_s) / took,
    )


def measure(service: Service, rounds: int, seconds: float) -> dict[str, Any]:
    """In turn, and in another order every other round, so that a slow moment of the machine, or
    of training, hits both alike.
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
    p50, p99 = np.percentile(times_s, [50, 99]) * 1000
    return {"answers": len(times_s), "p50_ms": round(float(p50), 1), "p99_ms": round(float(p99), 1)}


def locked(logs: Sequence[Path]) -> int:
    return sum(path.read_text(errors="replace").count(LOCKED) for path in logs if path.exists())


def over_the_limits(result: Mapping[str, Any]) -> list[str]:
    """What is worse than promised; [] when nothing is."""
    found = (
        [f"p99 {result['p99_ms']} ms: at most {MOST_P99_MS:g} ms"]
        if result["p99_ms"] > MOST_P99_MS
        else []
    )
    found += (
        [f"median loss {result['median_loss']:.1%}: less than {MOST_LOSS:.0%}"]
        if result["median_loss"] >= MOST_LOSS
        else []
    )
    found += (
        [f"{len(result['refused'])} answers were no success, the first: {result['refused'][0]}"]
        if result["refused"]
        else []
    )
    return found + ([f"{LOCKED!r} {result['locked']} times: never"] if result["locked"] else [])


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
            found = measure(service, options.rounds, options.seconds)
        found["locked"] = locked([log, *(data / f"populations/{NAME}/logs").glob("*")])
    result = {
        "config": options.config,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "clients": CLIENTS,
        "hardware": hardware(),
        **found,
    }
    print(
        f"{result['answers']} answers, p50 {result['p50_ms']} ms, p99 {result['p99_ms']} ms, "
        f"{len(found['refused'])} refused; "
        f"median loss of training speed {result['median_loss']:.1%}; {LOCKED!r}: "
        f"{result['locked']}"
    )
    taken = {who: f"{share:.1%}" for who, share in found["cores"].items()}
    print(
        f"  of one core: the service {taken['service_watched']} watched and "
        f"{taken['service_alone']} alone, the clients {taken['clients']}"
    )
    for path, found_there in found["by_path"].items():
        print(
            f"  {path}: {found_there['answers']} answers, p50 {found_there['p50_ms']} ms, "
            f"p99 {found_there['p99_ms']} ms"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for problem in (missed := over_the_limits(result)):
        print(f"over the limit: {problem}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
