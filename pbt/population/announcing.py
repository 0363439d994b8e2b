"""The events of a member's start and of its rounds, for the league and for people."""

from pbt.population.members import Member
from pbt.population.pbt_decision import Decision
from pbt.records import Event


def start_event(member: Member, frames: int) -> Event:
    """Return the event that says which values a member begins with. frames: on its clock."""
    values = ", ".join(f"{name} {value:.6g}" for name, value in member.hyperparams.items())
    return Event("start", member.name, frames, f"starts with {values}")


def round_event(
    member: str, number: int, decision: Decision, frames: int
) -> tuple[str, Event | None]:
    """Return a round in a few words, and its event, None where the member keeps everything.

    frames: on the member's clock
    """
    if decision.copy_from:
        text = f"round {number}: copied {decision.copy_from}, {decision.ahead:.2g} ahead"
        return text, Event("copy", member, frames, decision.verdict)
    if decision.mutated:
        text = f"round {number}: mutated {', '.join(decision.mutated)}"
        return text, Event("mutate", member, frames, decision.verdict)
    return f"round {number}: kept", None
