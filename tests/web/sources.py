"""The dashboard's sources with the tools that check them."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sources:
    """folder: a copy of web/;  npm: how it is called;  path: the PATH on which its scripts find
    Node.js
    """

    folder: Path
    npm: list[str]
    path: str


def run(sources: Sources, *words: str) -> str:
    done = subprocess.run(
        [*sources.npm, *words],
        cwd=sources.folder,
        env={**os.environ, "PATH": sources.path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
