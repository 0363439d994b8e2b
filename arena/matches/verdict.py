"""The words on a match: its verdict in one sentence, and the warnings about its numbers."""

from collections.abc import Sequence

from arena.guests.program import FORFEIT_PREFIX
from arena.matches.match_result import PlayedMatch, TableResult
from arena.matches.seating import SeatHolder
from arena.stats.cross_play import CrossPlay
from arena.stats.intervals import mean_interval
from arena.stats.margin import MarginStatistics
from arena.stats.sprt import UNITS

FEW_DISTINCT = 0.5
_OPENINGS = "more opening plies (evaluation.opening_plies) would help"


def verdict(result: PlayedMatch) -> str:
    """One sentence on which player is stronger, with its confidence."""
    if result.partners is not None:
        return _partners_verdict(result, result.partners)
    if result.table is not None:
        return _table_verdict(result, result.table)
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
    if result.margin is not None:
        return _margin_verdict(result, result.margin)
    winner = _ahead(side_names(result), stats.low, stats.high, 0.5)
    return f"{winner} is stronger (95 %{_doubt(result)})" if winner else _undecided(result)


def _margin_verdict(result: PlayedMatch, margin: MarginStatistics) -> str:
    """The verdict by the mean margin, whatever the number of games won."""
    if margin.low is None or margin.high is None:
        return _undecided(result)
    winner = _ahead(side_names(result), margin.low, margin.high, 0.0)
    if winner is None:
        return _undecided(result)
    return f"{winner} is stronger by margin (95 %{_doubt(result)})"


def _ahead(names: tuple[str, str], low: float, high: float, even: float) -> str | None:
    """The player on whose side of `even` the interval lies; None where the interval holds it."""
    return names[0] if low > even else names[1] if high < even else None


def _at_least(elo0: float) -> str:
    """The strength in words, when a strength of `elo0` or less was rejected."""
    if elo0 < 0:
        return f"not weaker by {-elo0:g} or more"
    return f"stronger by more than {elo0:g}" if elo0 else "stronger"


def _below(elo1: float) -> str:
    """The strength in words, when a strength of `elo1` or more was rejected."""
    if elo1 > 0:
        return f"not stronger by {elo1:g} or more"
    return f"weaker by more than {-elo1:g}" if elo1 else "weaker"


def _verdict_on_one(result: PlayedMatch) -> str:
    """The verdict on a match of a player with itself."""
    stats, interval = result.duel, _lead_interval(result)
    differences = ["the score off 50 %"] if not stats.low <= 0.5 <= stats.high else []
    differences += (
        ["the lead off 0"] if interval is not None and not interval[0] <= 0 <= interval[1] else []
    )
    return _one_player_verdict(differences)


def _one_player_verdict(differences: Sequence[str]) -> str:
    """The verdict on a player that met itself. differences: what came out uneven."""
    return "the same player twice: " + (
        f"{' and '.join(differences)}, which chance does in one match of twenty"
        if differences
        else "even, as expected"
    )


def _verdict_alone(result: PlayedMatch) -> str:
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


def _lead_interval(result: PlayedMatch) -> tuple[float, float] | None:
    """95 % interval of how much more the first player returned on the same seed.

    None where all leads are equal, and in games of more seats.
    """
    return mean_interval([own - other for own, other in result.returns])


def _undecided(result: PlayedMatch) -> str:
    return f"not decided (95 %); four times the games, {halving_games(result)}, halve the interval"


def side_names(result: PlayedMatch) -> tuple[str, str]:
    """Names of the two players; equal names are told apart by "(first)" and "(second)"."""
    a, b = result.a.label, result.b.label
    return (a, b) if a != b else (f"{a} (first)", f"{b} (second)")


def _table_verdict(result: PlayedMatch, table: TableResult) -> str:
    """The verdict on a match at larger tables, or of more than two players."""
    if result.plan.seating.kind == "roles":
        return _roles_verdict(result, table)
    best, second = table.standings.standings[:2]
    names, doubt = [player.label for player in result.plan.players], _doubt(result)
    if len(names) == 2:
        low, high = table.standings.low[0, 1], table.standings.high[0, 1]
        if result.same_player:
            return _one_player_verdict(["the score off 50 %"] if not low <= 0.5 <= high else [])
        sides = names[best.player.player], names[second.player.player]
        winner = _ahead(sides, low, high, 0.5)
        return f"{winner} is stronger (95 %{doubt})" if winner else _undecided(result)
    name = names[best.player.player]
    if best.mean_place.high < second.mean_place.low:
        return f"{name} comes first (95 %{doubt})"
    return f"{name} leads; intervals overlap, so the first place is not decided (95 %)"


