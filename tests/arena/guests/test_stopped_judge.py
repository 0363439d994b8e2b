"""A judge that was stopped does not make its guests lose: its clock stood meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.arena.guests.guest_match import acting

THINKS_S = 0.2
STOPPED_S = 3.0


def test_a_stopped_judge_counts_no_forfeits(tmp_path: Path) -> None:
    act = f'time.sleep({THINKS_S}); answer(action=message["legal"][0])'
    bot = acting(tmp_path, act)
    judge = subprocess.Popen(
        [
            *(sys.executable, "-m", "arena", "match", bot, "random", "--env", "tictactoe"),
            *("--games", "8", "--move-timeout", "1", "--json", "--data", str(tmp_path / "data")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Once the guest runs, the judge is stopped and goes on, several times.
    _wait_for_guest(judge)
    for _ in range(2):
        os.kill(judge.pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(judge.pid, signal.SIGCONT)
        time.sleep(0.3)
    said, errors = judge.communicate(timeout=60)
    assert judge.returncode in (0, 5, 6), errors
    report = json.loads(said)
    assert report["games"] == 8
    assert report["forfeits"] == 0, errors


def _wait_for_guest(judge: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{judge.pid}/task/{judge.pid}/children")
    for _ in range(600):
        if children.exists() and children.read_text().strip():
            return
        time.sleep(0.05)
    raise AssertionError("no guest was started")
