"""Many clients ask for everything at once: never two trainers of one population, and in the end
what was asked for last.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import psutil
import pytest

from arena.data.lock import holder
from tests.api.live import live
from tests.api.service import HERE

CLIENTS, WORDS = 16, ("start", "stop", "pause", "resume")
REQUESTS = int(os.environ.get("ARENA_REQUESTS", "40"))
"""Of each client."""
AT_REST = {"running": "running", "paused": "paused", "stopped": "stopped"}
ALLOWED = {200, 201, 202, 404, 409}


def trainers(data: Path, name: str) -> int:
    """Processes that train it now; one that has just ended counts for nothing."""
    found = 0
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        found += (
            str(data) in words and name in words and process.info["status"] != psutil.STATUS_ZOMBIE
        )
    return found


def doubled(data: Path) -> list[str]:
    """Of all trainers that ever were (doubles, which note it): those that came while another one
    of their population was there.
    """
    path = data / "trainers"
    return (
        [
            line
            for line in path.read_text().splitlines()
            if json.loads(line)[2] not in ("came", "went")
        ]
        if path.exists()
        else []
    )


def bother(
    url: str, token: str, seed: int, requests: int, names: list[str], deletes: bool, seen: list[int]
) -> None:
    """One client: random requests at random moments."""
    rng = random.Random(seed)
    with httpx2.Client(
        base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        for _ in range(requests):
            path = f"/v1/populations/{rng.choice(names)}"
            if deletes and rng.random() < 0.1:
                seen.append(client.delete(path).status_code)
            else:
                seen.append(client.post(f"{path}/{rng.choice(WORDS)}").status_code)
            time.sleep(rng.random() * 0.1)


@pytest.mark.slow
def test_two_trainers_at_the_same_time_are_noticed(tmp_path: Path) -> None:
    """However short the second one is there."""
    with live(tmp_path) as (_, service):
        service.create("one", start=True)
        service.wait_state("one", "running")
        assert doubled(tmp_path) == []
        words = [
            sys.executable,
            str(HERE / "trainer_double.py"),
            "train",
            "--resume",
            "one",
            "--data",
            str(tmp_path),
        ]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as second:
            assert second.wait(60) == 1
        assert [json.loads(line)[2].partition(" ")[0] for line in doubled(tmp_path)] == [
            "beside",
            "refused",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("deletes", [False, True])
@pytest.mark.timeout(240 + REQUESTS)
def test_clients_at_war(tmp_path: Path, deletes: bool) -> None:
    names = ["one", "two"]
    with live(tmp_path) as (url, service):
        for name in names:
            service.create(name)
        seen: list[int] = []
        given = [
            (url, service.token("admin"), seed, REQUESTS, names, deletes, seen)
            for seed in range(CLIENTS)
        ]
        clients = [threading.Thread(target=bother, args=each) for each in given]
        for client in clients:
            client.start()
        most = 0
        while any(client.is_alive() for client in clients):
            most = max(most, *(trainers(tmp_path, name) for name in names))
        for client in clients:
            client.join()
        assert most <= 1 and doubled(tmp_path) == []
        assert set(seen) <= ALLOWED
        assert len(seen) == CLIENTS * REQUESTS
        listed = {item["id"]: item for item in service.call("GET", "/v1/populations")["items"]}
        for name, item in listed.items():
            wanted = item["spec"]["desired"]
            if wanted == "deleted":
                service.wait_gone(name)
                continue
            service.wait_state(name, AT_REST[wanted], "created")
            assert (holder(tmp_path / "populations" / name / "lock") is not None) == (
                wanted == "running"
            )
            service.done(service.call("POST", f"/v1/populations/{name}/stop"))
        assert [trainers(tmp_path, name) for name in names] == [0, 0]
        for number in range(1, len(seen) * 2):
            answer = service.client.get(
                f"/v1/operations/{number}",
                headers={"authorization": f"Bearer {service.token('viewer')}"},
            )
            if answer.status_code == 404:
                break
            assert answer.json()["state"] in ("SUCCEEDED", "STOPPED"), answer.text
        assert number > 1
