"""What is wrong with a population and its members. Pure."""

from collections.abc import Callable, Mapping
from statistics import median

from arena.assessment.answer import Health, PopulationFinding
from arena.assessment.records import MemberFacts, PopulationHistory
from arena.assessment.words import count_text
from arena.league.frames import frames_text

REFUSING_SHARE = 0.05
"""A member that has a larger share of its updates refused does not learn as it should."""
MOST_NAMED = 3
"""Where more members have one trouble, these are named and the others counted."""
BEHIND_SHARE = 0.5
"""A member with less than this share of the other members' frames is behind."""
BEHIND_OF_GOAL = 0.02
"""A member is behind only by at least this share of its goal: at a start all clocks differ."""
ENTROPY_GONE = 0.01
"""A policy whose entropy is at most this share of its first explores no more."""


def health_of(member: MemberFacts, history: PopulationHistory) -> tuple[Health, str]:
    """(the health of a member, the same in words)."""
    if member.state == "failed":
        reason = f": {member.failure}" if member.failure else ""
        return "dead", f"failed, and learns no more{reason}"
    if member.state == "unknown":
        return "unknown", "no trainer has reported it yet"
    if refuses(member):
        return "refusing", f"{refused_text(member)}, because a loss or a gradient was not finite"
    if (usual := _usual_frames(member, history)) is not None:
        return "behind", (
            f"it has trained {frames_text(member.frames)} frames, and the others "
            f"{frames_text(usual)}"
        )
    few = f"; {refused_text(member)}" if member.refused else ""
    return "ok", ("trains no more" if member.state != "learning" else "learns") + few


def refuses(member: MemberFacts) -> bool:
    """Whether so many of its updates are refused that it does not learn as it should."""
    return member.refused > REFUSING_SHARE * (member.updates + member.refused)


def refused_text(member: MemberFacts) -> str:
    return f"{member.refused:,} of {member.updates + member.refused:,} updates were refused"


def explores_no_more(member: MemberFacts) -> bool:
    """Whether its policy has lost the entropy that it began with.

    Where actions have numbers the entropy is that of a density, and a negative one tells nothing.
    """
    first, now = member.first_entropy, member.entropy
    return first is not None and now is not None and first > 0 and 0 <= now <= ENTROPY_GONE * first


def _usual_frames(member: MemberFacts, history: PopulationHistory) -> int | None:
    """The median clock of the other members, None where the member is not behind it."""
    others = [
        one.frames for one in history.members if one is not member and one.state == "learning"
    ]
    if member.state != "learning" or not others:
        return None
    usual = round(median(others))
    least = BEHIND_OF_GOAL * (history.goal_frames or 0)
    behind = member.frames < BEHIND_SHARE * usual and usual - member.frames > least
    return usual if behind else None


def faults_of(history: PopulationHistory) -> list[PopulationFinding]:
    """What makes a population broken, the worst first; empty where nothing does."""
    found = []
    if history.failure:
        found.append(PopulationFinding("training", "bad", history.failure))
    found += [PopulationFinding("fault", "bad", text) for text in history.faults]
    for wanted, kind, between in (("dead", "failed", " "), ("refusing", "refused", ": ")):
        for member in history.members:
            health, text = health_of(member, history)
            if health == wanted:
                words = f"{member.member}{between}{text}"
                found.append(PopulationFinding(kind, "bad", words, member.member, member.frames))
    return found


def notes_on(history: PopulationHistory) -> list[PopulationFinding]:
    """What a reader should know beside the faults; a trouble of many members is one finding."""
    found = []
    for kind, (look, together) in _TROUBLES.items():
        own = [(one, text) for one in history.members if (text := look(one, history))]
        if len(own) > MOST_NAMED:
            names = ", ".join(one.member for one, _ in own[:MOST_NAMED])
            text = f"{names} and {count_text(len(own) - MOST_NAMED, 'other', 'others')} {together}"
            found.append(PopulationFinding(kind, "warn", text))
        else:
            found += [
                PopulationFinding(kind, "warn", f"{one.member}: {text}", one.member, one.frames)
                for one, text in own
            ]
    return [*found, *(PopulationFinding("warning", "warn", text) for text in history.warnings)]


Trouble = Callable[[MemberFacts, PopulationHistory], str]
"""What a trouble is for a member, "" where it does not have it."""


def _few_refused(member: MemberFacts, history: PopulationHistory) -> str:
    few = member.refused and health_of(member, history)[0] != "refusing"
    return refused_text(member) if few else ""


def _behind(member: MemberFacts, history: PopulationHistory) -> str:
    health, text = health_of(member, history)
    return text if health == "behind" else ""


def _stiff(member: MemberFacts, history: PopulationHistory) -> str:
    if member.state != "learning" or not explores_no_more(member):
        return ""
    return (
        f"it explores no more: the entropy of its policy is {member.entropy:.2g} nats, and was "
        f"{member.first_entropy:.2g}"
    )


_TROUBLES: Mapping[str, tuple[Trouble, str]] = {
    "behind": (_behind, "are behind the others in frames"),
    "refused": (_few_refused, "had some of their updates refused"),
    "entropy": (_stiff, "explore no more: their policies have lost their entropy"),
}
