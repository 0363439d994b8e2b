"""The live display of a training: a table on a terminal, elsewhere a line now and then."""

import sys
import time
from collections.abc import Mapping
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arena.cli.going_on import GoingOn
from arena.data.status import refusals
from arena.training.progress import MemberProgress, Progress
from arena.training.strengths import Strength
from pbt.objective import OBJECTIVE_WORDS, ObjectiveKind

LINE_EVERY_S = 10.0
# What the strength of a member is called, from evaluation games of its newest snapshot.
STRENGTHS: Mapping[ObjectiveKind, str] = {
    "win": "rating",
    "margin": "margin a game over random",
    "return": "evaluation return a game",
}


class Display:
    """Shows each `Progress` that it is called with, on stderr, so that results can be piped."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name, self._quiet = name, quiet
        # The stream of now: while a game's code runs, sys.stderr is another one (pbt.envs.voice).
        self._console = Console(file=sys.stderr)
        self._live = (
            Live(console=self._console, refresh_per_second=4, transient=False)
            if self._console.is_terminal and not quiet
            else None
        )
        self._lined, self._stage = -LINE_EVERY_S, (False, False)
        self._copies: dict[str, int] = {}
        self._warned = 0
        self._said = ""
        self._starting = GoingOn(lambda: f"{name} is starting")

    def __enter__(self) -> Self:
        self._starting.__enter__()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._starting.end()
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show it. When the reader of stderr has gone, nothing more is shown; training goes on."""
        self._starting.end()
        try:
            self._show(progress)
        except (OSError, SystemExit):  # rich leaves the program when its output is a broken pipe
            self._live, self._quiet = None, True

    def _show(self, progress: Progress) -> None:
        if not self._quiet:
            for line in self._new_copies(progress):
                self._console.print(line, highlight=False, soft_wrap=True)
            for text in progress.warnings[self._warned :]:
                self._console.print(Text(f"WARNING: {text}", style="yellow"), soft_wrap=True)
            self._warned = len(progress.warnings)
        if self._live is not None:
            self._live.update(Group(*self._picture(progress)))
        elif not self._quiet and (
            time.monotonic() - self._lined >= LINE_EVERY_S or stage(progress) != self._stage
        ):
            self._lined, self._stage = time.monotonic(), stage(progress)
            trouble = f"  TROUBLE: {progress.trouble}" if progress.trouble else ""
            restarts = f"  {progress.restarts}" if progress.restarts else ""
            wiring = f"  WIRING FAULT: {progress.wiring}" if progress.wiring else ""
            refused = "".join(f"  WARNING: {text}" for text in refusals(progress.members))
            line = self._line(progress) + trouble + wiring + refused + restarts
            self._console.print(line, highlight=False, soft_wrap=True)
            if (said := said_of(progress)) not in ("", self._said):
                self._said = said
                self._console.print(f"      {said}", highlight=False, soft_wrap=True)

    def _new_copies(self, progress: Progress) -> list[str]:
        """A line for each copy since the last look, which stays when the table moves on."""
        before = self._copies
        self._copies = {member.name: member.copies for member in progress.members}
        return [
            f"{member.name} at {short(member.frames)} frames, {member.last_event}"
            for member in progress.members
            if member.copies > before.get(member.name, member.copies)
        ]

    def _picture(self, progress: Progress) -> list[Table | Text | ProgressBar]:
        table = Table(
            title=f"population {self._name}",
            title_justify="left",
            box=None,
            header_style="bold",
            pad_edge=False,
        )
        for column in columns(progress.ranked_by):
            table.add_column(
                column.removeprefix(">"), justify="right" if column.startswith(">") else "left"
            )
        for member in progress.members:
            table.add_row(*member_cells(member, progress.ranked_by))
        bar = ProgressBar(total=1.0, completed=progress.share, width=60)
        lines: list[Table | Text | ProgressBar] = [table, Text(self._line(progress))]
        if said := said_of(progress):
            lines.append(Text(said, style="bold"))
        if progress.trouble:
            lines.append(
                Text(
                    f"{progress.trouble}; what was played waits in memory meanwhile",
                    style="bold red",
                )
            )
        if progress.wiring:
            lines.append(Text(f"WIRING FAULT: {progress.wiring}", style="bold red"))
        lines += [Text(f"WARNING: {text}", style="yellow") for text in refusals(progress.members)]
        if progress.restarts:
            lines.append(Text(progress.restarts, style="yellow"))
        # The bar stands last: it does not end its line, so text behind it would be cut off.
        return [*lines, bar]

    def _line(self, progress: Progress) -> str:
        done = (
            f"{progress.share:4.0%}  {short(progress.frames)} of "
            f"{short(progress.target_frames)} frames"
        )
        games = (
            f"{progress.training_games} training games, {progress.evaluation_games} "
            "evaluation games"
        )
        if progress.closing:
            played, planned = progress.closing
            return f"{done}  {games}  closing evaluation: {played} of {planned} games"
        left = f"  about {clock(progress.eta_s)} left" if progress.eta_s is not None else ""
        left += f", then {progress.ahead} evaluation games" if left and progress.ahead else ""
        return f"{done}  {progress.frames_per_s:,.0f} frames/s  {games}{left}"


def said_of(progress: Progress) -> str:
    """What may be said of the population; "" before the first look. The time left stands beside it,
    measured anew with each look.
    """
    said = progress.assessment
    if said is None or said.seconds_left is None:
        return "" if said is None else said.sentence
    return said.sentence.rpartition("; ")[0]


def stage(progress: Progress) -> tuple[bool, bool]:
    """(all members have trained, the closing evaluation is over)."""
    played, planned = progress.closing or (0, 1)
    return progress.share >= 1.0, played >= planned


def columns(ranked_by: ObjectiveKind) -> tuple[str, ...]:
    """The columns of the table; ">" marks numbers."""
    ranked = f">{OBJECTIVE_WORDS[ranked_by].heading}"
    return ("member", ">frames", ">frames/s", ranked, f">{STRENGTHS[ranked_by]}", "last PBT event")


def member_cells(member: MemberProgress, ranked_by: ObjectiveKind = "win") -> tuple[str, ...]:
    """One row of the table; a dash stands for what is not known yet."""
    style = {"win": ".3f", "margin": "+.4g", "return": ".4g"}[ranked_by]
    state = "failed; " if member.failed else "done; " if member.finished else ""
    return (
        member.name,
        short(member.frames),
        f"{member.frames_per_s:,.0f}",
        format(member.objective, style) if member.games else "-",
        "-" if member.rating is None else strength_text(member.rating, ranked_by),
        state + (member.last_event or "-"),
    )


def strength_text(strength: Strength, ranked_by: ObjectiveKind) -> str:
    """`+636 [+554, +718]`; ">= +640" where games give no upper end; a value alone for neither.

    Elo have a lower end without an upper one where a player lost to none of those below it.
    """
    style = {"win": "+.0f", "margin": "+.3g", "return": ".4g"}[ranked_by]
    # "+ 0.0" makes 0 of a negative zero.
    value, low, high = (
        "" if one is None else format((round(one) if ranked_by == "win" else one) + 0.0, style)
        for one in (strength.value, strength.low, strength.high)
    )
    if low and high:
        return f"{value} [{low}, {high}]"
    return f">= {low}" if low else f"<= {high}" if high else value


def short(count: int) -> str:
    """1234567 -> "1.23M"."""
    for limit, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= limit:
            return f"{count / limit:.3g}{unit}"
    return str(count)


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
