"""The dashboard counts in the objective of a game, and says which one it is."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, expect

from arena.league.database import League, open_league
from arena.league.fresh_matches import HEADLINE_GAMES
from arena.league.matches import create_match, finish_match
from arena.league.populations import create_population, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.config.load import config_from_table
from pbt.records import GameRecord, PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot, snapshot_player
from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NUMBER = r"[+−]?\d[\d.]*(e[+−]?\d+)?"
GAMES = 40
GAIN = {"a": 0.5, "b": 1.5}
"""The chips that a game gains each snapshot in the mean, against `random`."""


def won(number: int, letter: str, rng: Random) -> GameRecord:
    """A game of a snapshot against `random`, in pairs with the seats swapped."""
    own, first = GAIN[letter] + rng.gauss(0, 1), number % 2 == 0
    players: tuple[PlayerRef, ...] = (snapshot_player(letter), RANDOM)
    values = (own, -own) if first else (-own, own)
    return game(
        number,
        players if first else players[::-1],
        [int(value < 0) for value in values],
        "evaluation",
        returns=values,
        pair=number // 2,
    )


def write_league(data: Path) -> None:
    """A population of a game of margins, and a match of its best with games that chose nothing."""
    table = {"env": {"name": "leduc_holdem", "objective": "margin"}}
    config, rng = config_from_table(table, "test").model_dump(mode="json"), Random(1)
    members = [("m0", "player"), ("m1", "player")]
    with open_league(data / "league.db") as league:
        population = create_population(league, "chips", "leduc_holdem", config, {}, members)
        incarnation = open_incarnation(league, population, os.getpid())
        with LeagueWriter(league, incarnation) as writer:
            for letter, member in (("a", "m0"), ("b", "m1")):
                writer.snapshot(snapshot(letter, member, 1000))
            for number in range(4 * GAMES):
                writer.game(won(number, "ab"[number // 2 % 2], rng))
        settings = {"greedy": False, "objective": "margin", "fresh": True}
        players = (snapshot_player("b"), RANDOM)
        match = create_match(league, "leduc_holdem", {}, players, HEADLINE_GAMES, 1, settings)
        with LeagueWriter(league, match) as writer:
            for number in range(HEADLINE_GAMES):
                writer.game(replace(won(number, "b", rng), count=number))
        finish_match(league, match, HEADLINE_GAMES)
        write_roles(league)


def write_roles(league: League) -> None:
    """A population of two roles, in which predators gain what prey lose."""
    table = {"env": {"name": "mpe", "objective": "return"}}
    config = config_from_table(table, "test").model_dump(mode="json")
    members = [("m0", "predator"), ("m1", "predator"), ("m2", "prey")]
    population = create_population(league, "tag", "mpe", config, {}, members)
    with LeagueWriter(league, open_incarnation(league, population, os.getpid())) as writer:
        for letter, (member, role) in zip("cde", members, strict=True):
            writer.snapshot(replace(snapshot(letter, member, 1000), role=role))
        for number in range(4 * GAMES):
            hunter, value = "cd"[number % 2], (5.0, 3.0)[number % 2] + number % 3
            players = (snapshot_player(hunter), snapshot_player("e"))
            values = (value, -value)
            writer.game(game(number, players, (0, 1), "evaluation", returns=values))


@pytest.fixture(scope="module")
def chips(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("chips") / "data"
    data.mkdir()
    write_league(data)
    running = Served(data)
    yield running
    running.stop()


def test_ratings_are_margins(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("populations/chips/ratings")
    shows(page, "margin a game of each snapshot")
    figure = page.locator("section.figure").filter(has_text="Rating over frames")
    figure.get_by_text("Numbers").click()
    with page.expect_download() as waiting:
        figure.get_by_role("button", name="CSV").click()
    head, *lines = waiting.value.path().read_text().splitlines()
    assert head == "member,frames,margin a game,low,high,games"
    known = chips.call("GET", "/v1/ratings?population=chips")["players"]
    told = {float(line.split(",")[2]) for line in lines}
    assert len(told) == 2 and told <= {row["margin"] for row in known}
    table = page.get_by_role("region", name="Ratings")
    expect(table.locator("th", has_text="margin a game")).to_be_visible()
    cells = table.locator("tbody tr td:nth-child(3)").all_inner_texts()
    assert len(cells) == 3 and all(re.fullmatch(NUMBER, text) for text in cells), cells
    shows(page, "chips@best is chips/m1@1k: the highest lower end of its 2 snapshots")
    shows(
        page, re.compile(rf"Fresh games against random: margin {NUMBER} \[.*\] a game, 200 units")
    )


def test_the_list_of_populations_shows_the_best_margin(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("populations")
    report = chips.call("GET", "/v1/ratings?population=chips")
    best = next(row for row in report["players"] if row["id"] == report["best"])
    row = page.locator("tbody tr").filter(has_text="chips")
    strong = row.locator("td[data-name='best'] strong")
    expect(strong).to_have_text(f"{best['margin']:+.3g}", timeout=WAIT_MS)


def test_the_margin_of_a_match_stands_first(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("matches/1")
    shows(page, "they count in none")
    heading = page.get_by_role("region", name="Statistics").locator("h2")
    expect(heading).to_have_text(
        re.compile(rf"Margin of \S+: {NUMBER} a game \[{NUMBER}, {NUMBER}\]"), timeout=WAIT_MS
    )
    expect(page.locator("dl.facts div", has_text="decided by")).to_contain_text("margins")


def test_the_matrix_and_the_chart_against_random_are_margins(chips: Served, visit: Visit) -> None:
    pairs = chips.call("GET", "/v1/win-matrix?population=chips")["pairs"]
    assert [pair["opponent"] for pair in pairs] == ["random", "random"]
    told = {pair["player"]: f"{pair['margin']:+.3g}" for pair in pairs}
    page = visit(chips).see("populations/chips/matrix?by=snapshots")
    shows(page, "Mean margin a game of the row against the column: blue above 0")
    page.locator("canvas.matrix").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    best = pairs[0]["player"]
    row = f"{best} against random: {told[best]} a game [{NUMBER}, {NUMBER}], 80 games"
    shows(page, re.compile(re.escape(row).replace(re.escape(NUMBER), NUMBER)))
    page = visit(chips).see("populations/chips/ratings")
    figure = page.locator("section.figure").filter(has_text="Margin a game against random")
    figure.get_by_text("Numbers").click()
    texts = figure.locator("tbody tr td:nth-child(3)").all_inner_texts()
    assert sorted(texts) == sorted(told.values())
    shows(page, "Circles of margins")


def test_each_role_has_a_table_and_ranks_of_its_own(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("populations/tag/ratings")
    shows(page, "tag/prey@best is tag/m2@1k")
    for role, players in (("predator", ["tag/m0@1k", "tag/m1@1k"]), ("prey", ["tag/m2@1k"])):
        table = page.get_by_role("region", name=f"Returns, role {role}")
        cells = [table.locator(f"tbody tr td:nth-child({column})") for column in (1, 2)]
        ranks, names = (column.all_inner_texts() for column in cells)
        assert ranks == [str(rank + 1) for rank in range(len(players))]
        assert [name.removeprefix("tag/") for name in names] == [
            name.removeprefix("tag/") for name in players
        ]
    page = visit(chips).see("populations/tag/matrix?by=snapshots")
    shows(page, "Returns count here")
