"""Games by hand and replays, in a real browser before a real service."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.game_names import game_of_key
from pbt.film.folder import FilmName
from pbt.film.video import VideoWriter
from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WIDTH_PX = 64
OVER = re.compile(r"You won\.|You lost\.|A draw\.")


def said(page: Page) -> Locator:
    return page.locator("p.said")


def choices(page: Page) -> Locator:
    return page.locator("button.square")


def moves(page: Page) -> Locator:
    return page.get_by_role("list", name="Moves").get_by_role("listitem")


def sit_down(page: Page, name: str) -> None:
    """From the form, and wait for one's turn."""
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Sit down").click()
    expect(said(page)).to_have_text(re.compile(r"You begin\.|Your move\."), timeout=WAIT_MS)


def play_on(page: Page, act: Any) -> None:
    """To the end. act: makes the move that is due."""
    for _ in range(42):
        expect(said(page)).to_have_text(
            re.compile(f"You begin.|Your move.|{OVER.pattern}"), timeout=WAIT_MS
        )
        if OVER.search(said(page).inner_text()):
            return
        made = moves(page).count()
        act()
        expect(said(page)).to_have_text(re.compile(f"Your move.|{OVER.pattern}"), timeout=WAIT_MS)
        expect(moves(page).nth(made)).to_be_visible(timeout=WAIT_MS)


