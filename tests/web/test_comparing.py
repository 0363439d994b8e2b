"""Populations side by side, charts as pictures, and games that are chosen and saved as files."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser import WAIT_MS, Visitor, saved, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RUNS = ("run-1", "run-2")
BOTH = "compare?population=run-1&population=run-2"


@pytest.fixture(scope="module")
def runs(trained: Served) -> Iterator[Served]:
    """Beside `first`, two short trainings that differ in their seeds."""
    for seed, name in enumerate(RUNS, start=1):
        trained.train(name, stop_at_frames=6_000, seed=seed)
    trained.wait(lambda: all(trained.state(name) == "finished" for name in RUNS))
    yield trained
    for name in RUNS:
        trained.call("DELETE", f"/v1/populations/{name}")


@pytest.fixture(scope="module")
def dqn(trained: Served) -> Iterator[Served]:
    """Beside `first`, which learns by APPO: `q`, which learns by DQN, and `mixed`, half by each."""
    learns = {"algorithm": "dqn", "batch_steps": 512}
    replay = {"replay_rows": 4000, "least_rows": 256, "training_intensity": 1.0}
    trained.train("q", stop_at_frames=4_000, learning=learns, dqn=replay)
    members = {"m1": {"algorithm": "dqn"}}
    trained.train("mixed", stop_at_frames=4_000, members=members, dqn=replay)
    trained.wait(lambda: all(trained.state(name) == "finished" for name in ("q", "mixed")))
    yield trained
    for name in ("q", "mixed"):
        trained.call("DELETE", f"/v1/populations/{name}")


def whole(visitor: Visitor, axe: Path, name: str) -> None:
    """Nothing is too wide, and axe finds nothing serious."""
    expect(visitor.page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
    visitor.keep(name)
    assert visitor.too_wide_px <= 0, name
    assert visitor.faults(axe) == []


def choose(page: Page, control: str, option: str) -> None:
    page.get_by_role("combobox", name=control, exact=True).select_option(option)


def test_populations_are_compared_by_strength(runs: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(runs)
    page = visitor.see(BOTH)
    shows(page, "Rating (Elo) over frames")
    expect(page.locator(".legend button")).to_have_count(4, timeout=WAIT_MS)
    page.get_by_text("Numbers").click()
    rows = page.locator("section.figure tbody tr")
    rated = [
        player
        for name in RUNS
        for player in runs.call("GET", f"/v1/ratings?population={name}")["players"]
        if player["kind"] == "snapshot" and player["player"].startswith(f"{name}/")
    ]
    expect(rows).to_have_count(len(rated), timeout=WAIT_MS)
    whole(visitor, axe, "compare-strength")
    choose(page, "Over", "games")
    shows(page, "Rating (Elo) over games")
    games = [int(text) for text in page.locator("tbody td:nth-child(2)").all_inner_texts()]
    taken = runs.call("GET", "/v1/populations/run-1/snapshots")["items"]
    assert {one["games"] for one in taken} <= set(games)
    choose(page, "Lines", "groups of runs")
    shows(page, "its band goes from the lowest run to the highest")
    expect(rows.first).to_contain_text("run (2 runs)", timeout=WAIT_MS)
    page.get_by_role("checkbox", name="logarithmic").check()
    choose(page, "Metric", "score against an opponent")
    shows(page, "Win rate against random over games")
    choose(page, "Over", "time of training")
    shows(page, "Win rate against random over time")
    choose(page, "Smoothing", "10 %")
    shows(page, "the mean over 10 % of the axis")
    address = page.url
    page.reload()
    assert page.url == address
    shows(page, "Win rate against random over time")


def test_a_curve_says_its_unit_and_what_it_is(trained: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(trained, width=320, dark=True)
    page = visitor.see("compare?population=first&metric=entropy&smooth=5")
    shows(page, "entropy (nats) over frames")
    shows(page, "Mean entropy of the policy")
    whole(visitor, axe, "compare-phone-dark")


def test_members_of_every_algorithm_are_drawn_over_time(dqn: Served, visit: Visit) -> None:
    page = visit(dqn).see("compare?population=first&population=q&population=mixed")
    choose(page, "Over", "time of training")
    shows(page, "Rating (Elo) over time")
    legend = page.locator(".legend button")
    expect(legend).to_have_count(6, timeout=WAIT_MS)
    choose(page, "Metric", "score against an opponent")
    shows(page, "Win rate against random over time")
    expect(legend).to_have_count(6, timeout=WAIT_MS)
    choose(page, "Metric", "version (versions)")
    shows(page, "version (versions) over time")
    expect(legend).to_have_count(6, timeout=WAIT_MS)
    expect(page.locator("main")).not_to_contain_text("Without this curve")


def test_a_curve_of_one_algorithm_is_drawn_where_it_is(dqn: Served, visit: Visit) -> None:
    page = visit(dqn).see("compare?population=first&population=q&population=mixed&metric=entropy")
    shows(page, "entropy (nats) over frames")
    expect(page.locator(".legend button")).to_have_count(3, timeout=WAIT_MS)
    shows(page, "Without this curve: q.")
    choose(page, "Metric", "td_error (value)")
    shows(page, "Without this curve: first.")
    expect(page.locator(".legend button")).to_have_count(3, timeout=WAIT_MS)
    page = visit(dqn).see("populations/q/curves")
    shows(page, "Mean distance of DQN's targets")


def test_the_form_of_edits_has_the_values_of_every_algorithm(dqn: Served, visit: Visit) -> None:
    """The service names them: a new hyperparameter appears by itself."""
    for name in ("first", "q", "mixed"):
        page = visit(dqn).see(f"populations/{name}/config")
        form = page.get_by_role("form", name="Edits")
        form.get_by_text("PBT rules, shares and learning").click()
        spec = dqn.call("GET", f"/v1/populations/{name}")["spec"]
        assert ("dqn.epsilon_end" in spec["hyperparameters"]) is (name != "first")
        assert ("learning.entropy_coef" in spec["hyperparameters"]) is (name != "q")
        for label, key in (
            ("Epsilon end", "dqn.epsilon_end"),
            ("Adam beta1", "learning.adam_beta1"),
        ):
            there = key in spec["hyperparameters"]
            expect(form.get_by_label(label)).to_have_count(int(there))
        section, _, key = spec["hyperparameters"][-1].partition(".")
        shown = form.get_by_label(key.replace("_", " ").capitalize())
        expect(shown).to_have_value(str(spec["config"][section][key]))


def test_a_chart_is_saved_as_a_picture(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("populations/first/curves?key=entropy")
    shows(page, "Mean entropy of the policy")
    page.get_by_text("Numbers").click()
    svg = saved(page, "SVG").decode()
    assert svg.startswith("<svg ") and "entropy (nats)" in svg and ">m1</text>" in svg
    assert "NaN" not in svg and svg.count("<path") > 6
    png = saved(page, "PNG")
    assert png.startswith(b"\x89PNG") and len(png) > 10_000


def test_matches_list_their_results(trained: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(trained)
    page = visitor.see("matches")
    found = trained.call("GET", "/v1/matches/1/statistics")
    row = page.get_by_role("region", name="All matches").locator("tbody tr").last
    counts = f"{found['wins']} won, {found['draws']} drawn, {found['losses']} lost"
    low, high = (f"{100 * found[end]:.0f} %" for end in ("low", "high"))
    expect(row).to_contain_text(
        f"{100 * found['score']:.1f} % [{low}, {high}] {counts}", timeout=WAIT_MS
    )
    whole(visitor, axe, "matches-results")


def test_games_are_chosen_and_saved(trained: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(trained)
    page = visitor.see("populations/first/games")
    choose(page, "Player", "m0")
    choose(page, "Opponent", "random")
    choose(page, "Result of the player", "lost")
    page.get_by_role("spinbutton", name="Decisions, at least").fill("8")
    page.get_by_role("spinbutton", name="Decisions, at least").press("Enter")
    asked = "kind=evaluation&player=first/m0&opponent=random&result=lost&shortest=8&limit=500"
    wanted = trained.call("GET", f"/v1/populations/first/games?{asked}")["items"]
    rows = page.get_by_role("region", name="Evaluation games").locator("tbody tr")
    if wanted:
        expect(rows).not_to_have_count(0, timeout=WAIT_MS)
        if page.get_by_text(re.compile(r"^\d+ more games$")).count():
            page.get_by_text(re.compile(r"^\d+ more games$")).click()
        expect(rows).to_have_count(min(100, len(wanted)), timeout=WAIT_MS)
        assert all("random won" in text for text in rows.all_inner_texts())
        lines = list(csv.DictReader(io.StringIO(saved(page, "CSV").decode())))
        assert [line["id"] for line in lines] == [game["id"] for game in wanted]
        assert json.loads(saved(page, "JSON")) == wanted
    else:
        shows(page, "No game is like that")
    whole(visitor, axe, "games-chosen")
    page.get_by_role("button", name="All games").click()
    expect(
        page.get_by_role("region", name="Evaluation games").locator("tbody tr")
    ).not_to_have_count(len(wanted), timeout=WAIT_MS)
    assert not re.search("player=|result=|shortest=", page.url)
