"""The result of a verification, for people and for programs."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from arena.league.chain import SHORTEST_HEAD
from arena.league.chain_check import ChainReport
from arena.league.chain_state import Difference
from arena.words import number_of
from pbt.errors import PbtError

Observer = Callable[[str, int, int | None], object]
"""Called with (what is verified, how much of it is done, how much there is or None)."""


class VerifyError(PbtError):
    """The request cannot be carried out: the head or the number of games is none."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What is asked of a verification.

    head         a head of the chain that was published elsewhere, or its beginning; None: none
    replay       how many evaluation games and games of matches are played again, chosen at random;
                 None: all
    allow_files  games from files of the local user may be run
    """

    head: str | None = None
    replay: int | None = None
    allow_files: bool = True


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Games that were played again from their seeds and actions.

    stored  how many have their actions
    played  how many of them were played again
    why     why not all, empty where all were
    """

    stored: int
    played: int
    why: str = ""

    def seen(self, share: float) -> float:
        """The probability that a game is found if a share of the stored ones was altered.

        The games are a random sample without replacement, so the number of altered ones in it is
        hypergeometric; the probability is 1 - C(N - K, n) / C(N, n).
        """
        altered, missed = max(1, round(share * self.stored)), 1.0
        for place in range(altered):
            left = self.stored - place
            missed *= max(0, left - self.played) / left if left else 0.0
        return 1.0 - missed


def joined(replays: Sequence[ReplayReport]) -> ReplayReport | None:
    """The games of several reports together; None without a report."""
    if not replays:
        return None
    stored, played = sum(one.stored for one in replays), sum(one.played for one in replays)
    if 0 < played < stored:
        return ReplayReport(stored, played, "a random sample")
    return ReplayReport(stored, played, next((one.why for one in replays if one.why), ""))


def shared_sample(totals: Sequence[int], wanted: int | None) -> list[int | None]:
    """How many games of each source are played again, so that all games are equally likely.

    totals  games of each source
    wanted  games of the sample of all sources together; None: all
    """
    if wanted is None or wanted >= sum(totals):
        return [None] * len(totals)
    sources = [source for source, total in enumerate(totals) for _ in range(total)]
    counts = Counter(random.SystemRandom().sample(sources, wanted))
    return [counts[source] for source in range(len(totals))]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a verification.

    kind         what was verified
    name         its name
    chain        of the chain and the rows
    differences  everything that is wrong, of the chain as well
    counts       what was verified besides -> how much of it
    replays      the games that were played again, None where there are none to play
    notes        what a reader should know
    """

    kind: Literal["population", "match", "imports"]
    name: str
    chain: ChainReport
    differences: tuple[Difference, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    replays: ReplayReport | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.differences


def checked_head(head: str) -> str:
    """A head as chains write it. Raises: VerifyError for what is no head."""
    text = head.strip().lower()
    if not SHORTEST_HEAD <= len(text) <= 64 or set(text) - set("0123456789abcdef"):
        raise VerifyError(
            f"--head {head}: expected {SHORTEST_HEAD} to 64 hexadecimal digits, as the end of a "
            "training, a report or an export printed them"
        )
    return text


def head_difference(request: VerifyRequest, chain: ChainReport) -> list[Difference]:
    """The difference of a chain that does not hold the head that was published."""
    if request.head is None or request.head in chain.seen:
        return []
    expected = f"{request.head}, now or at some record before"
    return [Difference("the chain", f"head {chain.head} after {chain.records} records", expected)]


def report_json(report: VerifyReport) -> dict[str, Any]:
    """The report as plain values."""
    chain = report.chain
    replays = None if report.replays is None else asdict(report.replays)
    return {
        report.kind: report.name,
        "ok": report.ok,
        "head": chain.head,
        "records": chain.records,
        "begun_at": chain.begun_at,
        "rows_before": chain.unknown,
        "rows_recorded": chain.rows,
        "games_folded": chain.folded,
        "seen_heads": chain.seen,
        **report.counts,
        "played_again": replays,
        "notes": report.notes,
        "differences": [asdict(difference) for difference in report.differences],
    }


def report_lines(report: VerifyReport) -> list[str]:
    """One line per difference, then what was verified, and a last line that sums up."""
    lines = [difference.text for difference in report.differences]
    chain = report.chain
    records = number_of(chain.records, "record")
    lines.append(f"chain: {records} of {_rows_text(chain.rows)}; head {chain.head}")
    if chain.folded:
        lines.append(f"  {chain.folded} of these games were folded into counts")
    if chain.begun_at is not None:
        begun = datetime.fromtimestamp(chain.begun_at, UTC)
        lines.append(
            f"  unknown before {begun:%Y-%m-%d %H:%M} UTC, when the chain began: "
            f"{_rows_text(chain.unknown)}"
        )
    lines += report.notes
    if report.replays is not None:
        lines.append(_replay_line(report.replays))
    found = len(report.differences)
    verdict = f"{number_of(found, 'difference')}: rows or files were altered or lost"
    name = f"population {report.name}" if report.kind == "population" else report.name
    lines.append(f"{name}: {verdict if found else 'all agree'}")
    return lines


def _rows_text(rows: Mapping[str, int]) -> str:
    """{"members": 2, "starts": 1} -> "2 members, 1 start". The names of most kinds are plurals."""
    counts = [
        number_of(count, kind.removesuffix("s"), kind) for kind, count in rows.items() if count
    ]
    return ", ".join(counts) or "no rows"


def _replay_line(replays: ReplayReport) -> str:
    stored = number_of(replays.stored, "game that stores its", "games that store their")
    line = f"played again: {replays.played} of {stored} actions"
    if replays.why:
        line += f" ({replays.why})"
    if 0 < replays.played < replays.stored:
        line += (
            f"; if 1 % of them were altered, that would be seen with probability "
            f"{replays.seen(0.01):.3g}"
        )
    return line


def no_observer(what: str, done: int, total: int | None) -> None:
    """Observes nothing."""


def text_differences(pairs: Sequence[tuple[str, str]]) -> list[Difference]:
    """Differences of (where, contradiction in words)."""
    return [Difference(where, problem) for where, problem in pairs]
