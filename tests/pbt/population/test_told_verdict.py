"""The numbers that are read from a verdict are those that the decision was made from."""

import math
import random
from dataclasses import replace

import pytest

from pbt.config.population import PbtConfig
from pbt.objective import ObjectiveKind
from pbt.population.comparison import compare, standings
from pbt.population.pbt_decision import decide, rank
from pbt.population.pbt_rules import PbtRules
from pbt.population.told_verdict import ToldVerdict, read_verdict
from pbt.records import Against, MemberScore
from tests.pbt.population.rounds import RULES, own_values

MEMBERS = 8


def score(number: int, rng: random.Random, objective: ObjectiveKind) -> MemberScore:
    """Of a member that met three opponents; the later its name, the stronger it is."""
    against = []
    for opponent in ("x", "y", "z"):
        games, level = rng.randint(20, 400), 0.1 + 0.1 * number
        points = sum(rng.random() < level for _ in range(games))
        worth = float(points) if objective == "win" else 40.0 * points - 15.0 * games
        squares = None if objective == "win" else 1600.0 * points * (1 - points / games)
        against.append(Against(opponent, games, worth, squares))
    games = sum(part.games for part in against)
    mean = sum(part.points for part in against) / games
    squares = None if objective == "win" else sum(part.squares or 0.0 for part in against)
    return MemberScore(f"m{number}", games, mean, 0, 10_000, squares, tuple(against))


ALL_RULES = [
    *(PbtRules.from_config(PbtConfig(), objective) for objective in ("win", "margin", "return")),
    PbtRules.from_config(PbtConfig(copy_ratio=0.5), "win"),
    PbtRules.from_config(PbtConfig(opponents="all"), "return"),
    PbtRules.from_config(PbtConfig(copy_significance_per="comparison"), "margin"),
    RULES,
    replace(RULES, copy_significance=0.01, copy_gap=0.2),
]


@pytest.mark.parametrize("rules", ALL_RULES, ids=range(len(ALL_RULES)))
@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_a_verdict_are_those_of_the_decision(rules: PbtRules, seed: int) -> None:
    rng = random.Random(seed)
    scores = [score(number, rng, rules.objective) for number in range(MEMBERS)]
    ranking, copies = rank(scores, rules), 0
    for own in scores:
        made = decide(own.member, 3, 5_000, scores, own_values(MEMBERS), rules, seed)
        told = read_verdict(made.verdict)
        assert (told.rank, told.ranked, told.games) == (
            list(ranking).index(own.member) + 1,
            MEMBERS,
            own.games,
        )
        assert told.objective == pytest.approx(own.objective, rel=1e-5, abs=1e-9)
        expected = standings(scores, rules.objective)[own.member]
        if rules.opponents == "common":
            assert told.on_common == pytest.approx(expected, rel=1e-5)
        assert ("copies" in made.verdict or "does not copy" in made.verdict) == (
            told.lead is not None
        )
        assert made.copy_from == (told.lead.member if told.lead and told.lead.copied else None)
        if told.lead is None:
            continue
        copies += told.lead.copied
        donor = next(one for one in scores if one.member == told.lead.member)
        gap = compare(donor, own, rules.objective, rules.equals_sd)
        assert told.lead.objective == pytest.approx(donor.objective, rel=1e-5, abs=1e-9)
        assert told.lead.ahead == pytest.approx(gap.ahead, rel=1e-5)
        assert told.lead.opponents == gap.opponents
        if told.lead.errors is not None and gap.errors is not None:
            assert told.lead.errors == pytest.approx(gap.errors, rel=0.06)
        if told.lead.p is not None:
            assert told.lead.p == pytest.approx(gap.p, rel=0.01)
            assert told.lead.level is not None and math.isfinite(told.lead.level)
    assert copies > 0


def test_a_member_with_few_games_is_not_ranked() -> None:
    scores = [MemberScore(f"m{number}", 9, 0.5, 0, 9) for number in range(3)]
    made = decide("m0", 1, 10, scores, own_values(3), RULES, 1)
    told = read_verdict(made.verdict)
    assert (told.rank, told.games, told.lead) == (None, 9, None) and told.reason == made.verdict


def test_words_of_another_form_are_the_reason() -> None:
    assert read_verdict("as it was") == ToldVerdict(None, None, None, None, None, "as it was", None)
