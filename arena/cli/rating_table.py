"""The rating table for people: one row per player, ordered by the lower end of its interval.

Where players play several roles, each role has a table, with ranks of its own.

Below the table stand the circles in which players beat each other: no rating can express them.
"""

from collections.abc import Sequence

from arena.cli.best_text import best_lines, number_text, return_best_lines, why_no_best
from arena.cli.margin_cells import Margins, margin_text, margins_of, mean_margin
from arena.cli.output import print_table
from arena.cli.rating_distances import Distances, distance_lines, to_best, to_middle
from arena.cli.return_table import print_returns
from arena.league.circles import circles_of
from arena.league.database import League
from arena.league.rating_models import ANCHOR, RatedPlayer
from arena.league.ratings import (
    RatingTable,
    Standing,
    best_standing,
    by_lower_bound,
    by_role,
    is_provisional,
    is_ranked,
    ranks_of,
)
from arena.league.summaries import roles_of
from arena.python.ratings import PopulationScope
from arena.stats.bradley_terry import BEST_MIN_GAMES
from arena.stats.cycles import CYCLE_LEVEL
from arena.stats.intervals import wilson_interval
from arena.stats.score import Tally
from arena.words import number_of
from pbt.objective import OBJECTIVE_WORDS, ObjectiveKind
from pbt.records import PlayerRef

# A share of the variance of results; above it the order of the table says little.
MUCH_IN_CIRCLES = 0.25
_DECISIVE = {"win": "what decides games", "margin": "the margins", "return": "the returns"}
TOP_ROWS, TOP_CYCLES = 20, 5
ID_DIGITS = 8
_COLUMNS = (
    ">rank",
    "player",
    "id",
    ">rating",
    ">games",
    ">W/D/L",
    ">score",
    ">vs best",
    ">vs random",
    ">to best",
    ">to middle",
    ">met",
)
# Columns that are left out on a narrow screen, in this order.
_SPARE = (
    "met",
    "to middle",
    "to best",
    "W/D/L",
    "vs random",
    "id",
    "score",
    "games",
    "vs best",
)


def print_league(league: League, name: str, *, everyone: bool = False, top: int = TOP_ROWS) -> None:
    """Print the table of one population, and below it which player `@best` is. Raises: PlayerError.

    everyone  together with the other populations of the same game
    top       print this many rows; 0 prints all
    """
    rated = PopulationScope(name, everyone).rated(league)
    roles = roles_of(league, name)
    if rated.returns is not None:
        print_returns(name, rated.returns.rows, top, roles)
        for line in return_best_lines(league, name, rated.returns, roles):
            print(line)
    elif not rated.table.rows:
        print(f"population {name}: {why_no_best(rated.table.rows)}")
    else:
        print_standings(rated.title, rated.table, top)
        for line in best_lines(league, name, rated.own or rated.table, roles):
            print(line)


def print_standings(title: str, table: RatingTable, top: int = TOP_ROWS) -> None:
    """Print a table of ratings with its notes, for each role where there are several.

    top  as for `print_league`, of each role
    """
    if not table.rows:
        print(f"{title}: {why_empty(table)}")
        return
    columns = [f">{rating_head(table)}" if one == ">rating" else one for one in _COLUMNS]
    shown: list[Standing] = []
    for number, (role, rows) in enumerate(by_role(by_lower_bound(table.rows)).items()):
        print("\n" * (number > 0), end="")
        some = rows if top == 0 else rows[:top]
        heading = title if role is None else f"{title}, role {role}"
        print_table(columns, _cells(table, rows, some, role), title=heading, spare=_SPARE)
        if len(some) < len(rows):
            print(f"... and {len(rows) - len(some)} more: --top 0 shows all")
        shown += some
        for line in distance_lines(table, rows):
            print(line)
    print(f"{rating_words(table)}.")
    for note in table.rated.notes:
        print(f"{note[0].upper()}{note[1:]}.")
    if any(is_provisional(row) for row in shown if row.player != ANCHOR):
        print(
            f"? = provisional: fewer than {BEST_MIN_GAMES} games, or no chain of games to "
            "the others."
        )
    if any(is_weightless(row) for row in shown):
        print("* = its weights were removed: its games still count, but it plays no more.")
    for line in circle_lines(table):
        print(line)


def why_empty(table: RatingTable) -> str:
    """Why a table has no row."""
    if table.objective == "return":
        return (
            "returns count, and no player beats another; `arena league POPULATION` has mean "
            "returns, and `arena match --resume NUMBER` shows a match again"
        )
    return "no evaluation game and no match between two players yet"


def circle_lines(table: RatingTable) -> list[str]:
    """What the circles say about the ratings; nothing for two players, who make no circle."""
    if len(table.rows) < 3:
        return []
    circles = circles_of(table)
    cycles, share = circles.cycles, circles.share
    names = {row.player: row.label for row in table.rows}
    rings = [((cycle.a, cycle.b, cycle.c, cycle.a), cycle.p) for cycle in cycles[:TOP_CYCLES]]
    lines = [
        f"Circle: {' > '.join(names[player] for player in ring)} (p {_p_text(p)})."
        for ring, p in rings
    ]
    if len(cycles) > TOP_CYCLES:
        more = number_of(len(cycles) - TOP_CYCLES, "circle")
        lines.append(f"... and {more} more: --json lists all.")
    if share.p >= CYCLE_LEVEL:
        if not cycles:
            lines.append("No circles: ratings explain the results as well as chance allows.")
        return lines
    warning = (
        "; the order above says little, see `arena matrix`" if share.share > MUCH_IN_CIRCLES else ""
    )
    return [
        *lines,
        (
            f"Cyclic share {share.share:.0%} of {_DECISIVE[table.objective]} is in circles that no "
            f"rating explains (p {_p_text(share.p)}){warning}."
        ),
    ]


