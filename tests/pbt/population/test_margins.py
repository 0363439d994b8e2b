"""Members compared by margins and returns: against a slow reference, and against chance."""

import random
from dataclasses import replace
from statistics import fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from pbt.config.population import PbtConfig
from pbt.population.comparison import POOLED_GAMES, compare, standings
from pbt.population.pbt_decision import decide, rank, replay
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import Counted, score_points
from pbt.records import GameRecord, MemberScore, PlayerRef, RoundRecord, SeatRecord
from tests.pbt.population.rounds import own_values, score_games, through_json

# Each comparison by itself; tests/pbt/population/test_copy_gate.py has the runs.
ALONE = PbtConfig(mutation_probability=0.0, copy_significance_per="comparison")
MARGIN = PbtRules.from_config(ALONE, "margin")
RETURN = PbtRules.from_config(ALONE, "return")
Results = dict[str, list[float]]

results = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.floats(-20, 20), min_size=1, max_size=12), min_size=1
)


def score(member: str, games: Results) -> MemberScore:
    """games: opponent -> the member's points of each."""
    every = [(points, opponent) for opponent, own in games.items() for points in own]
    counted = [Counted(number, *each) for number, each in enumerate(every)]
    return score_points(member, counted, "against_squares")


def reference(mine: Results, theirs: Results) -> tuple[float, float, float]:
    """(gap, its variance, p) in the plainest words."""
    common = [name for name in mine if name in theirs]
    if not common:
        samples = [
            (sign, [points for own in games.values() for points in own])
            for sign, games in ((1.0, mine), (-1.0, theirs))
        ]
        variances = [variance(own) if len(own) > 1 else float("inf") for _, own in samples]
    else:
        weights = {name: 1 / (1 / len(mine[name]) + 1 / len(theirs[name])) for name in common}
        total = sum(weights.values())
        samples, variances = [], []
        for name in common:
            for sign, games in ((1.0, mine), (-1.0, theirs)):
                samples.append((sign * weights[name] / total, games[name]))
                variances.append(shrunk(games[name], games))
    ahead = sum(weight * fmean(own) for weight, own in samples)
    parts = [
        weight**2 * each / len(own) for (weight, own), each in zip(samples, variances, strict=True)
    ]
    whole = sum(parts)
    if whole in (0.0, float("inf")):
        return ahead, whole, 0.5
    free = whole**2 / sum(
        part**2 / max(1, len(own) - 1) for part, (_, own) in zip(parts, samples, strict=True)
    )
    return ahead, whole, float(student.sf(ahead / whole**0.5, free))


def shrunk(own: list[float], games: Results) -> float:
    """The variance of one game against an opponent, drawn to that of all opponents."""
    free = sum(len(each) - 1 for each in games.values())
    if not free:
        return float("inf")
    pooled = sum(sum((x - fmean(each)) ** 2 for x in each) for each in games.values()) / free
    squares = sum((x - fmean(own)) ** 2 for x in own)
    return (squares + POOLED_GAMES * pooled) / (len(own) - 1 + POOLED_GAMES)


@given(results, results)
def test_the_gap_and_its_chance_equal_the_reference(mine: Results, theirs: Results) -> None:
    a, b = score("a", mine), score("b", theirs)
    ahead, error, p = reference(mine, theirs)
    for objective in ("margin", "return"):
        gap = compare(a, b, objective)  # type: ignore[arg-type]
        assert gap.ahead == pytest.approx(ahead, abs=1e-9)
        assert gap.opponents == len(mine.keys() & theirs.keys())
        assert gap.error**2 == pytest.approx(error, rel=1e-9, abs=1e-12)
        if 1e-9 < error < float("inf"):
            assert gap.p == pytest.approx(p, abs=1e-9)
            assert gap.errors == pytest.approx(gap.ahead / gap.error)
        elif error == float("inf"):
            assert (gap.p, gap.errors) == (0.5, None)


def test_opponents_met_once_are_compared_by_the_pooled_variance() -> None:
    a = score("a", {"x": [1.0, 3.0, 2.0], "y": [9.0]})
    b = score("b", {"x": [0.0, 1.0, 2.0], "y": [7.0]})
    gap = compare(a, b, "margin")
    assert 0.0 < gap.p < 0.5 and gap.opponents == 2
    once = compare(score("a", {"x": [4.0]}), score("b", {"x": [1.0]}), "margin")
    assert (once.p, once.errors) == (0.5, None), "one game each says nothing of chance"


def test_chance_passes_for_a_margin_as_often_as_promised() -> None:
    """Equals meet four opponents unequally often, for stakes of unequal size.

    There are 4 000 pairs of scores, from a fixed seed.
    """
    rng = random.Random(7)
    sizes = {"a": (1.0, 2.0), "b": (-2.0, 5.0), "c": (0.5, 1.0), "d": (3.0, 4.0)}

    def drawn(member: str, games: dict[str, int]) -> MemberScore:
        return score(
            member,
            {name: [rng.gauss(*sizes[name]) for _ in range(n)] for name, n in games.items()},
        )

    found = [
        compare(
            drawn("x", {"a": 40, "b": 10, "c": 25, "d": 5}),
            drawn("y", {"a": 8, "b": 30, "c": 25, "d": 17}),
            "margin",
        ).p
        for _ in range(4000)
    ]
    for level in (0.01, 0.05, 0.2):
        assert fmean(p <= level for p in found) <= level * 1.3, level
    assert fmean(p <= 0.05 for p in found) > 0.02, "and not much more careful than that"


