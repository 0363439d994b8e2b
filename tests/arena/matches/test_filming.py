"""Games filmed from their start to their end, and what becomes of the film when something goes
wrong.
"""

import os
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from arena.matches.filming import check_place, film
from arena.players.resolve import resolve_players
from pbt.errors import EnvCrash, EnvError
from pbt.film.camera import pace_of, score_text
from pbt.film.extra import FilmError
from tests.arena.matches.lamps import STEPS, Lamps, lamps, random_players
from tests.pbt.film.reading import Found, read

SIDE = 12 * 36
# The result of a game is shown at once, and stays.
RESULT = 2


def brightness(found: Found, picture: int, tile: int) -> list[int]:
    """The middle pixel of a tile, of two that stand side by side."""
    return (
        np.round(found.pictures[picture][150, tile * (SIDE + 4) + SIDE // 2].astype(float))
        .astype(int)
        .tolist()
    )  # type: ignore[no-any-return]


def test_a_game_is_filmed_as_its_seats_see_it(tmp_path: Path) -> None:
    made = film(random_players(2), lamps(), tmp_path / "a.mp4", games=2)
    found = read(tmp_path / "a.mp4")
    assert made.pictures == len(found.pictures) == 2 * (1 + STEPS + RESULT)
    assert (made.width, made.height) == (found.width, found.height) == (2 * SIDE + 4, 288 + 24)
    assert not made.interim and [game.end.seats[0].points for game in made.games] == [STEPS, STEPS]
    for step in range(STEPS + 1):
        # Seat 0 is red, seat 1 is green; the first player sits there first, and its tile stays on
        # the left.
        for game, (left, right) in enumerate([(0, 1), (1, 0)]):
            picture = game * (1 + STEPS + RESULT) + step
            for tile, channel in enumerate((left, right)):
                assert brightness(found, picture, tile) == pytest.approx(
                    [(100 + 30 * step) * (at == channel) for at in range(3)], abs=12
                )
    assert [game.sitting for game in made.games] == [(0, 1), (1, 0)]


def test_ten_moves_are_a_second_unless_asked_for_otherwise(tmp_path: Path) -> None:
    film(random_players(2), lamps(), tmp_path / "a.mp4")
    film(random_players(2), lamps(), tmp_path / "b.mp4", moves_per_s=2)
    assert read(tmp_path / "a.mp4").times_s[: STEPS + 1] == pytest.approx(
        [step / 10 for step in range(STEPS + 1)]
    )
    assert read(tmp_path / "b.mp4").times_s[: STEPS + 1] == pytest.approx(
        [step / 2 for step in range(STEPS + 1)]
    )


def test_a_game_with_a_clock_is_shown_in_real_time(tmp_path: Path) -> None:
    made = film(
        random_players(2), lamps(lambda: Lamps(tics=4), tics_per_s=35.0), tmp_path / "a.mp4"
    )
    found = read(tmp_path / "a.mp4")
    assert found.times_s[: STEPS + 1] == pytest.approx(
        [step * 4 / 35 for step in range(STEPS + 1)], abs=1e-4
    )
    assert found.times_s[-1] == pytest.approx(
        made.games[0].end_s + 2 + 1 / 35, abs=0.02
    ) and made.games[0].end_s == pytest.approx(STEPS * 4 / 35)
    assert (
        pace_of(35.0, None).clock(2135) == "1:01.0  tic 2135"
        and pace_of(None, 3.0).clock(12) == "move 12"
    )


def test_a_table_of_one_seat_is_filmed_for_one_player_after_the_other(tmp_path: Path) -> None:
    made = film(random_players(2), lamps(lambda: Lamps(seats=1)), tmp_path / "a.mp4", games=2)
    assert [game.sitting for game in made.games] == [(0,), (1,), (0,), (1,)]
    seeds = [game.end.plan.seed for game in made.games]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    assert (made.width, made.pictures) == (SIDE, 4 * (1 + STEPS + RESULT))


def test_five_stand_in_a_grid(tmp_path: Path) -> None:
    made = film(random_players(5), lamps(lambda: Lamps(seats=5)), tmp_path / "a.mp4", scale=20)
    assert (made.width, made.height) == (3 * 240 + 8, 2 * 160 + 4 + 14 - 14 % 2)


def test_an_engine_that_ends_costs_its_game_which_is_played_again(tmp_path: Path) -> None:
    steps = Counter[int]()

    def crash_once(step: int) -> None:
        steps[step] += 1
        if step == 3 and steps[3] == 1:
            raise EnvCrash("the engine of lamps ended")

    made = film(random_players(2), lamps(lambda: Lamps(on_step=crash_once)), tmp_path / "a.mp4")
    assert len(made.games) == 1 and made.voided == ("voided: the engine of lamps ended",)
    assert (
        made.pictures
        == len(read(tmp_path / "a.mp4").pictures)
        == (3 + RESULT) + (1 + STEPS + RESULT)
    )


def test_a_game_that_always_goes_wrong_leaves_no_film(tmp_path: Path) -> None:
    def crash(step: int) -> None:
        raise EnvCrash("the engine of lamps ended")

    with pytest.raises(EnvError, match="was tried 3 times: voided: the engine of lamps ended"):
        film(random_players(2), lamps(lambda: Lamps(on_step=crash)), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_a_whole_film_of_what_was_played(tmp_path: Path) -> None:
    def stop(step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    made = film(random_players(2), lamps(lambda: Lamps(on_step=stop)), tmp_path / "a.mp4", games=3)
    assert made.interim and made.games == () and made.path == tmp_path / "a.mp4"
    assert made.pictures == len(read(tmp_path / "a.mp4").pictures) == 4
    assert signal.getsignal(signal.SIGINT) == before


def test_a_second_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    def stop(step: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        film(random_players(2), lamps(lambda: Lamps(on_step=stop)), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_the_score_is_what_counts() -> None:
    assert score_text(2.0, -1.5, alone=False) == "points 2"
    assert (
        score_text(None, -1.5, alone=False) == score_text(None, -1.5, alone=True) == "return -1.5"
    )
    assert score_text(2.0, -1.5, alone=True) == "points 2   return -1.5"


def test_players_who_cannot_sit_together(tmp_path: Path) -> None:
    with pytest.raises(
        FilmError,
        match=r"lamps has 2 seats, and 3 players were named; expected a player for every seat",
    ):
        film(random_players(3), lamps(), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.avi", "found a name that ends with '.avi'; expected one that ends with .mp4"),
        ("a", "ends with 'nothing'"),
        ("none/a.mp4", "there is no folder"),
        ("folder.mp4", "it is a folder"),
        ("there.mp4", "it exists; name another file, or add --force"),
    ],
)
def test_a_place_where_no_video_can_stand(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder.mp4").mkdir()
    (tmp_path / "there.mp4").touch()
    with pytest.raises(FilmError, match=said) as raised:
        check_place(tmp_path / name, force=False)
    assert raised.value.exit_code == 2


def test_force_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "there.mp4").touch()
    check_place(tmp_path / "there.mp4", force=True)
    check_place(tmp_path / "new.mp4", force=False)


@pytest.mark.slow
def test_a_duel_of_doom_is_filmed(tmp_path: Path) -> None:
    options = {"max_tics": 105, "buttons": "arena", "frame_skip": 2}
    env, players = resolve_players(["random", "random"], None, "doom_match", options=options)
    made = film(players, env, tmp_path / "duel.mp4")
    found = read(tmp_path / "duel.mp4")
    steps = 53
    assert made.pictures == len(found.pictures) == 1 + steps + RESULT and made.voided == ()
    assert (found.width, found.height) == (2 * 512 + 4, 288 + 24)
    assert (
        found.times_s[steps] == pytest.approx(3.0, abs=0.01)
        and made.games[0].end.reason == "timeout"
    )
    assert made.games[0].end.seats[0].points is not None
    # Two players see two views, which move.
    first, last = found.pictures[0].astype(int), found.pictures[steps].astype(int)
    assert np.abs(first[24:288, :512] - first[24:288, 516:]).mean() > 5
    assert np.abs(first[24:288] - last[24:288]).mean() > 5
