"""CI=1 turns every skip into a failure: there, nothing may be missing."""

import os
import subprocess
import sys
from pathlib import Path

SKIPPING = """
import pytest

def test_skips():
    pytest.skip("no screen")

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

def test_passes():
    pass
"""
SKIPPING_FILE = 'import pytest\npytest.importorskip("no_such_module")\n'


def outcome(folder: Path, **environment: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (folder / "test_one.py").write_text(SKIPPING)
    (folder / "test_whole_file.py").write_text(SKIPPING_FILE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "--continue-on-collection-errors",
        str(folder),
    ]
    clean = {
        name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS"}
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


def test_skips_pass_on_a_persons_machine(tmp_path: Path) -> None:
    code, text = outcome(tmp_path)
    assert code == 0 and "1 passed, 2 skipped, 1 xfailed" in text


def test_skips_fail_in_ci(tmp_path: Path) -> None:
    code, text = outcome(tmp_path, CI="1")
    assert code != 0
    assert "test_skips was skipped" in text and "no screen" in text
    assert "test_whole_file.py was skipped" in text and "no_such_module" in text
