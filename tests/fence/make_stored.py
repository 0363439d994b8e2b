"""Makes `stored.tar.xz`: a small data directory as the commit 383d2e1 wrote it.

The file in the repository was made once, by the program of that commit, and is not made again:
it stands for what users have on their disks. A newer one gets another name beside it. To make it::

    git worktree add /tmp/old 383d2e1
    (cd /tmp/old && python hatch_build.py)          # the compiled libraries
    cd /tmp
    PYTHONPATH=/tmp/old:/path/to/this/checkout python -m tests.fence.make_stored OUT.tar.xz

Only the command line and HTTP are used, so that the program of any commit can run it. The archive
holds:

    data/populations/kept     connect four, GRU, three members with rounds, copies, snapshots;
                              stopped before its end, with open games and half-filled slots
    data/populations/push     `simple_push` of MPE2, two roles; stopped before its end
    data/populations/doom     Doom from pixels, one seat; stopped before its end
    data/populations/served   trained by the service, with a member that joined and one that left
    data/populations/versus-* two trainings of a comparison
    data/imported/friend      a snapshot that was exported from `kept` and imported again
    data/league.db            all of these, matches 1 to 4, requests and operations of the service
    beside/                   configs, a guest program, and the exported snapshot with its card

Match 1 is between two snapshots of `kept`, match 2 has a guest, match 3 was asked of the service,
match 4 belongs to the comparison.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

KEPT = """
stop_at_frames = 6_500
env = { name = "connect_four" }
population = { members = 3 }
model = { hidden = [16], core = "gru", gru_size = 16 }
sampling = { environments = 24, rollout_steps = 8, opening_plies = 4 }
learning = { batch_steps = 192, learning_rate = 3e-3 }
matchmaking = { past_share = 0.3 }
evaluation = { share = 0.1, final_games = 4 }
snapshots = { every_frames = 2_000 }
checkpoints = { keep = 1 }
runtime = { placement = "serial", precision = "float32" }

[pbt]
period_frames = 1_500
warmup_frames = 1_500
top_share = 0.4
copy_gap = 0.0
min_games = 5
mutation_probability = 0.5
"""
PUSH = """
stop_at_frames = 8_000
env = { name = "mpe", options = { scenario = "simple_push" } }
population = { members = { adversary = 1, agent = 1 } }
model = { hidden = [8] }
sampling = { environments = 4, rollout_steps = 8 }
learning = { batch_steps = 128 }
evaluation = { share = 0.1, final_games = 2 }
snapshots = { every_frames = 1_000 }
checkpoints = { keep = 1 }
pbt = { enabled = false }
runtime = { placement = "serial", precision = "float32" }
"""
DOOM = """
stop_at_frames = 6_000
population = { members = 1 }
model = { conv = [{ channels = 4, kernel = 8, stride = 4 }], hidden = [8] }
sampling = { environments = 2, rollout_steps = 4 }
learning = { batch_steps = 32 }
evaluation = { share = 0.1, final_games = 2, record_share = 1.0, record_films = 1 }
snapshots = { every_frames = 1_000 }
checkpoints = { keep = 1 }
pbt = { enabled = false }
runtime = { placement = "serial", precision = "float32" }

[env]
name = "doom"
options = { scenario = "basic", width = 32, height = 24, max_tics = 60, points = "KILLCOUNT" }
"""
SMALL = """
stop_at_frames = 600
env = { name = "connect_four" }
population = { members = 1 }
model = { hidden = [8] }
sampling = { environments = 8, rollout_steps = 8 }
learning = { batch_steps = 128 }
evaluation = { final_games = 2 }
snapshots = { every_frames = 300 }
checkpoints = { keep = 1 }
pbt = { enabled = false }
runtime = { placement = "serial", precision = "float32" }
"""
GUEST = '''#!/usr/bin/env python3
"""Plays the first legal action."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"protocol": 1}), flush=True)
    elif message["type"] == "act":
        print(json.dumps({"action": message["legal"][0]}), flush=True)
