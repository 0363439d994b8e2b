"""What ends the service's program before it serves: one line, or none, and no traceback."""

import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_control_c_while_it_loads(tmp_path: Path) -> None:
    """A library that the program loads stands in for the moment."""
    (tmp_path / "uvicorn.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "api", "{}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "arena", "serve", "--port", "0", "--data", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    place = tmp_path / "service" / "lock"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {place}: File too large; expected a place")
    assert done.stderr.count("\n") == 1