def _roles_verdict(result: PlayedMatch, table: TableResult) -> str:
    """The best player of each role that several players held."""
    taken: dict[str | None, list[SeatHolder]] = {}
    for one in sorted(table.returns):
        taken.setdefault(one.role, []).append(one)
    texts = []
    for role, ones in taken.items():
        if len(ones) < 2:
            continue
        best = max(ones, key=lambda one: min(_lead(table, one, other) for other in ones))
        sure = all(table.leads[best, other].sign > 0 for other in ones if other != best)
        name = result.plan.players[best.player].label
        texts.append(
            f"as {role}, {name} is best (95 %{_doubt(result)})"
            if sure
            else f"as {role}, {name} leads, which is not decided (95 %)"
        )
    return "; ".join(texts) or (
        "every role has one player, so none can be compared; name a second one for a role, such as "
        "random"
    )


def _lead(table: TableResult, one: SeatHolder, other: SeatHolder) -> float:
    return 0.0 if one == other else table.leads[one, other].value


def _partners_verdict(result: PlayedMatch, found: CrossPlay) -> str:
    """Which player returns most with itself, and whether strangers return less together."""
    names = [player.label for player in result.plan.players]
    ahead = {(i, j): lead.sign for i, j, lead in found.leads}
    ahead |= {(j, i): -sign for (i, j), sign in ahead.items()}
    if result.same_player:
        off = ["self-play"] if any(ahead.values()) else []
        return _one_player_verdict(off + (["the gap off 0"] if found.gap.sign else []))
    numbers = range(len(names))
    best = [i for i in numbers if all(ahead[i, j] > 0 for j in numbers if j != i)]
    first = (
        f"{names[best[0]]} returns most with itself (95 %{_doubt(result)})"
        if best
        else "which player returns most with itself is not decided (95 %)"
    )
    gap = {
        1: "different players return less together than each with itself (95 %)",
        -1: "different players return more together than each with itself (95 %)",
        0: "whether different players return less together is not decided (95 %)",
    }[found.gap.sign]
    return f"{first}; {gap}"


def halving_games(result: PlayedMatch) -> int:
    """Number of games that would halve the interval: four times the games."""
    return 4 * len(result.records)


def warnings(result: PlayedMatch) -> list[str]:
    """Texts on everything that makes the numbers doubtful."""
    texts = list(result.notes)
    if _repeats(result):
        distinct, games = distinct_games(result), len(result.records)
        advice = (
            "play without --greedy (in Python greedy=)"
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
        units = "pairs" if result.plan.seating.block == 2 else "blocks"
        texts.append(f"games of unfinished {units} are left out: {result.left_out}")
    texts += _stop_notes(result)
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


def _stop_notes(result: PlayedMatch) -> list[str]:
    """What a sequential test that decided does to the numbers beside it."""
    test, margin = result.test, result.margin
    if test is None or test.state == "continue":
        return []
    numbers = "score, Elo and margin" if margin else "score and Elo"
    texts = [
        f"the sequential test chose when to stop, so {numbers} "
        "lean the way it decided; their intervals are confidence sequences, which hold at any "
        "stop, and a match of fixed length estimates them better"
    ]
    low, high, even = (
        (result.duel.low, result.duel.high, 0.5)
        if margin is None
        else (margin.low, margin.high, 0.0)
    )
    claims = test.sprt.elo0 >= 0 if test.state == "accept H1" else test.sprt.elo1 <= 0
    if claims and (low is None or low <= even) and (high is None or high >= even):
        texts.append(
            f"the interval holds {'0' if margin else '50 %'}, where both are equal, although the "
            "test decided: the test weighs two strengths against each other and errs in 5 %, the "
            "interval holds every strength that no look so far excludes, so it is wider"
        )
    return texts


def _repeats(result: PlayedMatch) -> bool:
    """Whether most games repeat earlier ones of the match.

    Short games with chance are often alike, yet each was drawn anew: they do not count as repeats.
    """
    return distinct_games(result) < FEW_DISTINCT * len(result.records) and (
        result.plan.greedy or not result.plan.chance
    )


def _doubt(result: PlayedMatch) -> str:
    """The condition of a verdict, where it cannot be taken for granted; else empty."""
    return ", if games that are alike were independent" if _repeats(result) else ""


def distinct_games(result: PlayedMatch) -> int:
    """Number of different games, by their actions."""
    return len({record.trajectory_hash for record in result.records})
