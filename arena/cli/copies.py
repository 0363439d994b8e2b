"""What PBT did to a finished population, in a few lines: who copied whom, why, and what came of it.

A round's verdict has all of it in one line; here each copy has three.
"""

from collections.abc import Mapping, Sequence

from arena.cli.display import short
from arena.league.database import League
from arena.league.round_words import verdict_for_people
from arena.league.stored_history import list_rounds
from arena.words import number_of
from pbt.config.population import PbtConfig
from pbt.population.mutation import in_order
from pbt.records import RoundRecord


def copy_lines(league: League, population: str) -> list[str]:
    """The copies of a population, and the values of its last round. Raises: PlayerError."""
    rounds = [stored.record for stored in list_rounds(league, population)]
    copies = [line for one in rounds if one.directive.copy_from for line in _copy(one)]
    if not rounds:
        return ["PBT held no round."]
    held = number_of(len(rounds), "round")
    if not copies:
        return [f"PBT copied nothing in {held}: {_nearest(rounds)}"]
    return [f"PBT copied {_count(rounds)} in {held}:", *copies]


def value_lines(league: League, population: str, member: str) -> list[str]:
    """Each hyperparameter of a member: where it began, and where it is after its last round."""
    rounds = [stored.record for stored in list_rounds(league, population)]
    own = [one for one in rounds if one.member == member]
    if not own:
        return []
    first, last = rounds[0].hyperparams[member], own[-1].directive.hyperparams
    return [
        f"  {name}: began at {first[name]:.3g}, ended at {last[name]:.3g}"
        for name in in_order(last)
    ]


def _count(rounds: Sequence[RoundRecord]) -> str:
    copies = sum(one.directive.copy_from is not None for one in rounds)
    return number_of(copies, "time")


def _copy(one: RoundRecord) -> list[str]:
    """One copy: its members, its reason, and the values before and after."""
    before, after = one.hyperparams[one.member], one.directive.hyperparams
    return [
        f"  {one.member} copied {one.directive.copy_from} at {short(one.frames)} frames",
        f"    why: {_why(one)}",
        f"    {_changes(before, after)}",
    ]


def _why(one: RoundRecord) -> str:
    """The reason in the verdict: the part between the place and the mutation."""
    _, _, reason = verdict_for_people(one.verdict).partition(": copies ")
    return reason.partition("; ")[0]


def _changes(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    changed = [name for name in in_order(after) if after[name] != before[name]]
    return ", ".join(f"{name} {before[name]:.3g} -> {after[name]:.3g}" for name in changed)


def _nearest(rounds: Sequence[RoundRecord]) -> str:
    """Why the last round in which a member might have copied did not."""
    refused = [
        verdict_for_people(one.verdict) for one in rounds if ": does not copy " in one.verdict
    ]
    if not refused:
        return "no member was ranked low enough"
    _, _, reason = refused[-1].partition(": does not copy ")
    return f"the last reason was {reason.partition('; ')[0]}"


def how_copies_are_judged(pbt: PbtConfig) -> str:
    """When a member copies, in a sentence for people. pbt: of a game that is won or lost."""
    if pbt.copy_significance_per == "run" and pbt.copy_gap is None:
        return (
            "A member copies another only if its lead is more than chance makes among members that "
            f"learn alike, once in {1 / (pbt.copy_significance or 0.01):.0f} whole runs."
        )
    return "A member copies another only if its lead is large enough."
