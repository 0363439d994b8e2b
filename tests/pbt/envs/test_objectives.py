"""Objectives: those that games declare, and those that follow from measured returns."""

from collections.abc import Mapping
from typing import Any

import pytest

from arena.cli.env import report_lines
from pbt.envs.contract import EnvSpec, declared_objective
from pbt.envs.registry import BUILTIN, spec
from pbt.envs.testing.check import check_game
from pbt.envs.testing.objectives import judge_objective
from pbt.objective import ObjectiveKind
from tests.pbt.envs.matrix_game import (
    Pays,
    SharingGame,
    duel,
    harvest,
    matrix_spec,
    pot,
    together,
)

KINDS: Mapping[str, tuple[Pays, ObjectiveKind, str]] = {
    "cooperative": (together, "return", "all seats had one return in 20 of 20 games, -1 to 2"),
    "margins": (pot, "margin", "returns summed to 0 in 20 of 20 games, sizes 1 to 2"),
    "win": (duel, "win", "returns summed to 0 in 20 of 20 games, sizes 1"),
    "general sum": (harvest, "return", "returns summed to 0 in "),
}


@pytest.mark.parametrize(("pays", "proposed", "words"), KINDS.values(), ids=KINDS.keys())
def test_the_objective_is_proposed_from_what_is_measured(
    pays: Pays, proposed: ObjectiveKind, words: str
) -> None:
    report = check_game(matrix_spec(pays))
    assert report.ok and report.objective is not None
    assert (report.objective.declared, report.objective.proposed) == (None, proposed)
    assert report.objective.measured.startswith(words)
    (line,) = [line for line in report_lines(report) if line.startswith("  objective ")]
    assert line.endswith(f'[env] objective = "{proposed}"')


def test_a_declaration_that_the_returns_contradict_breaks_the_contract() -> None:
    for pays, declared, expected in (
        (together, "win", "expected a seat that comes first"),
        (harvest, "margin", "expected 0 in every game"),
    ):
        report = check_game(matrix_spec(pays, objective=declared))  # type: ignore[arg-type]
        (problem,) = report.problems
        assert problem.startswith(f'declared objective="{declared}", but ')
        assert expected in problem and problem.endswith('declare objective="return"')
    # Wins can be counted where there are margins, and every game has returns.
    for pays, declared in ((pot, "win"), (harvest, "win"), (duel, "margin"), (pot, "return")):
        assert check_game(matrix_spec(pays, objective=declared)).ok  # type: ignore[arg-type]


def test_games_that_tell_nothing_propose_nothing() -> None:
    report = check_game(matrix_spec(lambda thrown: [0.0, 0.0], objective="win"))
    assert report.ok and report.objective is not None and report.objective.proposed is None
    assert "which does not tell" in report.objective.measured


def test_places_of_the_games_own_are_wins() -> None:
    """Returns are shaped here, and something else decides."""
    report = check_game(matrix_spec(together, places=duel))
    assert report.ok and report.objective is not None and report.objective.proposed == "win"


def test_one_seat_has_returns() -> None:
    report = check_game(matrix_spec(lambda thrown: [float(thrown[0])], seats=1, objective="win"))
    assert report.ok and report.objective is not None and report.objective.proposed == "return"


@pytest.mark.parametrize(
    ("registered", "objective", "problem", "hint", "better"),
    [
        (matrix_spec(together), "win", "every place is shared", None, "return"),
        (matrix_spec(together, objective="return"), "win", "every place is shared", None, "return"),
        (matrix_spec(harvest), "margin", "expected 0 in every game", None, "return"),
        (matrix_spec(pot), "win", None, "sizes 1 to 2", "margin"),
        (matrix_spec(pot, objective="margin"), "win", None, None, None),
        (matrix_spec(duel), "win", None, None, None),
        (matrix_spec(together), "return", None, None, None),
        # What a game declares is believed.
        (matrix_spec(together, objective="win"), "win", None, None, None),
    ],
)
def test_an_objective_is_judged_before_a_training(
    registered: EnvSpec,
    objective: ObjectiveKind,
    problem: str | None,
    hint: str | None,
    better: ObjectiveKind | None,
) -> None:
    judged = judge_objective(registered, registered.make(), objective)
    assert (problem or "") in (judged.problem or "") and bool(problem) == bool(judged.problem)
    assert (hint or "") in (judged.hint or "") and bool(hint) == bool(judged.hint)
    assert judged.better == better


def test_rules_that_share_every_return_need_no_measurement() -> None:
    registered = EnvSpec("shared", SharingGame, False, True, "none")
    judged = judge_objective(registered, SharingGame(), "win")
    assert judged.problem is not None and "by its rules all seats" in judged.problem


EXPECTED: Mapping[str, ObjectiveKind] = {
    "connect_four": "win",
    "tictactoe": "win",
    "leduc_holdem": "margin",
    "texas_holdem": "margin",
    "cartpole": "return",
    "rock_paper_scissors": "win",
    "hide_and_seek": "win",
    "memory": "return",
    "mpe": "return",
    "doom": "return",
    "doom_match": "win",
}
OPENSPIEL: Mapping[str, tuple[dict[str, Any], ObjectiveKind]] = {
    "leduc_poker": ({}, "margin"),
    "kuhn_poker": ({"players": 3}, "margin"),
    "tic_tac_toe": ({}, "win"),
    "backgammon": ({"scoring_type": "winloss_scoring"}, "win"),
    "backgammon with doubled wins": ({"scoring_type": "full_scoring"}, "margin"),
    "goofspiel": ({"turn_based": True}, "win"),
    "goofspiel by points": ({"turn_based": True, "returns_type": "point_difference"}, "margin"),
    "chinese_checkers": ({"players": 3}, "win"),
    "skat": ({}, "margin"),
    "maedn": ({"players": 2}, "win"),
    "maedn for four": ({"players": 4}, "win"),
    "hanabi": ({}, "return"),
    "bargaining": ({}, "return"),
}


def test_every_registered_game_declares_its_objective() -> None:
    assert {name: spec(name).objective for name in BUILTIN} == EXPECTED


@pytest.mark.parametrize("name", OPENSPIEL)
def test_openspiel_says_the_utility_of_its_games(name: str) -> None:
    options, expected = OPENSPIEL[name]
    registered = spec(f"openspiel:{name.split()[0]}")
    game = registered.make(**options)
    assert declared_objective(registered, game) == expected
    judged = judge_objective(registered, game, "win")
    shared = name == "hanabi"
    assert bool(judged.problem) == shared
