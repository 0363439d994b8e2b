"""Scores: what counts, and that a window computed again from stored games is equal to the bit."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.errors import EngineError, EnvError
from pbt.objective import ObjectiveKind
from pbt.population.scores import Counted, Detail, ScoreWindow, counted_games
from pbt.records import Against, GameKind, GameRecord, MemberScore, PlayerRef, SeatRecord
from pbt.saved import SavedWindow
from tests.pbt.population.rounds import score_games
from tests.pbt.told_games import count_game

M0, M1 = PlayerRef("member", "m0"), PlayerRef("member", "m1")
OLD_M0 = PlayerRef("snapshot", "m0")


def seat(player: PlayerRef, place: int, returns: float = 0.0) -> SeatRecord:
    return SeatRecord(player, 0, 0, 0, place, returns)


def game(
    *seats: SeatRecord, number: int = 0, kind: GameKind = "training", end_reason: str = "rules"
) -> GameRecord:
    return GameRecord(number, 0, number, kind, 1, seats, 10, 10, end_reason, "hash")


def counted_of(record: GameRecord, member: str, objective: ObjectiveKind) -> list[Counted]:
    """The game as it counts for the member, if it does."""
    return [game for name, _, game in counted_games(record, objective) if name == member]


def points_of(record: GameRecord, member: str, objective: ObjectiveKind) -> float | None:
    return next((game.points for game in counted_of(record, member, objective)), None)


def opponent(record: GameRecord) -> str:
    """Of m0, whether it won or not."""
    return counted_of(record, "m0", "return")[0].opponent


@pytest.mark.parametrize(
    ("record", "wins", "returns"),
    [
        (game(seat(M0, 0, 1.0), seat(M1, 1, -1.0)), 1.0, 1.0),
        (game(seat(M1, 0, 1.0), seat(M0, 1, -1.0)), 0.0, -1.0),
        (game(seat(M0, 0, 0.5), seat(M1, 0, 0.5)), 0.0, 0.5),
        (game(seat(M0, 0, 1.0), seat(OLD_M0, 1)), 1.0, 1.0),
        (game(seat(M0, 0, 1.0), seat(M0, 1, -1.0)), None, 0.0),
        (game(seat(M0, 0, 3.0)), None, 3.0),
        (game(seat(M0, 2, 1.0), seat(M1, 1), seat(M0, 0, 2.0)), 1.0, 1.5),
        (game(seat(M0, 0, 1.0), seat(M0, 0, 2.0), seat(M1, 2)), 1.0, 1.5),
        (game(seat(M0, 0), seat(M0, 2), seat(M1, 0)), 0.0, 0.0),
        (game(seat(OLD_M0, 0), seat(M1, 1)), None, None),
        (game(seat(M0, 0), seat(M1, 1), kind="evaluation"), None, None),
        (game(seat(M0, 0), seat(M1, 1), end_reason="voided: worker died"), None, None),
        (game(seat(M0, 0), seat(PlayerRef("scripted", "random"), 1)), 1.0, 0.0),
    ],
)
def test_points_of_a_game(record: GameRecord, wins: float | None, returns: float | None) -> None:
    assert points_of(record, "m0", "win") == wins
    met_others = any(seat.player != M0 for seat in record.seats)
    assert points_of(record, "m0", "margin") == (returns if met_others else None)
    assert points_of(record, "m0", "return") == returns


@pytest.mark.parametrize("objective", ["margin", "return"])
def test_a_return_that_is_no_number_is_an_error_of_the_game(objective: ObjectiveKind) -> None:
    with pytest.raises(EnvError, match="game 7: the return of m0 is nan"):
        points_of(game(seat(M0, 0, math.nan), seat(M1, 1), number=7), "m0", objective)


def random_games(seed: int, count: int) -> list[GameRecord]:
    rng = random.Random(seed)
    games: list[GameRecord] = []
    number = 0
    for _ in range(count):
        number += rng.randint(1, 3)
        players = [
            rng.choice([M0, M1, PlayerRef("member", "m2"), OLD_M0])
            for _ in range(rng.randint(1, 3))
        ]
        seats = [
            seat(player, rng.randint(0, 1), rng.uniform(-1e3, 1e3) * 10 ** rng.randint(-9, 9))
            for player in players
        ]
        kind: GameKind = "training" if rng.random() < 0.8 else "evaluation"
        games.append(
            game(
                *seats,
                number=number,
                kind=kind,
                end_reason=rng.choice(["rules", "rules", "rules", "voided: test"]),
            )
        )
    return games


def begun_by(record: GameRecord, generation: int) -> GameRecord:
    """The game as begun by a later generation of m0."""
    return replace(
        record,
        seats=tuple(
            replace(one, generation=generation) if one.player == M0 else one for one in record.seats
        ),
    )


@pytest.mark.parametrize(
    ("objective", "detail"),
    [
        ("win", "plain"),
        ("win", "against"),
        ("margin", "squares"),
        ("margin", "against_squares"),
        ("return", "plain"),
        ("return", "squares"),
        ("return", "against_squares"),
    ],
)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 60),
    newest=st.integers(1, 20),
    restart_at=st.integers(0, 60),
)
def test_a_score_recomputed_from_rows_is_bit_equal(
    objective: ObjectiveKind, detail: Detail, seed: int, count: int, newest: int, restart_at: int
) -> None:
    # Behind the copy m0 finishes three games that its replaced weights began.
    games = [
        begun_by(record, 1) if index >= restart_at + 3 else record
        for index, record in enumerate(random_games(seed, count))
    ]
    window = ScoreWindow(objective, newest, detail)
    for index, record in enumerate(games):
        if index == restart_at:
            window.restart("m0", 1)
        if index == count // 2:
            saved = window.state()
            window = ScoreWindow(objective, newest, detail)
            window.load(saved)
        count_game(window, record)
    shuffled = random.Random(seed).sample(games, len(games))
    for member in ("m0", "m1", "m2", "absent"):
        score = window.score(member)
        since = restart_at + 3 if member == "m0" and restart_at < count else 0
        points = [
            value
            for record in games[since:]
            if (value := points_of(record, member, objective)) is not None
        ][-newest:]
        assert score.games == len(points)
        if points:
            assert score.objective == float(sum(map(Fraction, points))) / len(points)
        inside = [
            record for record in shuffled if score.first_game <= record.number <= score.last_game
        ]
        assert score_games(member, inside, objective, detail) == score
        assert bool(score.against) == (detail.startswith("against") and score.games > 0)
        if score.against:
            assert sum(part.games for part in score.against) == score.games
            total = float(sum(Fraction(part.points) for part in score.against))
            assert total == pytest.approx(score.objective * score.games, rel=1e-9, abs=1e-3)
        if detail == "against_squares" and score.squares is not None:
            check_analysis_of_variance(score)
        if score.squares is not None:
            spread = [(Fraction(value) - Fraction(score.objective)) ** 2 for value in points]
            assert score.squares == pytest.approx(float(sum(spread)), rel=1e-9)


def check_analysis_of_variance(score: MemberScore) -> None:
    """The squares of all games are those within opponents and those between them."""
    within = sum(part.squares for part in score.against if part.squares is not None)
    between = sum(
        part.games * (part.points / part.games - score.objective) ** 2 for part in score.against
    )
    assert within + between == pytest.approx(score.squares, rel=1e-9)


def test_no_games_yet() -> None:
    assert ScoreWindow("win", 5).score("m0") == MemberScore("m0", 0, 0.0, -1, -1)


def test_an_altered_row_changes_the_recomputed_score() -> None:
    games = [
        game(seat(M0, number % 2), seat(M1, 1 - number % 2), number=number) for number in range(10)
    ]
    window = ScoreWindow("win", 100)
    for record in games:
        count_game(window, record)
    stored = window.score("m0")
    flipped = replace(
        games[3], seats=tuple(replace(one, place=1 - one.place) for one in games[3].seats)
    )
    assert score_games("m0", [*games[:3], flipped, *games[4:]], "win") != stored
    assert score_games("m0", games[1:], "win") != stored
    assert score_games("m0", [*games, *games[4:5]], "win") != stored


def test_a_smaller_window_after_a_resume_keeps_the_newest() -> None:
    window = ScoreWindow("win", 10)
    for number in range(10):
        count_game(window, game(seat(M0, 0), seat(M1, 1), number=number))
    smaller = ScoreWindow("win", 3)
    smaller.load(window.state())
    assert smaller.score("m0") == MemberScore("m0", 3, 1.0, 7, 9)


def test_game_numbers_must_ascend() -> None:
    window = ScoreWindow("win", 10)
    count_game(window, game(seat(M0, 0), seat(M1, 1), number=5))
    with pytest.raises(EngineError, match="game 5 of m"):
        count_game(window, game(seat(M0, 0), seat(M1, 1), number=5))


def test_opponents_have_names() -> None:
    assert opponent(game(seat(M0, 0), seat(OLD_M0, 1))) == "snapshot m0"
    assert opponent(game(seat(M0, 0), replace(seat(M1, 1), generation=3))) == "member m1 3", (
        "a copy is another opponent"
    )
    assert opponent(game(seat(M0, 0), seat(M0, 1), seat(M1, 2))) == "member m1 0"
    assert opponent(game(seat(M0, 0), seat(OLD_M0, 1), seat(M1, 2))) == "several"
    assert opponent(game(seat(M0, 0), seat(M0, 1))) == "itself"


def test_games_without_opponents_count_only_where_no_score_asks_for_them() -> None:
    older = SavedWindow({"m0": [(3, 1.0, 0), (5, 0.0, 0)]}, [""], {})
    plain, fair = ScoreWindow("win", 10), ScoreWindow("win", 10, "against")
    plain.load(older)
    fair.load(older)
    assert plain.score("m0") == MemberScore("m0", 2, 0.5, 3, 5)
    count_game(fair, game(seat(M0, 0), seat(M1, 1), number=7))
    assert fair.score("m0") == MemberScore(
        "m0", 1, 1.0, 7, 7, None, (Against("member m1 0", 1, 1.0),)
    )
    asked_later = ScoreWindow("win", 10, "against")
    asked_later.load(plain.state())
    assert asked_later.score("m0").games == 0


def test_another_objective_ends_the_windows_and_keeps_the_generations() -> None:
    window = ScoreWindow("margin", 10)
    window.restart("m0", 1)
    count_game(window, begun_by(game(seat(M0, 0, 5.0), seat(M1, 1, -5.0), number=3), 1))
    assert window.score("m0").games == window.score("m1").games == 1
    window.restart_all()
    assert window.score("m0").games == window.score("m1").games == 0
    # A game of the generation before the copy still does not count.
    count_game(window, game(seat(M0, 0, 5.0), seat(M1, 1, -5.0), number=4))
    assert (window.score("m0").games, window.score("m1").games) == (0, 1)
