"""Which player is `@best`, and what may be claimed of it although it was chosen among many."""

from collections.abc import Sequence

from arena.league.best_of_many import BestOfMany, best_of_many, best_return_of_many
from arena.league.database import League
from arena.league.ratings import RatingTable, Standing, best_standing
from arena.league.returns import ReturnTable, best_by_return
from arena.matches.fresh import FreshStrength, fresh_strength
from arena.stats.bradley_terry import BEST_MIN_GAMES
from pbt.objective import ObjectiveKind

ID_DIGITS = 8


def best_lines(league: League, name: str, table: RatingTable, roles: Sequence[str]) -> list[str]:
    """Which player is `@best` and what may be claimed of it, or why there is none.

    Where there are several roles, each has a best of its own.
    """
    if len(roles) < 2:
        return _best_lines(f"{name}@best", table, best_of_many(league, name, table), None, league)
    return [
        line
        for role in roles
        for line in _best_lines(
            f"{name}/{role}@best", table, best_of_many(league, name, table, role), role, league
        )
    ]


def return_best_lines(
    league: League, name: str, table: ReturnTable, roles: Sequence[str]
) -> list[str]:
    """As `best_lines`, where returns count."""
    lines = []
    for role in roles if len(roles) > 1 else [None]:
        title = f"{name}@best" if role is None else f"{name}/{role}@best"
        best = best_by_return(table.rows, role)
        if best is None:
            lines.append(
                f"{title}: none yet; it takes {BEST_MIN_GAMES} evaluation games, and no snapshot "
                "that has its weights has them: train on"
            )
            continue
        claim = best_return_of_many(league, name, table, role)
        lines.append(
            f"{title} is {best.label}: the highest lower end of its {claim.candidates} snapshots "
            f"that play and have {BEST_MIN_GAMES} games or more"
            + f"; it has only {best.games}, but lies above the intervals of all of them"
            * (best.games < BEST_MIN_GAMES)
        )
        lines += _claim_lines(claim, "return", best.label, league)
    return lines


def _best_lines(
    name: str, table: RatingTable, claim: BestOfMany, role: str | None, league: League
) -> list[str]:
    rows = [row for row in table.rows if row.snapshot is None or role in (None, row.role)]
    best = best_standing(rows)
    if best is None:
        return [f"{name}: none yet; {why_no_best(rows)}"]
    label = f"{best.label} ({best.player.name[:ID_DIGITS]})"
    low = number_text(best.low, table.objective)
    chosen = (
        f"{name} is {label}: the highest lower end, {low}, of its {claim.candidates} snapshots "
        f"that play and have {BEST_MIN_GAMES} games or more"
    )
    return [chosen, *_claim_lines(claim, table.objective, best.label, league)]


def _claim_lines(
    claim: BestOfMany, objective: ObjectiveKind, best: str, league: League
) -> list[str]:
    """What may be claimed of the best although it was chosen among many."""
    lines = []
    if claim.low is not None and claim.own_low is not None:
        among = f"{claim.may_be_best} of {claim.candidates} may be the best"
        random = "; so may random" if claim.may_be_random else ""
        among += ", an untrained one among them" if claim.may_be_untrained else ""
        low, own = (number_text(one, objective) for one in (claim.low, claim.own_low))
        lines.append(
            f"  chosen among {claim.candidates}: it is at least {own}, the best of them "
            f"({claim.low_of}) is at least {low} (95 %, for all of them at once); {among}{random}"
        )
    if (fresh := fresh_strength(league, claim.fresh)) is not None:
        which = f"match {claim.fresh[0]}"
        if len(claim.fresh) > 1:
            numbers = ", ".join(map(str, claim.fresh))
            which = f"all {len(claim.fresh)} fresh matches ({numbers})"
        lines.append(f"  fresh games, {which} {fresh.seated}: {_fresh_text(fresh)}")
    else:
        lines.append(f"  without fresh games; play them: arena match {best} random --fresh")
    return lines


def _fresh_text(fresh: FreshStrength) -> str:
    """The strength in games that chose nothing."""
    value, low, high = (
        None if number is None else number_text(number, fresh.objective)
        for number in (fresh.value, fresh.low, fresh.high)
    )
    value = "" if value is None else f"{value} "
    if fresh.objective != "win":
        units = "units" if fresh.objective == "margin" else "seeds"
        return f"{value}a game {_ends(low, high)}, {fresh.units} {units}"
    return f"Elo {value}{_ends(low, high)}, {fresh.units} games"


def _ends(low: str | None, high: str | None) -> str:
    """An interval in words; an end that it does not have is left out."""
    if low is None and high is None:
        return "without bounds"
    if high is None:
        return f">= {low}"
    return f"<= {high}" if low is None else f"[{low}, {high}]"


def why_no_best(table: Sequence[Standing]) -> str:
    """What is missing for a `@best`, and what to do."""
    snapshots = [row for row in table if row.snapshot is not None]
    if not snapshots:
        return (
            "no evaluation game was played yet; they begin when the first snapshots are "
            "there: train on"
        )
    played = [row for row in snapshots if row.total.games >= BEST_MIN_GAMES]
    if not played:
        most = max(snapshots, key=lambda row: row.total.games)
        return (
            f"it takes {BEST_MIN_GAMES} evaluation games, and {most.label} has most, "
            f"{most.total.games}: train on"
        )
    if all(row.low is None for row in played):
        return (
            "no chain of games connects the players to random: arena match "
            f"{played[0].label} random"
        )
    return "the weights of every player with enough games were removed: train on"


def number_text(value: float | None, objective: ObjectiveKind) -> str:
    assert value is not None
    # Rounded to whole numbers first: a float may be printed as "-0".
    if objective == "return":
        return f"{value:.4g}"
    return f"{round(value):+d}" if objective == "win" else f"{value:+.3g}"
