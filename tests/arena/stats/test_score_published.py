"""Our figures equal those that chess engine testers published for the same pairs.

The tables hold numbers only, each with the place where it was read.
"""

import pytest

from arena.stats.normalised_elo import normalised_elo
from arena.stats.score import superiority
from arena.stats.sprt import EloModel, Sprt, log_likelihood_ratio
from tests.arena.stats.test_score import match_of_pairs

Counts = tuple[int, int, int, int, int]

# Pairs by points (0, 0.5, 1, 1.5, 2), then Elo, half of its interval, nElo, LOS in %; None where
# none was printed.
ELO: dict[str, tuple[Counts, float, float | None, float, float | None]] = {
    "fastchess, app/tests/elo_test.cpp, EloPentanomial 1": (
        (34, 54, 31 + 32, 64, 75),
        55.58,
        27.65,
        57.94,
        100.00,
    ),
    "fastchess, app/tests/elo_test.cpp, EloPentanomial 2": (
        (332, 433, 457 + 41, 333, 334),
        -8.64,
        10.33,
        -9.17,
        5.05,
    ),
    "fastchess, app/tests/elo_test.cpp, EloPentanomial 3": (
        (7895, 8757, 5485 + 200, 568, 9999),
        -21.04,
        2.95,
        -19.01,
        None,
    ),
    "fastchess issue 807 (60 pairs)": ((30, 6, 18, 0, 6), -168.40, None, -170.08, 0.00),
    "fastchess output in princesslana/princhess pull request 343": (
        (1, 22, 52, 21, 4),
        8.69,
        None,
        15.51,
        73.60,
    ),
    "fastchess output in brunocodutra/cinder pull request 727": (
        (50, 287, 610, 387, 73),
        18.04,
        8.23,
        28.19,
        100.00,
    ),
    "fastchess output in lynx-chess/Lynx pull request 1899": (
        (235, 1384, 2521, 1341, 239),
        -1.06,
        4.05,
        -1.67,
        30.33,
    ),
}
# The same from fishtest: Elo ± , LOS, nElo ± with the share of skewness and kurtosis in it.
FISHTEST: dict[str, tuple[Counts, float, float, float, float, float]] = {
    "test 696a9e83cec152c6220c1d1d (60 000 games)": (
        (48, 3203, 14470, 11835, 444),
        55.03,
        1.4,
        100.0,
        112.79,
        3.0,
    ),
    "Stockfish pull request 6255 (10 000 games)": (
        (1, 137, 4659, 203, 0),
        2.22,
        1.3,
        100.0,
        12.00,
        6.8,
    ),
    "Stockfish pull request 4160 (60 000 games)": (
        (39, 5335, 18992, 5622, 12),
        1.35,
        1.2,
        98.6,
        3.13,
        2.8,
    ),
    "lichess-org/stockfish-web pull request 30 (20 000 games)": (
        (198, 2179, 4680, 2750, 193),
        9.75,
        2.7,
        100.0,
        17.15,
        4.8,
    ),
}
# Games lost, drawn, won, then nElo.
TRINOMIAL: dict[str, tuple[tuple[int, int, int], float]] = {
    "fastchess, app/tests/elo_test.cpp, EloWDL 1": ((89, 123, 76), -20.76),
    "fastchess, app/tests/elo_test.cpp, EloWDL 2": ((96, 111, 136), 49.77),
    "fastchess, app/tests/elo_test.cpp, EloWDL 3": ((356, 0, 34), -508.44),
}
# Pairs by points (or games lost, drawn, won), elo0, elo1, model, log-likelihood ratio, and the
# digits with which it was printed. fastchess' case of won pairs only is left out: its versions
# disagree (104 pairs in one, 5550 in the other, for the same 2.94), and neither is the maximum,
# which test_sprt.py finds by a general optimiser.
LLR: dict[str, tuple[Counts | tuple[int, int, int], float, float, EloModel, float, int]] = {
    "a published test of code that follows OpenBench, OpenBench/stats.py": (
        (39, 8843, 26675, 9240, 44),
        0.5,
        2.5,
        "normalised",
        2.94168,
        5,
    ),
    "fastchess, app/tests/sprt_test.cpp, normalized pentanomial 1": (
        (365, 16618, 36229, 16974, 390),
        0.0,
        2.0,
        "normalised",
        2.25,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, normalized pentanomial 2": (
        (127, 4883, 10712, 5150, 104),
        -1.75,
        0.25,
        "normalised",
        3.01,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, normalized trinomial 1": (
        (36027, 68692, 36433),
        0.0,
        2.0,
        "normalised",
        0.92,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, normalized trinomial 2": (
        (10650, 20431, 10871),
        -1.75,
        0.25,
        "normalised",
        2.30,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, logistic trinomial 1": (
        (21184, 40708, 21404),
        0.5,
        2.5,
        "logistic",
        -1.57,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, logistic trinomial 2": (
        (57030, 106593, 57433),
        0.0,
        2.0,
        "logistic",
        -2.59,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, logistic pentanomial 1": (
        (223, 9863, 21279, 10037, 246),
        0.5,
        2.5,
        "logistic",
        -3.07,
        2,
    ),
    "fastchess, app/tests/sprt_test.cpp, logistic pentanomial 2": (
        (871, 26175, 55983, 26678, 821),
        0.0,
        2.0,
        "logistic",
        -4.98,
        2,
    ),
    "fastchess pull request 882, 78 pairs": (
        (77, 1, 0, 0, 0),
        -1000.0,
        -500.0,
        "normalised",
        -2.95,
        2,
    ),
    "fastchess pull request 882, 82 pairs": (
        (72, 10, 0, 0, 0),
        -1000.0,
        -500.0,
        "normalised",
        -2.97,
        2,
    ),
    "fastchess output in brunocodutra/cinder pull request 727": (
        (50, 287, 610, 387, 73),
        0.0,
        5.0,
        "normalised",
        2.97,
        2,
    ),
    "fishtest, Stockfish pull request 6036, first test": (
        (1, 1098, 3954, 1346, 1),
        0.5,
        2.5,
        "normalised",
        2.94,
        2,
    ),
    "fishtest, Stockfish pull request 6036, second test": (
        (0, 1236, 4490, 1474, 1),
        0.0,
        2.0,
        "normalised",
        2.94,
        2,
    ),
    "fishtest, Stockfish pull request 6036, third test": (
        (4, 2290, 7932, 2562, 4),
        0.5,
        2.5,
        "normalised",
        2.95,
        2,
    ),
    "fishtest, Stockfish pull request 4493, STC": (
        (2002, 72968, 180891, 74129, 2034),
        0.0,
        2.0,
        "normalised",
        3.22,
        2,
    ),
    "fishtest, Stockfish pull request 4493, LTC": (
        (24, 7350, 23669, 7717, 28),
        0.5,
        2.5,
        "normalised",
        2.94,
        2,
    ),
    "fishtest, Stockfish pull request 6255, STC": (
        (317, 12094, 28735, 12231, 319),
        -1.75,
        0.25,
        "normalised",
        2.96,
        2,
    ),
    "fishtest, Stockfish pull request 6255, LTC": (
        (47, 9917, 26934, 10064, 45),
        -1.75,
        0.25,
        "normalised",
        2.94,
        2,
    ),
    "fishtest, Stockfish pull request 3209, STC": (
        (253, 4282, 17604, 4431, 286),
        -0.25,
        1.25,
        "logistic",
        2.94,
        2,
    ),
    "fishtest, Stockfish pull request 3209, LTC": (
        (58, 3302, 33130, 3518, 84),
        0.25,
        1.25,
        "logistic",
        2.97,
        2,
    ),
}