def _p_text(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-6 else "< 1e-6"


def rating_words(table: RatingTable) -> str:
    """What the numbers are, and where their zero is."""
    what = "Elo" if table.objective == "win" else OBJECTIVE_WORDS[table.objective].number
    anchored = not table.rows or any(row.player == ANCHOR for row in table.rows)
    zero = "random = 0" if anchored else "mean = 0, since `random` never played"
    if by_panel(table):
        zero = "zero = mean of the panel"
    return (
        f"{what} from evaluation games and matches ({table.rated.model}, {zero}), with 95 % "
        "intervals; ordered by the lower end"
    )


def by_panel(table: RatingTable) -> bool:
    """Whether the numbers are mean margins against a panel, so that `random` is not their zero."""
    return table.rated.facts.get("ranked_by") == "panel"


def rating_head(table: RatingTable) -> str:
    """The head of the column of ratings."""
    heading = "Elo" if table.objective == "win" else OBJECTIVE_WORDS[table.objective].heading
    return f"{heading} [95 %]"


def leader(table: Sequence[Standing]) -> Standing | None:
    """The player that the column `vs best` compares with; None while all players are provisional.

    It is `@best`; where no player can be `@best`, it is the first of the ranked ones.
    """
    ranked = (
        row for row in by_lower_bound(table) if row.player != ANCHOR and not is_provisional(row)
    )
    return best_standing(table) or next(ranked, None)


def predicted_score(table: RatingTable, row: Standing, best: Standing | None) -> float | None:
    """The score that the ratings predict against the best player.

    None for the best itself, where one of the two has no rating, and where ratings are margins.
    """
    expected = table.rated.expected
    if best is None or row.player == best.player or expected is None:
        return None
    if row.rating is None or best.rating is None:
        return None
    return expected(row.rating - best.rating)


def _cells(
    table: RatingTable, rows: Sequence[Standing], shown: Sequence[Standing], role: str | None
) -> list[tuple[str, ...]]:
    """The cells of the shown rows, which are the first ones. role: of all rows, as `ranks_of`."""
    ranks, best, margins = ranks_of(rows, role), leader(rows), margins_of(table)
    top, middle = to_best(table, rows), to_middle(table, rows)
    return [
        (
            str(rank) if rank is not None else "?" if is_ranked(row, role) else "",
            _name(row),
            _id_text(row.player),
            rating_text(row, table),
            str(row.total.games),
            f"{row.total.wins}/{row.total.draws}/{row.total.losses}",
            _score(table, row),
            _versus_best(table, row, best, margins),
            _versus_random(table, row, margins),
            _distance_text(table, row, top),
            _distance_text(table, row, middle),
            str(len(row.results)),
        )
        for rank, row in zip(ranks, shown, strict=False)
    ]


def _name(row: Standing) -> str:
    if row.snapshot is None and row.player.kind == "snapshot":
        return "(deleted)"
    return f"{row.label}*" if is_weightless(row) else row.label


def is_weightless(row: Standing) -> bool:
    return row.snapshot is not None and row.snapshot.weights_removed


def _id_text(player: PlayerRef) -> str:
    """The beginning of a snapshot's id; "guest" for a program, which may change under its name."""
    if player.kind == "snapshot":
        return player.name[:ID_DIGITS]
    return "" if player.kind == "scripted" else player.kind


def _versus_best(table: RatingTable, row: Standing, best: Standing | None, margins: Margins) -> str:
    """The score against the best with its interval; in brackets a prediction, if unplayed.

    Where margins count, the mean margin with its interval.
    """
    if best is None or row.player == best.player:
        return ""
    if table.objective == "margin":
        return margin_text(margins.get((row.player, best.player)))
    direct = row.results.get(best.player)
    if direct is not None:
        low, high = wilson_interval(direct.score, direct.games)
        return f"{direct.score:.0%} [{100 * low:.0f}, {100 * high:.0f}]"
    predicted = predicted_score(table, row, best)
    return "" if predicted is None else f"({predicted:.0%})"


def rating_text(row: Standing, table: RatingTable) -> str:
    """`+312 [+250, +374]`, ">= +640" without an upper end, 0 for the anchor, or a dash."""
    if row.player == ANCHOR and not by_panel(table):
        return "0"
    return _interval_text(row, table.objective)


def _interval_text(one: Standing | RatedPlayer, objective: ObjectiveKind) -> str:
    """As `rating_text`. objective: Elo are whole numbers, margins are not."""
    if one.rating is None or (one.low is None and one.high is None):
        return "-"
    if one.high is None:
        return f">= {number_text(one.low, objective)}"
    if one.low is None:
        return f"<= {number_text(one.high, objective)}"
    low, high = number_text(one.low, objective), number_text(one.high, objective)
    return f"{number_text(one.rating, objective)} [{low}, {high}]"


def _distance_text(table: RatingTable, row: Standing, distances: Distances | None) -> str:
    found = None if distances is None else distances.of(row)
    return "" if found is None else _interval_text(found, table.objective)


def _score(table: RatingTable, row: Standing) -> str:
    """The score against all opponents; where margins count, the mean margin."""
    if table.objective != "margin":
        return _percent(row.total)
    mean = mean_margin(table, row.player)
    return "" if mean is None else number_text(mean, "margin")


def _versus_random(table: RatingTable, row: Standing, margins: Margins) -> str:
    """As `_score`, against `random`."""
    if table.objective != "margin":
        return _percent(row.against_random)
    margin = margins.get((row.player, ANCHOR))
    return "" if margin is None else number_text(margin.mean, "margin")


def _percent(tally: Tally | None) -> str:
    return f"{tally.score:.1%}" if tally is not None else ""
