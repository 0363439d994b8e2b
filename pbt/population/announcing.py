"""The words of a member's start and of its rounds, for the league and for people."""

from pbt.population.members import Member
from pbt.population.pbt_decision import Decision


def start_text(member: Member) -> str:
    """Return the values that a member begins with, in words."""
    values = ", ".join(f"{name} {value:.6g}" for name, value in member.hyperparams.items())
    return f"starts with {values}"


def round_text(number: int, decision: Decision) -> str:
    """Return a round in a few words."""
    if decision.copy_from:
        return f"round {number}: copied {decision.copy_from}, {decision.ahead:.2g} ahead"
    if decision.mutated:
        return f"round {number}: mutated {', '.join(decision.mutated)}"
    return f"round {number}: kept"
