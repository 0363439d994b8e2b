"""What `bench.leduc_margins` counts: drawn matches, their agreement with the truth, and ratings."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc
from scipy.stats import spearmanr

from arena.matches.stored import margins_of
from arena.stats.margin_ratings import fit_margins
from arena.stats.margin_units import MarginResult
from arena.stats.score import MatchGame
from bench.leduc_hands import Floats, Hands, PairLaw

COVERED, APART, WRONG_SIDE, SPEARMAN, LEAST_P = (0.92, 0.98), 4.0, 4.0, 0.95, 1e-3
LEAST_EXPECTED = 5.0


def as_played(won: Floats) -> list[MatchGame]:
    """Games as a match has them. won: [pairs, 2] of the first player, in seat 0 and in seat 1"""
    return [
        MatchGame((np.sign(chips) + 1) / 2, seat == 0, pair, "drawn", chips)
        for pair, both in enumerate(won.tolist())
        for seat, chips in enumerate(both)
    ]


def drawn_match(
    hands: Hands, players: tuple[Floats, Floats], deals: int, seed: Sequence[int]
) -> dict[str, Any]:
    """A match drawn from the tables of two policies: the exact value, and what the match says."""
    law, rng = hands.law(*players), np.random.default_rng(seed)
    won = hands.drawn(*players, deals, rng)
    found = margins_of(as_played(won), "margin", None)
    assert found is not None and found.low is not None and found.deviation is not None
    apart = hands.drawn(*players, deals, rng, swapped=False).mean(axis=1)
    margins = won.mean(axis=1)
    return {
        "exact": law.value,
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "deviation": found.deviation,
        "total": float(margins.sum()),
        "squares": float(margins @ margins),
        "saved": float(apart.var(ddof=1)) / found.deviation**2,
        "saved_exact": law.apart / law.swapped,
    }


def chi_square(margins: Sequence[float], law: PairLaw) -> dict[str, float]:
    """Pearson's test of margins against their distribution.

    Neighbouring margins are put together until 5 are expected. Raises: AssertionError for a margin
    that the distribution does not have.
    """
    places = np.searchsorted(law.margins, margins)
    assert np.array_equal(law.margins[places], margins)
    seen = np.bincount(places, minlength=len(law.margins))
    expected = law.chances * len(margins)
    cells, open_cell = [], np.zeros(2)
    for cell in np.stack([seen, expected], axis=1):
        open_cell = open_cell + cell
        if open_cell[1] >= LEAST_EXPECTED:
            cells.append(open_cell)
            open_cell = np.zeros(2)
    cells[-1] = cells[-1] + open_cell
    counts, means = np.array(cells).T
    statistic = float(np.sum((counts - means) ** 2 / means))
    freedom = len(cells) - 1
    return {"chi_square": statistic, "freedom": freedom, "p": float(chdtrc(freedom, statistic))}


def rated(pairs: Sequence[dict[str, Any]], exact: Floats) -> dict[str, Any]:
    """The ratings from these pairs, beside the exact margins against the panel.

    exact  [players, players] the exact values
    """
    panel = exact.sum(axis=1) / (len(exact) - 1)
    results = [
        MarginResult(row["a"], row["b"], row["deals"], row["total"], row["squares"], paired=True)
        for row in pairs
    ]
    found = fit_margins(results, None)
    rows = sorted(found.ratings, key=lambda row: row.player)
    ratings = [row.value for row in rows if row.value is not None]
    measured = [row.panel.value for row in rows if row.panel is not None]
    return {
        "exact_panel": panel.tolist(),
        "ratings": ratings,
        "panel": measured,
        "spearman": float(spearmanr(ratings, panel).statistic),
        "panel_spearman": float(spearmanr(measured, panel).statistic),
        "tau": found.tau,
        "explained": found.explained,
        "ranked_by": found.ranked_by,
    }


def summary(stored: dict[str, Any]) -> dict[str, Any]:
    """What the pairs come to."""
    pairs, ratings = stored["pairs"], stored["ratings"]
    errors = [row["deviation"] / math.sqrt(row["deals"]) for row in pairs]
    off = [
        abs(row["mean"] - row["exact"]) / error for row, error in zip(pairs, errors, strict=True)
    ]
    wrong = [
        abs(row["mean"]) / error
        for row, error in zip(pairs, errors, strict=True)
        if row["mean"] * row["exact"] < 0
    ]
    saved = [row["saved"] for row in pairs]
    return {
        "pairs": len(pairs),
        "covered": sum(row["low"] <= row["exact"] <= row["high"] for row in pairs),
        "most_errors_off": max(off),
        "wrong_signs": len(wrong),
        "most_errors_on_wrong_side": max(wrong, default=0.0),
        "least_exact": min(abs(row["exact"]) for row in pairs),
        "greatest_exact": max(abs(row["exact"]) for row in pairs),
        "spearman": ratings["spearman"],
        "panel_spearman": ratings["panel_spearman"],
        "saved_mean": float(np.mean(saved)),
        "saved_least": min(saved),
        "saved_greatest": max(saved),
        "saved_exact_mean": float(np.mean([row["saved_exact"] for row in pairs])),
        "matches_covered": sum(
            row["low"] <= row["exact"] <= row["high"] for row in stored["matches"]
        ),
    }


def missed(stored: dict[str, Any]) -> list[str]:
    """The floors that these results miss, one line each."""
    found = summary(stored)
    least, most = (share * found["pairs"] for share in COVERED)
    lines = [
        f"match {row['a']}-{row['b']}: {row['errors_off']:.2f} standard errors off, chi-square's p "
        f"{row['p']:.2g}; expected at most {APART} and at least {LEAST_P}"
        for row in stored["matches"]
        if abs(row["errors_off"]) > APART or row["p"] < LEAST_P
    ]
    if not least <= found["covered"] <= most:
        lines.append(f"{found['covered']} intervals hold the value, expected {least:g} to {most:g}")
    if found["most_errors_on_wrong_side"] > WRONG_SIDE:
        lines.append(
            f"a mean lies {found['most_errors_on_wrong_side']:.2f} standard errors on the wrong "
            f"side of 0; expected at most {WRONG_SIDE}"
        )
    if found["spearman"] < SPEARMAN:
        lines.append(f"Spearman's correlation {found['spearman']:.4f}, at least {SPEARMAN}")
    return lines