def test_a_game_by_clicks_is_stored_rated_and_seen_again(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    page = visitor.see("league?population=first")
    page.get_by_role("link", name="Sit down and play").click()
    expect(page.get_by_label("Opponent")).to_have_value("first@best")
    sit_down(page, "Grace")
    visitor.keep("play-begins")
    play_on(page, lambda: choices(page).first.click())
    shows(page, "Stored as game 0 of match")
    played = [text.split(". ")[1] for text in moves(page).all_inner_texts()]
    visitor.keep("play-over")
    page.get_by_role("link", name="the league").click()
    row = (
        page.get_by_role("region", name="Ratings").get_by_role("row").filter(has_text="Grace guest")
    )
    expect(row).to_be_visible(timeout=WAIT_MS)
    assert [
        one["kind"]
        for one in trained.call("GET", "/v1/ratings?population=first")["players"]
        if one["player"] == "Grace"
    ] == ["guest"]
    page.get_by_role("region", name="Newest matches of connect_four").get_by_role(
        "link"
    ).first.click()
    shows(page, "Grace")
    page.get_by_role("region", name="Games, newest first").get_by_role("link", name="0").click()
    step_through(page, played)
    visitor.keep("replay")


def step_through(page: Page, played: list[str]) -> None:
    """The replay of a game with these moves, by keys, buttons, slider and address."""
    place = page.locator(".stepper [role=status]")
    expect(place).to_have_text(f"0 of {len(played)}", timeout=WAIT_MS)
    assert [text.split(". ")[1] for text in moves(page).all_inner_texts()] == played
    board = page.get_by_role("img", name="Board")
    assert board.get_attribute("aria-label") == "Board: empty"
    for number in range(1, len(played) + 1):
        page.keyboard.press("ArrowRight")
        expect(place).to_have_text(f"{number} of {len(played)}")
        label = board.get_attribute("aria-label") or ""
        assert (
            label.count(" on ") == number
            and f"{'XO'[(number - 1) % 2]} on {played[number - 1]}" in label
        )
        expect(page.locator(".piece.last")).to_have_count(1)
    page.keyboard.press("Home")
    expect(place).to_have_text(f"0 of {len(played)}")
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("slider", name="Move").fill("3")
    expect(place).to_have_text(f"3 of {len(played)}")
    page.reload()
    expect(place).to_have_text(f"3 of {len(played)}", timeout=WAIT_MS)
    moves(page).nth(len(played) - 2).get_by_role("button").click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(place).to_have_text(f"{len(played)} of {len(played)}", timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_a_game_by_keys_alone_then_another_one_from_the_other_seat(
    trained: Served, visit: Visit
) -> None:
    page = visit(trained).see("play?population=first&opponent=random")
    name = page.get_by_label("Your name")
    name.focus()
    page.keyboard.type("Kay")
    page.keyboard.press("Enter")
    expect(said(page)).to_have_text("You begin.", timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Play d")).to_be_focused()
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Play a")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(moves(page).first).to_have_text("1. b")

    def by_keys() -> None:
        expect(page.locator("button.square:focus")).to_have_count(1)
        page.keyboard.press("Enter")

    play_on(page, by_keys)
    swap = page.get_by_role("button", name="Swap seats")
    swap.focus()
    page.keyboard.press("Enter")
    expect(said(page)).to_have_text("Your move.", timeout=WAIT_MS)
    expect(moves(page)).to_have_count(1)
    page.get_by_role("button", name="Leave").click()
    page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    shows(page, "Kay resigned before their first move; nothing is stored")


def test_what_cannot_be_played_is_refused_in_words(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    play = trained.seated(env="tictactoe")
    page = visitor.see(f"play/{play['id']}")
    expect(said(page)).to_have_text("You begin.", timeout=WAIT_MS)
    other = visitor.context.new_page()
    other.goto(page.url)
    expect(choices(other)).to_have_count(9, timeout=WAIT_MS)
    # It hears of nothing any more.
    other.evaluate(
        "() => { const ask = fetch; window.fetch = (url, how) => (how?.method ? ask(url, "
        "how) : new Promise(() => {})); }"
    )
    page.get_by_role("button", name="Play b2").click()
    expect(moves(page)).to_have_count(2)
    taken = page.locator(".squares svg").bounding_box()
    assert taken is not None
    page.mouse.click(taken["x"] + taken["width"] / 2, taken["y"] + taken["height"] / 2)
    expect(page.get_by_role("alert")).to_have_text("b2 cannot be played now: a dot marks what can.")
    visitor.keep("play-refused")
    visitor.expected.add(409)
    other.get_by_role("button", name="Play a1").click()
    expect(other.get_by_role("alert")).to_contain_text("look again", timeout=WAIT_MS)
    trained.call("DELETE", f"/v1/plays/{play['id']}")
    expect(said(page)).to_have_text("You lost.", timeout=WAIT_MS)
    shows(page, "forfeit: Ada resigned")


def test_a_reload_in_the_middle_and_a_viewer_beside_it(trained: Served, visit: Visit) -> None:
    play = trained.seated(seat=1)
    page = visit(trained).see(f"play/{play['id']}")
    expect(moves(page)).to_have_count(1, timeout=WAIT_MS)
    choices(page).nth(2).click()
    expect(moves(page)).to_have_count(3, timeout=WAIT_MS)
    before = moves(page).all_inner_texts()
    page.reload()
    expect(said(page)).to_have_text("Your move.", timeout=WAIT_MS)
    assert moves(page).all_inner_texts() == before
    watching = visit(trained, level="viewer").see(f"play/{play['id']}")
    expect(moves(watching)).to_have_count(3, timeout=WAIT_MS)
    assert choices(watching).count() == 0
    shows(watching, "random against Ada")
    trained.call("DELETE", f"/v1/plays/{play['id']}")


def test_boards_that_are_gone_and_players_that_never_came(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected.add(404)
    shows(visitor.see(f"play/{'0' * 16}"), "This board was cleared")
    visitor.expected.add(422)
    page = visitor.see("play?population=first&opponent=random")
    page.get_by_label("Your name").fill("random")
    page.get_by_role("button", name="Sit down").click()
    shows(page, "connect_four has a scripted player of that name")
    # On a busy machine the board has its page before its process refuses the name.
    if (again := page.get_by_role("link", name="Choose again")).is_visible():
        again.click()
    shows(page, "Your seat")
    shows(visit(trained, level="viewer").see("play"), "A viewer watches")


def test_games_without_a_board(trained: Served, visit: Visit) -> None:
    """A training's game keeps no moves; of one that was filmed the film is shown."""
    visitor = visit(trained)
    (training,) = trained.call("GET", "/v1/populations/first/games?kind=training&limit=1")["items"]
    shows(visitor.see(f"games/{training['id']}"), "Its moves are not stored")
    (game,) = trained.call("GET", "/v1/populations/first/games?kind=evaluation&limit=1")["items"]
    page = visitor.see("populations/first/games")
    page.get_by_role("region", name="Evaluation games, newest first").get_by_role(
        "link"
    ).first.click()
    expect(page.get_by_role("img", name="Board")).to_be_visible(timeout=WAIT_MS)
    filmed = film(trained, game["id"])
    page.go_back()
    shown = page.get_by_role("link", name="film")
    expect(shown).to_have_count(1, timeout=WAIT_MS)
    shown.click()
    expect(page.locator("video")).to_be_visible(timeout=WAIT_MS)
    trained.wait(lambda: page.evaluate("document.querySelector('video').videoWidth") == WIDTH_PX)
    visitor.keep("film")
    expect(page.get_by_label(re.compile("^Film of "))).to_be_visible()
    visitor.expected.add(404)
    page.route("**/film", lambda route: route.fulfill(status=404))
    page.reload()
    expect(page.get_by_role("img", name="Board")).to_be_visible(timeout=WAIT_MS)
    expect(page.locator("video")).to_have_count(0)
    page.unroute_all(behavior="wait")
    # The population is every test's; the others see this game on its board.
    filmed.unlink()


def film(trained: Served, key: str) -> Path:
    """A film of this game, as a training leaves it."""
    with open_league(league_path(trained.data), read_only=True) as league:
        record = game_of_key(league, int(key))[1].record
    folder = population_paths(trained.data, "first").films
    folder.mkdir(exist_ok=True)
    name = FilmName(record.environment, record.count, record.trajectory_hash)
    with VideoWriter(folder / name.file, (WIDTH_PX, WIDTH_PX), Fraction(10)) as video:
        for tick in range(10):
            video.add(np.full((WIDTH_PX, WIDTH_PX, 3), 20 * tick, np.uint8), tick)
    return folder / name.file


def test_every_board_is_whole_and_accessible(trained: Served, visit: Visit, axe: Path) -> None:
    """Dark, and on a phone."""
    four, three, words = (
        trained.seated(),
        trained.seated(env="tictactoe", seat=1),
        trained.seated(env="openspiel:tic_tac_toe"),
    )
    for play in (four, words):
        trained.call("POST", f"/v1/plays/{play['id']}/moves", {"action": 3, "at": 0})
    over = trained.call("DELETE", f"/v1/plays/{four['id']}")
    views = {
        "play?population=first": "Your name",
        f"play/{four['id']}": "You lost.",
        f"play/{three['id']}": "Your move.",
        f"play/{words['id']}": "Your move.",
        f"games/{over['result']['game']}?move=2": "2 of 2",
    }
    wrong = []
    for visitor, name in (
        (visit(trained, dark=True), "dark"),
        (visit(trained, width=320), "phone"),
    ):
        for number, (view, text) in enumerate(views.items()):
            shows(visitor.see(view), text)
            visitor.keep(f"play-{number}-{name}")
            wrong += (
                [f"{view}: {visitor.too_wide_px} px too wide"] if visitor.too_wide_px > 0 else []
            )
            wrong += [f"{view}: {fault}" for fault in visitor.faults(axe)]
    assert not wrong, "\n".join(wrong)
    for play in (three, words):
        trained.call("DELETE", f"/v1/plays/{play['id']}")