@pytest.mark.parametrize("source", ELO)
def test_elo_normalised_elo_and_los_of_fastchess(source: str) -> None:
    """The figures agree within the 1 % that the tests of fastchess allow.

    Our interval uses Student's t where theirs uses the normal quantile.
    """
    counts, elo, half, nelo, los = ELO[source]
    found, normalised = match_of_pairs(counts), normalised_elo(counts)
    assert found.elo == pytest.approx(elo, abs=0.005)
    assert found.elo_low is not None
    assert found.elo_high is not None
    if half is not None:
        assert (found.elo_high - found.elo_low) / 2 == pytest.approx(half, rel=0.01)
    assert normalised is not None
    assert normalised[0] == pytest.approx(nelo, abs=0.005)
    if los is not None:
        assert 100 * superiority(counts) == pytest.approx(los, abs=0.00501)


@pytest.mark.parametrize("source", FISHTEST)
def test_elo_normalised_elo_and_los_of_fishtest(source: str) -> None:
    counts, elo, half, los, nelo, nelo_half = FISHTEST[source]
    found, normalised = match_of_pairs(counts), normalised_elo(counts)
    assert found.elo == pytest.approx(elo, abs=0.005)
    assert found.elo_low is not None
    assert found.elo_high is not None
    assert (found.elo_high - found.elo_low) / 2 == pytest.approx(half, abs=0.05)
    assert 100 * found.los == pytest.approx(los, abs=0.05)
    assert normalised is not None
    assert normalised[0] == pytest.approx(nelo, abs=0.005)
    # Theirs is by the delta method; with so many pairs a bootstrap agrees.
    assert normalised[1] is not None and normalised[2] is not None
    assert (normalised[2] - normalised[1]) / 2 == pytest.approx(nelo_half, rel=0.03)


@pytest.mark.parametrize("source", TRINOMIAL)
def test_normalised_elo_of_unpaired_games(source: str) -> None:
    counts, nelo = TRINOMIAL[source]
    found = normalised_elo(counts)
    assert found is not None
    assert found[0] == pytest.approx(nelo, abs=0.005)


@pytest.mark.parametrize("source", LLR)
def test_log_likelihood_ratios(source: str) -> None:
    counts, elo0, elo1, model, llr, digits = LLR[source]
    assert float(log_likelihood_ratio(counts, elo0, elo1, model)) == pytest.approx(
        llr, abs=0.5 * 10**-digits
    )


def test_the_bounds_every_tester_prints() -> None:
    """-2.94 and 2.94 with both errors at 5 %; -2.25 and 2.89 with beta 10 % (Lynx PR 1899)."""
    assert (round(Sprt(0, 5).lower, 2), round(Sprt(0, 5).upper, 2)) == (-2.94, 2.94)
    assert (round(Sprt(0, 5, beta=0.1).lower, 2), round(Sprt(0, 5, beta=0.1).upper, 2)) == (
        -2.25,
        2.89,
    )
