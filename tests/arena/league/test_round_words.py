"""The verdict of a round for people."""

from arena.league.round_words import verdict_for_people

SHARED = (
    "rank 2 of 2 at 10 frames, return +1.5 a game over 40 games, -0.5 on common opponents: does "
    "not copy m0 (return +2): return +0.5 a game, 1.2 standard errors ahead on 3 common opponents"
)


def test_where_returns_count_a_member_meets_partners() -> None:
    assert verdict_for_people(SHARED).endswith("1.2 standard errors ahead on 3 common partners")
    assert ", -0.5 on common partners: " in verdict_for_people(SHARED)


def test_where_games_are_won_it_meets_opponents() -> None:
    won = SHARED.replace("return", "margin")
    assert verdict_for_people(won) == won
