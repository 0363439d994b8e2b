"""Holds the words of the project to its rules: `python scripts/prose.py`, part of `make check`.

Sentences name the process, thread or caller that acts. "Nobody", "somebody" and "whoever" name
none, and "who" is for people and players. Exit code 1 with one line for every place that breaks
the rule.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".md", ".ts", ".tsx", ".css", ".c", ".h", ".sh", ".toml", ".yml", ".html"}
# History is kept as it was written.
EXCEPT = ("bench/results/", "web/package-lock.json", "scripts/prose.py")

BANNED = re.compile(r"\b(nobody|somebody|whoever|whomever)\b", re.IGNORECASE)
WHO = re.compile(r"\bwho\b", re.IGNORECASE)
# "Who" behind a person or a player, and the questions that a league answers.
PEOPLE = (
    r"people|persons?|players?|members?|opponents?|users?|readers?|researchers?|developers?"
    r"|authors?|maintainers?|operators?|administrators?|newcomers?|strangers?|humans?|anyone|those"
    r"|contributors?|one"
)
ALLOWED = re.compile(
    rf"\b({PEOPLE}),? who\b"
    r"|\bwho (is (the )?(best|stronger|strongest|ahead|better)|beats|won|wins|plays|played|met"
    r"|copied|sits|leads|moves first|learns from)\b",
    re.IGNORECASE,
)


def faults(text: str) -> Iterator[tuple[int, str]]:
    """(line number, the word) of every word that names no one in particular."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in BANNED.finditer(line):
            yield number, match[0]
        rest = ALLOWED.sub("", line)
        for match in WHO.finditer(rest):
            yield number, match[0]


def texts() -> Iterator[Path]:
    """Every text of the project that git tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if path.suffix in SUFFIXES and not name.startswith(EXCEPT) and path.is_file():
            yield path


def main() -> int:
    """Returns the exit code: 1 when a rule is broken."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}: name the person, process, thread or caller"
        for path in texts()
        for line, word in faults(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found) or "prose: every actor is named")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
