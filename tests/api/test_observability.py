"""What the service tells about itself: a log that holds no secrets, whatever breaks."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.service import HERE

ROOT = HERE.parent.parent


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_fault_is_logged_whole_and_without_secrets(tmp_path: Path, form: str) -> None:
    words = [sys.executable, str(HERE / "faulty_service.py"), str(tmp_path), form]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    said = json.loads(done.stdout)
    assert [status for status, _ in said["answers"]] == [500] * 4
    assert all(request_id in done.stderr for _, request_id in said["answers"])
    assert done.stderr.count("RuntimeError: the tower fell") == 4
    # Where locals are shown, long values are wrapped in a frame, and shortened in the middle.
    letters = re.sub(r"[^A-Za-z0-9_.-]", "", done.stderr)
    for secret in said["secrets"]:
        assert secret[:12] not in letters and secret[-12:] not in letters
