"""A double for a trainer: it has no engine, but keeps the contract of the real one.

The contract: lock, status file, numbered checkpoints, leash, signals, exit codes.

`double.json` in the population's folder says what it does: {"exit": CODE, "after_s": S,
"say": TEXT, "finish_s": S, "deaf": true, "start_s": S, "deaf_to_edits": true, "wiring": TEXT}. Each
start appends its arguments to `starts`. In `trainers` of the data directory each trainer notes that
it came and went, which others it found there, and whether it was refused.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from api.reconcile.trainer_process import at_work, identity
from arena.data.edits import read_edits
from arena.data.lock import PopulationLock
from arena.data.paths import population_paths
from arena.data.status import MemberRow, RowCounts, RunStatus, write_status
from arena.programs.leash import stop_at_end
from pbt.config.load import config_from_table
from pbt.errors import HeldError

CHECKPOINT_EVERY_S = 0.2


class Double:
    """One start of one population."""

    def __init__(self, name: str, data: Path) -> None:
        self.name, self.paths = name, population_paths(data, name)
        path = self.paths.root / "double.json"
        self.plan = json.loads(path.read_text()) if path.exists() else {}
        self.asked = False
        self.began = time.monotonic()
        left = read_edits(self.paths.edits)
        self.edits = left.number if left else 0
        with (self.paths.root / "starts").open("a") as file:
            file.write(" ".join(sys.argv[1:]) + "\n")
        signal.signal(signal.SIGTERM, self._stop)

    def put_in_force(self, words: Sequence[str]) -> None:
        """Like the real one: an edit is part of its config before it reports that it was taken."""
        if words and self.paths.config.exists():
            edited = config_from_table(json.loads(self.paths.config.read_bytes()), "double", words)
            aside = self.paths.config.with_suffix(".part")
            aside.write_text(edited.model_dump_json())
            aside.replace(self.paths.config)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.asked = not self.plan.get("deaf", False)

    def say(self, ended: str) -> None:
        rows = RowCounts(0, 0, 0, {})
        members = (MemberRow("m0", int(1000 * (time.monotonic() - self.began)), None, "learning"),)
        write_status(
            self.paths.status,
            RunStatus(
                self.name,
                os.getpid(),
                "serial",
                time.time(),
                time.time(),
                ended,
                (),
                members,
                rows,
                self.edits,
                wiring=self.plan.get("wiring"),
            ),
        )

    def checkpoint(self) -> None:
        self.paths.checkpoints.mkdir(exist_ok=True)
        numbers = [int(path.name) for path in self.paths.checkpoints.iterdir()]
        (self.paths.checkpoints / f"{max(numbers, default=0) + 1:08d}").mkdir()

    def run(self) -> int:
        time.sleep(self.plan.get("start_s", 0.0))
        self.put_in_force(
            [
                word
                for key, word in zip(sys.argv[2::2], sys.argv[3::2], strict=False)
                if key == "--set"
            ]
        )
        saved = time.monotonic()
        while not self.asked:
            now = time.monotonic()
            left = None if self.plan.get("deaf_to_edits") else read_edits(self.paths.edits)
            if left is not None and left.number > self.edits:
                self.put_in_force(left.words)
                self.edits = left.number
                with (self.paths.root / "taken").open("a") as file:
                    file.write(" ".join(left.words) + "\n")
            if "exit" not in self.plan or "after_s" in self.plan:
                self.say("")
            if now - saved > CHECKPOINT_EVERY_S and not self.plan.get("exit"):
                saved = now
                self.checkpoint()
            if "exit" in self.plan and now - self.began > self.plan.get("after_s", 0.0):
                print(self.plan.get("say", "error: broken"), flush=True)
                return int(self.plan["exit"])
            if "finish_s" in self.plan and now - self.began > self.plan["finish_s"]:
                self.checkpoint()
                self.say("finished")
                return int("wiring" in self.plan)
            time.sleep(0.02)
        self.checkpoint()
        self.say("stopped and saved")
        return int("wiring" in self.plan)


def note(data: Path, name: str, what: str) -> None:
    with (data / "trainers").open("a") as file:
        file.write(json.dumps([name, identity(os.getpid()), what]) + "\n")


def others(data: Path, name: str) -> set[str]:
    """Trainers of the same population that came, did not go, and live."""
    there: set[str] = set()
    for line in (data / "trainers").read_text().splitlines():
        population, trainer, what = json.loads(line)
        if population == name:
            there = (
                there | {trainer}
                if what == "came"
                else there - {trainer}
                if what in ("went", "refused")
                else there
            )
    return {trainer for trainer in there if at_work(trainer, data) not in (None, os.getpid())}


def main() -> int:
    words = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    name, data = words["--resume"], Path(words["--data"])
    import threading

    threading.Thread(target=stop_at_end, args=(0, 5.0), daemon=True).start()
    note(data, name, "came")
    if beside := others(data, name):
        note(data, name, f"beside {sorted(beside)}")
    try:
        with PopulationLock(population_paths(data, name).lock, name):
            code = Double(name, data).run()
            note(data, name, "went")
            return code
    except HeldError as error:
        note(data, name, "refused")
        print(f"error: {error}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
