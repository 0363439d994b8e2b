"""DECISIONS.md keeps its form, and what refers to it or is named in it exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "DECISIONS.md"
LINES, COLUMNS = 10, 100
# Entry 1 only points to docs/slots.md.
POINTERS = {1}

ENTRY = re.compile(r"^## (\d+)\. (.+) \(\d{4}-\d\d-\d\d\)$")
ANCHOR = re.compile(r'^<a id="d(\d+)"></a>$')
INDEXED = re.compile(r"^- \[(\d+)\. (.+)\]\(#d(\d+)\)$")
REFERENCE = re.compile(r"\bDECISIONS(?:\.md)?`?(?:, number)?[ \n]+(\d+)\b")
QUOTED = re.compile(r"`((?:pbt|arena|api|web|tests|scripts|configs|docs|bench)/[\w./-]+)`")

FOLDERS = ("pbt", "arena", "api", "web/src", "bench", "tests", "scripts", "configs", "docs")
SUFFIXES = {".py", ".c", ".h", ".ts", ".tsx", ".css", ".sh", ".toml", ".md"}
# What was written of an earlier state stays as it was.
HISTORY = ROOT / "bench/results/history"


class Decisions:
    """The parts of the file. entries: (number, title, lines of text);  indexed: (number, title)."""

    def __init__(self, text: str) -> None:
        self.head, *rest = re.split(r"^(?=<a id=)", text, flags=re.MULTILINE)
        listed = filter(None, map(INDEXED.match, self.head.splitlines()))
        self.indexed = [(int(line[1]), line[2]) for line in listed if line[1] == line[3]]
        self.entries = [self._entry(part) for part in rest]

    @staticmethod
    def _entry(part: str) -> tuple[int, str, list[str]]:
        anchor, heading, *lines = [line for line in part.splitlines() if line]
        found, named = ENTRY.match(heading), ANCHOR.match(anchor)
        assert found, f"expected '## NUMBER. TITLE (DATE)' below {anchor}, found {heading}"
        assert named and named[1] == found[1], f"the anchor above '{heading}' is {anchor}"
        return int(found[1]), found[2], lines


def decisions() -> Decisions:
    return Decisions(DECISIONS.read_text(encoding="utf-8"))


def faults(parts: Decisions) -> Iterator[str]:
    """What is wrong with the form of the file, a line each."""
    numbers = [number for number, _, _ in parts.entries]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"numbers are not 1, 2, 3 ...: {numbers}"
    titles = {number: title for number, title, _ in parts.entries}
    yield from (f"{number} is not in the index" for number in titles.keys() - dict(parts.indexed))
    for number, title in parts.indexed:
        if titles.get(number) != title:
            yield f"the index calls {number} '{title}', the entry '{titles.get(number)}'"
    for number, _, lines in parts.entries:
        if len(lines) > LINES:
            yield f"{number} has {len(lines)} lines, more than {LINES}"
        wide = [line for line in lines if len(line) > COLUMNS]
        yield from (f"{number}: over {COLUMNS} columns: {line}" for line in wide)
        if number not in POINTERS and not any("What would change it" in line for line in lines):
            yield f"{number} does not say what would change it"


def test_decisions_keep_their_form() -> None:
    parts = decisions()
    assert len(parts.entries) >= 48, "a decision was lost: numbers are never given up"
    assert not list(faults(parts))


def entry(number: int, *lines: str, anchor: int | None = None) -> str:
    text = "\n".join(lines or ("- **What would change it.** Rain.",))
    return f'<a id="d{anchor or number}"></a>\n\n## {number}. T{number} (2026-11-20)\n\n{text}\n\n'


@pytest.mark.parametrize(("text", "fault"), [
    ("- [1. T1](#d1)\n" + entry(1) + entry(3), "numbers are not"),
    ("- [1. T1](#d1)\n" + entry(1) + entry(1), "numbers are not"),
    ("- [1. T1](#d1)\n" + entry(1) + entry(2), "2 is not in the index"),
    ("- [1. T1](#d2)\n" + entry(1), "1 is not in the index"),
    ("- [1. Else](#d1)\n" + entry(1), "the index calls 1 'Else'"),
    ("- [1. T1](#d1)\n- [7. T7](#d7)\n" + entry(1), "the index calls 7"),
    ("- [1. T1](#d1)\n" + entry(1, *["What would change it: rain."] * 11), "1 has 11 lines"),
    ("- [1. T1](#d1)\n" + entry(1, "x" * 101), "1: over 100 columns"),
    ("- [1. T1](#d1)\n- [2. T2](#d2)\n" + entry(1) + entry(2, "So it is."), "2 does not say"),
])  # fmt: skip
def test_trap_a_fault_of_form_is_seen(text: str, fault: str) -> None:
    assert any(said.startswith(fault) for said in faults(Decisions(text)))


def test_trap_an_anchor_of_another_number_is_seen() -> None:
    with pytest.raises(AssertionError, match="the anchor above"):
        Decisions(entry(2, anchor=3))


def sources() -> Iterator[Path]:
    """Program, tests and documents, but for this file, whose references are examples, and
    history.
    """
    yield from ROOT.glob("*.md")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in SUFFIXES and path != Path(__file__) and HISTORY not in path.parents:
                yield path


def test_every_reference_names_a_decision() -> None:
    numbers = {number for number, _, _ in decisions().entries}
    found = {path: REFERENCE.findall(path.read_text(encoding="utf-8")) for path in sources()}
    assert sum(map(len, found.values())) >= 3, "the pattern of references finds too little"
    named = [(str(path), int(number)) for path, each in found.items() for number in each]
    assert not [(path, number) for path, number in named if number not in numbers]


def test_references_are_found_as_they_are_written() -> None:
    text = "(DECISIONS 2), `DECISIONS.md`, number 31: and DECISIONS\n19, of DECISIONS.md alone"
    assert REFERENCE.findall(text) == ["2", "31", "19"]


def test_links_and_paths_of_the_decisions_exist() -> None:
    text = DECISIONS.read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    anchors = {f"#d{number}" for number, _, _ in decisions().entries}
    paths = {link for link in links if link[0] != "#"} | set(QUOTED.findall(text))
    assert {link for link in links if link[0] == "#"} <= anchors
    assert len(paths) > 20
    assert not sorted(path for path in paths if not (ROOT / path).exists())
