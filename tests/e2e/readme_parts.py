"""What README.md and the other documents quote: code blocks by language, and command lines."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "configs/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
)


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def shell_lines(path: Path) -> list[str]:
    """Every line of the shell blocks."""
    return [line for block in blocks(path, "sh") for line in block.splitlines()]


def quoted_lines(path: Path) -> list[str]:
    """Every `arena ...` in the running text."""
    prose = re.sub(
        r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return re.findall(r"`(arena [^`]+)`", prose)


def commands(lines: list[str]) -> Iterator[list[str]]:
    """The words behind `arena` of the lines that call it."""
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:1] == ["arena"]:
            yield words[1:]