def hand(number: int, winner: str, loser: str, chips: float) -> GameRecord:
    seats = tuple(
        SeatRecord(PlayerRef("member", name), 0, 0, 0, place, won)
        for place, (name, won) in enumerate(((winner, chips), (loser, -chips)))
    )
    return GameRecord(number, 0, number, "training", 1, seats, 2, 2, "rules", "")


def poker() -> list[GameRecord]:
    """m0 wins 3 of 10 hands against everyone, with large pots; the others win small ones."""
    rng, hands, others = random.Random(3), [], ("m1", "m2", "m3")
    for number in range(1200):
        other = others[number % 3]
        if number % 4 == 3:
            pair = rng.sample(others, 2)
            hands.append(hand(number, *pair, rng.choice([0.5, 1.0, 2.0])))
        elif rng.random() < 0.3:
            hands.append(hand(number, "m0", other, rng.choice([5.0, 7.0, 13.0])))
        else:
            hands.append(hand(number, other, "m0", rng.choice([0.5, 1.0, 2.0])))
    return hands


def scores_of(hands: list[GameRecord], rules: PbtRules) -> list[MemberScore]:
    return [score_games(f"m{index}", hands, rules.objective, rules.detail) for index in range(4)]


def test_more_chips_in_fewer_hands_are_first_by_margins_and_last_by_wins() -> None:
    hands = poker()
    wins = PbtRules.from_config(PbtConfig(), "win")
    assert list(rank(scores_of(hands, wins), wins))[-1] == "m0"
    by_margin = scores_of(hands, MARGIN)
    assert next(iter(rank(by_margin, MARGIN))) == "m0"
    assert standings(by_margin, "margin")["m0"] > 1.0
    last = list(rank(by_margin, MARGIN))[-1]
    rounds = [decide(last, number, 10, by_margin, own_values(4), MARGIN, 5) for number in range(40)]
    copied = next(each for each in rounds if each.copy_from == "m0")
    assert "margin +" in copied.verdict and " a game, " in copied.verdict
    assert "standard errors ahead on" in copied.verdict, copied.verdict
    assert "copies m0 (margin +" in copied.verdict and "<= 0.01" in copied.verdict


def stored_round(scores: list[MemberScore], rules: PbtRules, member: str) -> RoundRecord:
    decision = decide(member, 3, 10, scores, own_values(4), rules, 5)
    directive = decision.directive(member, 3, "f" * 64 if decision.copy_from else None)
    record = RoundRecord(
        member,
        3,
        10,
        tuple(scores),
        own_values(4),
        rules.to_mapping(),
        5,
        decision.verdict,
        directive,
    )
    return through_json(record)


@pytest.mark.parametrize("rules", [MARGIN, RETURN, replace(MARGIN, opponents="all")])
def test_rounds_by_margins_replay_and_notice_what_was_altered(rules: PbtRules) -> None:
    scores = scores_of(poker(), rules)
    record = stored_round(scores, rules, list(rank(scores, rules))[-1])
    assert replay(record) == []
    index = next(n for n, each in enumerate(record.scores) if each.member == record.member)
    own = record.scores[index]
    assert own.squares is not None
    if own.against:
        part = own.against[0]
        assert part.squares is not None
        wider = replace(part, squares=100.0 * part.squares)
        altered = replace(own, against=(wider, *own.against[1:]))
    else:
        altered = replace(own, squares=100.0 * own.squares)
    others = (*record.scores[:index], altered, *record.scores[index + 1 :])
    assert replay(replace(record, scores=others)) != []
    assert replay(replace(record, rules={**record.rules, "objective": "win"})) != []


def test_chance_alone_makes_few_copies() -> None:
    """Equal members, 200 rounds: about one of a hundred comparisons copies."""
    rng, copies = random.Random(11), 0
    for number in range(200):
        scores = [
            score(f"m{n}", {name: [rng.gauss(0, 5) for _ in range(40)] for name in "ab"})
            for n in range(4)
        ]
        last = list(rank(scores, MARGIN))[-1]
        copies += decide(last, number, 10, scores, own_values(4), MARGIN, 5).copy_from is not None
    # The last of four is compared with one of the first two, so more than one of a hundred pass.
    assert copies <= 20


def test_partners_count_in_games_of_one_interest() -> None:
    """m0 sat more often with a good partner: with the same partners it is no better than m1."""
    a = score("m0", {"good": [9.0, 10.0, 11.0] * 30, "bad": [0.0, 1.0, 2.0] * 5})
    b = score("m1", {"good": [9.0, 10.0, 11.0] * 5, "bad": [0.0, 1.0, 2.0] * 30})
    assert a.objective - b.objective > 5.0
    assert compare(a, b, "return").ahead == pytest.approx(0.0, abs=1e-12)


def test_members_of_a_cooperative_game_are_ranked_by_returns_and_not_by_wins() -> None:
    """A pair returns the sum of its skills, which grow from m0 to m3; every place is shared."""
    rng, games = random.Random(5), []
    for number in range(600):
        pair = rng.choices(range(4), k=2)
        shared = sum(pair) + rng.gauss(0, 1)
        seats = tuple(
            SeatRecord(PlayerRef("member", f"m{each}"), 0, 0, 0, 0, shared) for each in pair
        )
        games.append(GameRecord(number, 0, number, "training", 1, seats, 9, 9, "rules", ""))
    wins = PbtRules.from_config(PbtConfig(), "win")
    assert {each.objective for each in scores_of(games, wins)} == {0.0}
    scores = scores_of(games, RETURN)
    assert list(rank(scores, RETURN)) == ["m3", "m2", "m1", "m0"]
    decision = decide("m0", 1, 10, scores, own_values(4), RETURN, 5)
    assert decision.copy_from in ("m2", "m3") and "return +" in decision.verdict
