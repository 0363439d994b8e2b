"""Scores, values and rounds for the tests of PBT decisions."""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace

from pbt.config.population import PbtConfig
from pbt.objective import ObjectiveKind
from pbt.population.pbt_decision import decide
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import Detail, counted_games, score_points
from pbt.records import Against, Directive, GameRecord, MemberScore, RoundRecord

# The papers' rules: a gap of win rates, whatever chance makes.
RULES = PbtRules.from_config(PbtConfig(opponents="all", copy_significance_per="comparison"), "win")
COMMON = replace(RULES, opponents="common")
START = {
    "learning_rate": 1e-3,
    "entropy_coef": 0.01,
    "adam_beta1": 0.9,
    "shaping.damage": 0.02,
    "shaping.death": -0.5,
    "shaping.win": 1.0,
}
NAMES = list(START)


def names(count: int) -> list[str]:
    return [f"m{index}" for index in range(count)]


def score_games(
    member: str, records: Iterable[GameRecord], objective: ObjectiveKind, detail: Detail = "plain"
) -> MemberScore:
    """The score over game records, which may come in any order, of the earliest generation."""
    counted = sorted(
        (game, generation)
        for record in records
        for name, generation, game in counted_games(record, objective)
        if name == member
    )
    first = [game for game, generation in counted if generation == counted[0][1]]
    if not detail.startswith("against"):
        first = [game._replace(opponent="") for game in first]
    return score_points(member, first, detail)


def make_scores(objectives: list[float], games: int = 100) -> list[MemberScore]:
    return [
        MemberScore(f"m{index}", games, objective, index, 1000 + index)
        for index, objective in enumerate(objectives)
    ]


def own_values(count: int) -> dict[str, dict[str, float]]:
    """Every member's values differ, so that it shows whose were taken."""
    return {
        name: {**START, "learning_rate": 1e-3 * (1 + index / 7)}
        for index, name in enumerate(names(count))
    }


def make_round(
    member: str, round: int, objectives: list[float], rules: PbtRules = RULES
) -> RoundRecord:
    scores, hyperparams = make_scores(objectives), own_values(len(objectives))
    decision = decide(member, round, 10, scores, hyperparams, rules, 7)
    directive = decision.directive(member, round, "f" * 64 if decision.copy_from else None)
    return RoundRecord(
        member,
        round,
        10,
        tuple(scores),
        hyperparams,
        rules.to_mapping(),
        7,
        decision.verdict,
        directive,
    )


def through_json(record: RoundRecord) -> RoundRecord:
    return from_json(json.dumps(asdict(record)))


def from_json(text: str) -> RoundRecord:
    stored = json.loads(text)
    stored["scores"] = tuple(
        MemberScore(
            **{**score, "against": tuple(Against(**part) for part in score.get("against", ()))}
        )
        for score in stored["scores"]
    )
    stored["directive"] = Directive(
        **{**stored["directive"], "mutated": tuple(stored["directive"]["mutated"])}
    )
    return RoundRecord(**stored)