'''
CONFIGS = {"kept": KEPT, "push": PUSH, "doom": DOOM, "served": SMALL, "versus": SMALL}
LEFT_OUT = ("service", "lock", "matches.lock", "tensorboard")
DEADLINE_S = 300.0


class Maker:
    """folder: where `data` and `beside` are made, and in which every command runs."""

    def __init__(self, folder: Path, configs: Mapping[str, str]) -> None:
        self.folder, self.data = folder, folder / "data"
        (folder / "beside").mkdir()
        for name, text in configs.items():
            (folder / "beside" / f"{name}.toml").write_text(text.lstrip("\n"))
        guest = folder / "beside" / "bot.py"
        guest.write_text(GUEST)
        guest.chmod(0o755)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "arena", *words, "--data", "data"]

    def arena(self, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        done = subprocess.run(self.command(*words), cwd=self.folder)
        assert done.returncode in codes, (words, done.returncode)

    def train_until(self, name: str, frames: int) -> None:
        """Start a training and stop it once every member has so many frames."""
        words = self.command("train", f"beside/{name}.toml", "--name", name)
        trainer = subprocess.Popen(words, cwd=self.folder)
        status = self.data / "populations" / name / "status.json"

        def far_enough() -> bool:
            assert trainer.poll() is None, f"{name} ended by itself"
            if not status.exists():
                return False
            members = json.loads(status.read_text())["members"]
            return all(member["frames"] >= frames for member in members)

        wait(far_enough)
        self.arena("stop", name)
        assert trainer.wait() == 0

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask the running service."""
        service = json.loads((self.data / "service" / "service.json").read_text())
        token = (self.data / "service" / "admin.token").read_text().strip()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        content = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(service["url"] + path, content, sent, method=method)
        with urllib.request.urlopen(asked) as answer:
            return json.load(answer)

    def wait_finished(self, name: str) -> None:
        """Until a training of the service is at its end."""
        path = f"/v1/populations/{name}"
        wait(lambda: self.call("GET", path)["status"]["state"] == "finished")


def wait(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def make(folder: Path) -> None:
    """Everything, in the order of the module's text."""
    maker = Maker(folder, CONFIGS)
    maker.train_until("kept", 4_600)
    maker.train_until("push", 2_000)
    maker.train_until("doom", 2_000)
    maker.arena("match", "kept/m0@2_500", "kept/m1", "--games", "6", "--seed", "5")
    maker.arena("match", "kept/m1", "exec:./beside/bot.py", "--games", "2")
    maker.arena("anchor", "kept/m0@2_500")
    maker.arena("export", "kept/m2", "--out", "beside/friend.safetensors")
    maker.arena("import", "beside/friend.safetensors", "--name", "friend")
    serve(maker)
    words = ("--set-b", "learning.gamma=0.9", "--frames", "300", "--seeds", "1", "--games", "4")
    maker.arena("compare", "beside/versus.toml", "beside/versus.toml", *words, codes=(0, 5, 6))


def serve(maker: Maker) -> None:
    """Have the service train, and play a match."""
    words = ("serve", "--port", "0", "--soft-disk-gb", "0", "--hard-disk-gb", "0")
    service = subprocess.Popen(maker.command(*words), cwd=maker.folder)
    wait((maker.data / "service" / "service.json").exists)
    try:
        maker.arena("population", "create", "beside/served.toml", "--name", "served", "--start")
        maker.wait_finished("served")
        for change, frames in (("join served --weights m0", 1_200), ("leave served m0", 1_500)):
            maker.arena("population", *change.split())
            maker.arena("population", "set", "served", f"stop_at_frames={frames}")
            maker.arena("population", "start", "served")
            maker.wait_finished("served")
        asked = {"players": ["kept/m0", "random"], "games": 2}
        made = maker.call("POST", "/v1/evaluations", asked, **{"Idempotency-Key": "stored"})
        wait(lambda: maker.call("GET", f"/v1/evaluations/{made['id']}")["state"] == "SUCCEEDED")
    finally:
        service.terminate()
        service.wait()


def pack(folder: Path, out: Path) -> None:
    """Without locks, tokens, and event files that repeat the curves; owners and times go, too."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if any(part in LEFT_OUT for part in Path(entry.name).parts):
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(out, "w:xz", preset=9) as archive:
        for part in ("beside", "data"):
            archive.add(folder / part, part, filter=plain)


def main() -> None:
    out = Path(sys.argv[1]).absolute()
    os.environ["OMP_NUM_THREADS"] = "1"
    folder = Path(tempfile.mkdtemp(prefix="stored-"))
    make(folder)
    pack(folder, out)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
