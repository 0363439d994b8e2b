"""The words on a match: its verdict in one sentence, and the warnings about its numbers."""

from arena.guests.program import FORFEIT_PREFIX
from arena.matches.match_result import MatchResult
from arena.stats.intervals import mean_interval
from arena.stats.sprt import UNITS

FEW_DISTINCT = 0.5
_OPENINGS = "more opening plies (evaluation.opening_plies) would help"


def verdict(result: MatchResult) -> str:
    """One sentence on which player is stronger, with its confidence."""
    if result.table is not None:
        return _table_verdict(result)
    stats, test = result.duel, result.test
    if test is not None and test.state != "continue":
        strength = (
            _at_least(test.sprt.elo0) if test.state == "accept H1" else _below(test.sprt.elo1)
        )
        unit = UNITS[test.sprt.model]
        return f"{side_names(result)[0]} is {strength} (sequential test, {unit}{_doubt(result)})"
    if result.same_player:
        return _verdict_on_one(result)
    if result.plan.seating.alone:
        return _verdict_alone(result)
    winner = _ahead(side_names(result), stats.low, stats.high, 0.5)
    return f"{winner} is stronger (95 %{_doubt(result)})" if winner else _undecided(result)


def _ahead(names: tuple[str, str], low: float, high: float, even: float) -> str | None:
    """The player on whose side of `even` the interval lies; None where the interval holds it."""
    return names[0] if low > even else names[1] if high < even else None


def _at_least(elo0: float) -> str:
    """The strength in words, when a strength of `elo0` or less was rejected."""
    if elo0 < 0:
        return f"weaker by less than {-elo0:g}, if at all"
    return f"stronger by more than {elo0:g}" if elo0 else "stronger"


def _below(elo1: float) -> str:
    """The strength in words, when a strength of `elo1` or more was rejected."""
    if elo1 > 0:
        return f"stronger by less than {elo1:g}, if at all"
    return f"weaker by more than {-elo1:g}" if elo1 else "weaker"


def _verdict_on_one(result: MatchResult) -> str:
    """The verdict on a match of a player with itself."""
    stats, interval = result.duel, _lead_interval(result)
    differences = ["the score off 50 %"] if not stats.low <= 0.5 <= stats.high else []
    differences += (
        ["the lead off 0"] if interval is not None and not interval[0] <= 0 <= interval[1] else []
    )
    return "the same player twice: " + (
        f"{' and '.join(differences)}, which chance does in one match of twenty"
        if differences
        else "even, as expected"
    )


def _verdict_alone(result: MatchResult) -> str:
    """The verdict on games of one seat.

    Winning more seeds and returning more in the mean are two questions; both are answered.
    """
    stats, names, interval = result.duel, side_names(result), _lead_interval(result)
    winner = _ahead(names, stats.low, stats.high, 0.5)
    leader = None if interval is None else _ahead(names, *interval, 0.0)
    if winner is None and leader is None:
        return _undecided(result)
    if winner == leader:
        return (
            f"{winner} is stronger: it wins more seeds and returns more in the mean (95 "
            f"%{_doubt(result)})"
        )
    wins = f"{winner} wins more seeds" if winner else "which player wins more seeds is not decided"
    means = (
        f"{leader} returns more in the mean"
        if leader
        else "which player returns more in the mean is not decided"
    )
    return f"{wins}, {means} (95 %{_doubt(result)})"


def _lead_interval(result: MatchResult) -> tuple[float, float] | None:
    """95 % interval of how much more the first player returned on the same seed.

    None where all leads are equal, and in games of more seats.
    """
    return mean_interval([own - other for own, other in result.returns])


def _undecided(result: MatchResult) -> str:
    return f"not decided (95 %); four times the games, {halving_games(result)}, halve the interval"


def side_names(result: MatchResult) -> tuple[str, str]:
    """Names of the two players; equal names are told apart by "(first)" and "(second)"."""
    a, b = result.a.label, result.b.label
    return (a, b) if a != b else (f"{a} (first)", f"{b} (second)")


def _table_verdict(result: MatchResult) -> str:
    """The verdict on a match of more than two players."""
    table = result.table
    assert table is not None
    best, second = table.standings[:2]
    name = result.plan.players[best.player].label
    if best.mean_place.high < second.mean_place.low:
        return f"{name} comes first (95 %{_doubt(result)})"
    return f"{name} leads; intervals overlap, so the first place is not decided (95 %)"


def halving_games(result: MatchResult) -> int:
    """Number of games that would halve the interval: four times the games."""
    return 4 * len(result.records)


def warnings(result: MatchResult) -> list[str]:
    """Texts on everything that makes the numbers doubtful."""
    texts = list(result.notes)
    if _repeats(result):
        distinct, games = distinct_games(result), len(result.records)
        advice = (
            "play without --greedy"
            if result.plan.greedy
            else _OPENINGS
            if result.plan.opening_plies
            else "these players hardly ever vary"
        )
        texts.append(
            f"only {distinct} of {games} games are distinct, so the interval is too narrow; "
            f"{advice}"
        )
    if result.left_out:
        units = "pairs" if result.table is None else "blocks"
        texts.append(f"games of unfinished {units} are left out: {result.left_out}")
    if result.test is not None and result.test.state != "continue":
        texts.append(
            "the sequential test chose when to stop, so score and Elo lean the way it decided; "
            "their intervals are confidence sequences, which hold at any stop, and a match of "
            "fixed length estimates them better"
        )
    if forfeits := [
        record.end_reason
        for record in result.records
        if record.end_reason.startswith(FORFEIT_PREFIX)
    ]:
        texts.append(
            f"forfeited games count as lost; first: {forfeits[0].removeprefix(FORFEIT_PREFIX)}"
        )
    if result.errors:
        texts.append(f"the game raised; first: {result.errors[0]}")
    return texts


def _repeats(result: MatchResult) -> bool:
    """Whether most games repeat earlier ones of the match.

    Short games with chance are often alike, yet each was drawn anew: they do not count as repeats.
    """
    return distinct_games(result) < FEW_DISTINCT * len(result.records) and (
        result.plan.greedy or not result.plan.chance
    )


def _doubt(result: MatchResult) -> str:
    """The condition of a verdict, where it cannot be taken for granted; else empty."""
    return ", if games that are alike were independent" if _repeats(result) else ""


def distinct_games(result: MatchResult) -> int:
    """Number of different games, by their actions."""
    return len({record.trajectory_hash for record in result.records})
