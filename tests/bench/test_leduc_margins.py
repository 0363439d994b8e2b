"""Exact values of Leduc poker against OpenSpiel's own, and drawn hands against exact values."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.policy import TabularPolicy

from arena.players.information_states import InformationStates, Table
from arena.stats.margin import margin_statistics, unit_margins
from bench.leduc_counts import as_played, chi_square, drawn_match, missed, rated
from bench.leduc_hands import Floats, Hands, PairLaw
from bench.leduc_margins import acting_difference, circle, earlier, keep
from pbt.config.learning import ModelConfig
from pbt.envs.registry import spec
from pbt.inference.policy_server import NetworkPolicy
from pbt.models.policy_model import build_model
from pbt.seeding import generator
from pbt.transport.slab import role_layout
from tests.arena.players.openspiel_tables import as_openspiel


@pytest.fixture(scope="module")
def states() -> InformationStates:
    return InformationStates(pyspiel.load_game("leduc_poker"))


@pytest.fixture(scope="module")
def hands(states: InformationStates) -> Hands:
    return Hands(states)


def some_policy(states: InformationStates, seed: int) -> Table:
    """A random one, with actions that it never takes; drawn in OpenSpiel's order of rows."""
    rng, places = generator(seed, "policy"), TabularPolicy(states.game).state_lookup
    order = [places[key] for key in states.rows]
    weights = rng.exponential(size=states.legal.shape) * (rng.random(states.legal.shape) < 0.8)
    weights = weights[order]
    weights = (weights + 1e-12 * (weights.sum(axis=1, keepdims=True) == 0)) * states.legal
    none = weights.sum(axis=1) == 0
    weights[none] = states.legal[none]
    table: Table = weights / weights.sum(axis=1, keepdims=True)
    return table


@pytest.fixture(scope="module")
def two(states: InformationStates, hands: Hands) -> tuple[Floats, Floats]:
    return hands.reach(some_policy(states, 1)), hands.reach(some_policy(states, 2))


def test_exact_values_are_openspiels(states: InformationStates, hands: Hands) -> None:
    """OpenSpiel walks the whole tree from its root, chance moves and all."""
    tables = [some_policy(states, 1), some_policy(states, 2)]
    policies = [as_openspiel(states, table) for table in tables]
    root = states.game.new_initial_state()
    first = policy_value(root, policies)[0]
    second = policy_value(root, policies[::-1])[1]
    reaches = [hands.reach(table) for table in tables]
    assert abs(first + second) > 0.1
    assert hands.law(*reaches).value == pytest.approx((first + second) / 2, abs=1e-12)
    assert hands.law(*reaches[::-1]).value == pytest.approx(-(first + second) / 2, abs=1e-12)


def test_every_deal_ends_somewhere(hands: Hands, two: tuple[Floats, Floats]) -> None:
    a, b = two
    assert hands.won.shape[0] == 120
    assert (a[0] * b[1]).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    law = hands.law(a, b)
    assert law.chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert hands.law(a, a).value == pytest.approx(0.0, abs=1e-12)


def test_variances_are_those_of_the_endings(hands: Hands, two: tuple[Floats, Floats]) -> None:
    """By the law of total variance, deal by deal, instead of by the joint distribution."""
    a, b = two
    first, second = a[0] * b[1], b[0] * a[1]
    means = [(chances * hands.won).sum(axis=1) for chances in (first, second)]
    squares = [(chances * hands.won**2).sum(axis=1) for chances in (first, second)]
    within = sum((square - mean**2).mean() for square, mean in zip(squares, means, strict=True))
    law = hands.law(a, b)
    swapped = (within + (means[0] - means[1]).var()) / 4
    apart = (within + means[0].var() + means[1].var()) / 4
    assert law.swapped == pytest.approx(swapped)
    assert law.apart == pytest.approx(apart)
    assert law.apart > 1.1 * law.swapped


def test_drawn_hands_follow_the_exact_distribution(
    hands: Hands, two: tuple[Floats, Floats]
) -> None:
    law, deals = hands.law(*two), 20_000
    swapped = hands.drawn(*two, deals, np.random.default_rng(1))
    apart = hands.drawn(*two, deals, np.random.default_rng(2), swapped=False)
    for won, variance in ((swapped, law.swapped), (apart, law.apart)):
        margins = won.mean(axis=1)
        assert abs(margins.mean() - law.value) < 4 * math.sqrt(variance / deals)
        assert margins.var() == pytest.approx(variance, rel=0.06)
    assert chi_square(swapped.mean(axis=1).tolist(), law)["p"] > 0.001
    # Another distribution with almost the same mean is found out.
    assert chi_square(apart.mean(axis=1).tolist(), law)["p"] < 1e-6


def test_chi_square_puts_rare_margins_together() -> None:
    law = PairLaw(np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.5, 0.39, 0.1, 0.01]), 0.0, 1.0, 1.0)
    seen = [-1.0] * 60 + [0.0] * 30 + [1.0] * 9 + [2.0]
    found = chi_square(seen, law)
    assert found["freedom"] == 2
    assert found["chi_square"] == pytest.approx(10**2 / 50 + 9**2 / 39 + 1**2 / 11)
    with pytest.raises(AssertionError):
        chi_square([0.5], law)


