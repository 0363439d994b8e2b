"""The lineage of a population as SVG: a lane for each member, an arc for each copy. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arena.assessment.words import count_text
from arena.league.frames import frames_text
from arena.league.lineage import Histories, Lineage
from arena.report.axes import upto
from arena.report.chart import HUES
from arena.report.html import Markup, tag

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 480, 40, 14, 10, 40
LANE, MANY_LANE, MANY = 26, 13, 16


@dataclass(frozen=True, slots=True)
class MemberCopy:
    """A copy of weights from one member to another.

    member        that copied
    frames        its clock
    donor         whose weights it took over
    donor_frames  the donor's clock when these weights were made
    round         number of the round
    verdict       the reasons, in words
    changed       name -> (value before, value after), of hyperparameters that changed
    time          seconds since the epoch
    """

    member: str
    frames: int
    donor: str
    donor_frames: int
    round: int
    verdict: str
    changed: Mapping[str, tuple[float, float]]
    time: float


def copies_of(histories: Histories) -> list[MemberCopy]:
    """The copies of all members, in the order of their decisions."""
    found = []
    for member, decisions in histories.rounds.items():
        before = dict(histories.initial.get(member, {}))
        for one in decisions:
            after = one.directive.hyperparams
            donor = histories.snapshots.get(one.directive.copy_snapshot or "")
            if one.directive.copy_from is not None and donor is not None:
                changed = {
                    name: (before[name], value)
                    for name, value in after.items()
                    if name in before and before[name] != value
                }
                found.append(
                    MemberCopy(
                        member,
                        one.frames,
                        donor.member,
                        donor.frames,
                        one.directive.round,
                        one.verdict,
                        changed,
                        one.created_at,
                    )
                )
            before = dict(after)
    return sorted(found, key=lambda one: (one.time, one.member))


Pieces = Mapping[str, Sequence[tuple[int, int]]]
"""Member -> (frames from which on, number of the member from which its weights descend)."""


def families(members: Sequence[str], copies: Sequence[MemberCopy]) -> Pieces:
    """From which member the weights of each descend. copies: in the order of their decisions."""
    pieces = {member: [(0, at)] for at, member in enumerate(members)}
    for one in copies:
        donors = pieces.get(one.donor, [])
        before = [founder for frames, founder in donors if frames <= one.donor_frames]
        if before and one.member in pieces:
            pieces[one.member].append((one.frames, before[-1]))
    return pieces


def lanes(
    clocks: Mapping[str, int], copies: Sequence[MemberCopy], ways: Sequence[Lineage]
) -> Markup:
    """The picture. clocks: member -> its frames now. ways: drawn in bold."""
    members = list(clocks)
    height = MANY_LANE if len(members) > MANY else LANE
    below = TOP + height * len(members)
    across = upto(max(clocks.values(), default=0))
    drawing = _Lanes(
        {member: TOP + height * (at + 0.5) for at, member in enumerate(members)},
        lambda frames: round(LEFT + across.place(frames) * (WIDTH - LEFT - RIGHT), 1),
    )
    made = [
        tag("text", member, x=LEFT - 6, y=y + 4, class_="end small" if height < 16 else "end")
        for member, y in drawing.heights.items()
    ]
    made += drawing.stretches(clocks, families(members, copies))
    made += [drawing.arc(one, "arc") for one in copies]
    made += [part for one in ways for part in drawing.way(one)]
    for tick in across.ticks:
        x = drawing.x(tick)
        at_end = "end" if x > WIDTH - RIGHT - 12 else "middle"
        made.append(tag("text", frames_text(round(tick)), x=x, y=below + 17, class_=at_end))
    made.append(tag("text", "frames", x=WIDTH - RIGHT, y=below + 33, class_="end soft"))
    counts = (
        count_text(len(members), "member", "members"),
        count_text(len(copies), "copy", "copies"),
    )
    title = f"Lineage: {', '.join(counts)}; the way to the best is bold"
    svg = tag("svg", made, viewBox=f"0 0 {WIDTH} {below + BOTTOM}", role="img", aria_label=title)
    return tag("figure", tag("figcaption", title), svg)


class _Lanes:
    """Where things stand in the picture.

    heights  member -> y of its lane
    x        frames -> x
    """

    def __init__(self, heights: Mapping[str, float], x: Callable[[float], float]) -> None:
        self.heights, self.x = heights, x

    def stretches(self, clocks: Mapping[str, int], pieces: Pieces) -> list[Markup]:
        """The lanes, in the colours of the families."""
        made = []
        for member, own in pieces.items():
            ends = [*(frames for frames, _ in own[1:]), clocks[member]]
            for (start, founder), end in zip(own, ends, strict=True):
                path = self._lane(member, start, end)
                made.append(tag("path", d=path, class_=f"lane hue-{founder % HUES}"))
        return made

    def arc(self, one: MemberCopy, class_: str) -> Markup:
        """A copy, from the donor's weights to the member."""
        return self._arc((one.donor, one.donor_frames), (one.member, one.frames), class_)

    def way(self, lineage: Lineage) -> list[Markup]:
        """The stretches and copies of one lineage."""
        made, steps = [], lineage.steps
        for at, step in enumerate(steps):
            if step.donor is not None and at:
                start = (step.donor.member, step.donor.frames)
                made.append(self._arc(start, (step.member, step.member_frames), "way"))
            following = steps[at + 1] if at + 1 < len(steps) else None
            if following is None:
                end = step.member_frames + lineage.frames - step.frames
            elif following.donor is not None:
                end = following.donor.frames
            else:
                end = following.member_frames
            path = self._lane(step.member, step.member_frames, end)
            made.append(tag("path", d=path, class_="way"))
        return made

    def _lane(self, member: str, start: float, end: float) -> str:
        return f"M{self.x(start)} {self.heights[member]}H{self.x(end)}"

    def _arc(self, start: tuple[str, int], end: tuple[str, int], class_: str) -> Markup:
        (from_x, from_y), (to_x, to_y) = (
            (self.x(frames), self.heights[member]) for member, frames in (start, end)
        )
        middle = round((from_x + to_x) / 2 + min(14.0, abs(to_y - from_y) / 4), 1)
        path = f"M{from_x} {from_y}C{middle} {from_y} {middle} {to_y} {to_x} {to_y}"
        return tag("path", d=path, class_=class_)