def test_a_drawn_match_says_what_a_match_says(hands: Hands, two: tuple[Floats, Floats]) -> None:
    row = drawn_match(hands, two, 500, [7, 1])
    assert row == drawn_match(hands, two, 500, [7, 1])
    won = hands.drawn(*two, 500, np.random.default_rng([7, 1]))
    games = as_played(won)
    assert (len(games), games[1].pair, games[1].a_first) == (1000, 0, False)
    assert games[3].margin == won[1, 1]
    assert [game.points for game in as_played(np.array([[-3.0, 0.0], [2.0, 1.0]]))] == [
        0,
        0.5,
        1,
        1,
    ]
    told = margin_statistics(unit_margins(games))
    assert (row["mean"], row["low"], row["high"]) == (told.mean, told.low, told.high)
    assert row["total"] == pytest.approx(500 * told.mean)
    assert told.deviation is not None
    assert row["squares"] - row["total"] ** 2 / 500 == pytest.approx(499 * told.deviation**2)
    assert row["saved"] == pytest.approx(row["saved_exact"], rel=0.3)


def test_ratings_find_the_order_of_exact_margins(states: InformationStates, hands: Hands) -> None:
    reaches = [hands.reach(states.uniform())]
    for seed in range(4):
        table = some_policy(states, seed)
        reaches += [hands.reach(table), hands.reach((table + 3 * states.uniform()) / 4)]
    exact = np.array([[hands.law(a, b).value for b in reaches] for a in reaches])
    pairs = [
        {"a": a, "b": b, "deals": 2000}
        | drawn_match(hands, (reaches[a], reaches[b]), 2000, [3, a, b])
        for a, b in circle(len(reaches), 3)
    ]
    found = rated(pairs, exact)
    assert found["exact_panel"][0] == pytest.approx(exact[0].sum() / 8)
    assert found["spearman"] > 0.8
    turned = [{**row, "total": -row["total"]} for row in pairs]
    assert rated(turned, exact)["spearman"] == pytest.approx(-found["spearman"])


def test_the_circle_is_even() -> None:
    pairs = circle()
    assert len({frozenset(pair) for pair in pairs}) == 200
    assert np.bincount(np.ravel(pairs)).tolist() == [16] * 25


def test_acting_is_held_against_the_table(states: InformationStates) -> None:
    game = spec("openspiel:leduc_poker").make()
    layout = role_layout(game.roles[0], game.reward_terms, 1, 0)
    model = build_model(layout, ModelConfig(hidden=(16,), policy_gain=3.0), seed=4)
    table, uniforms = states.policy_of(model), np.random.default_rng(1).random(len(states.legal))
    torch.set_num_threads(1)
    assert acting_difference(states, NetworkPolicy(model, "m0"), table, uniforms) < 1e-5
    model = build_model(layout, ModelConfig(hidden=(16,), policy_gain=3.0), seed=5)
    assert acting_difference(states, NetworkPolicy(model, "m0"), table, uniforms) > 0.01


def results(**changed: Any) -> dict[str, Any]:
    """200 pairs of which 190 intervals hold the value, and one match."""
    pair = {"exact": 1.0, "mean": 1.1, "low": 0.9, "high": 1.3, "deviation": 10.0, "deals": 10_000}
    missing = {**pair, "mean": 1.3, "low": 1.1, "high": 1.5}
    saved = {"saved": 1.5, "saved_exact": 1.4}
    pairs = [{**row, **saved} for row in [pair] * 190 + [missing] * 10]
    match = {"a": 0, "b": 1, **pair, "errors_off": 1.0, "p": 0.5}
    ratings = {"spearman": 0.99, "panel_spearman": 0.98}
    return {"pairs": pairs, "matches": [match], "ratings": ratings, **changed}


def test_floors() -> None:
    assert missed(results()) == []
    held, missing = results()["pairs"][0], results()["pairs"][-1]
    for number, kept in ((183, False), (184, True), (196, True), (197, False)):
        lines = missed(results(pairs=[held] * number + [missing] * (200 - number)))
        assert (lines == []) == kept
    wrong = {**held, "exact": -0.001, "mean": 0.399}
    assert missed(results(pairs=[*results()["pairs"][1:], wrong])) == []
    worse = {**held, "exact": -0.001, "mean": 0.401}
    assert "wrong side" in missed(results(pairs=[*results()["pairs"][1:], worse]))[0]
    assert "Spearman" in missed(results(ratings={"spearman": 0.949, "panel_spearman": 1.0}))[0]
    match = results()["matches"][0]
    for change in ({"errors_off": -4.1}, {"p": 0.0009}):
        assert "match 0-1" in missed(results(matches=[{**match, **change}]))[0]


def test_a_call_goes_on_from_its_file_and_refuses_another_plan(tmp_path: Path) -> None:
    path, plan = tmp_path / "leduc.json", {"seed": 1, "players": [["id", "m0", 5]]}
    stored = earlier(path, plan)
    assert stored == {"plan": plan, "matches": [], "pairs": []}
    stored["pairs"] += [{"a": 0, "mean": 0.1}, {"a": 1, "mean": 1 / 3}]
    keep(path, stored)
    assert earlier(path, plan)["pairs"] == stored["pairs"]
    lines = path.read_text().splitlines()
    assert any(first.endswith("},") and "0.333" in then for first, then in pairwise(lines))
    with pytest.raises(SystemExit, match="another plan"):
        earlier(path, {**plan, "seed": 2})
