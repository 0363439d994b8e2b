"""Grades of connect four: the stored positions hold what a slow search finds, and known players get
the grades that can be counted by hand.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from bench import grade
from bench.connect_four_board import COLUMNS, board_of, minimax, same_position
from bench.connect_four_solver import Solver
from bench.graded_players import Asked, player_named
from bench.position_games import CRITICAL_OF_CELL, DRAWN_OF_CELL, problems
from bench.positions import DRAWN, FILE, Position, position_of, stored_positions


@pytest.fixture(scope="module")
def stored() -> list[Position]:
    return stored_positions()


def searched(state: pyspiel.State) -> int:
    """The value for the side to move, by OpenSpiel's rules and the whole tree below."""
    if state.is_terminal():
        return int(state.returns()[0] or 0) * (1 if len(state.history()) % 2 == 0 else -1)
    return max(-searched(state.child(move)) for move in state.legal_actions())


def state_after(position: Position) -> pyspiel.State:
    state = pyspiel.load_game("connect_four").new_initial_state()
    for move in position.moves:
        state.apply_action(move)
    return state


def test_late_positions_are_worth_what_a_search_of_the_whole_tree_finds(
    stored: list[Position],
) -> None:
    late, critical = [one for one in stored if len(one.moves) >= 33], 0
    for position in late:
        state = state_after(position)
        values = {move: -searched(state.child(move)) for move in state.legal_actions()}
        assert position.values == tuple(values.get(column) for column in range(COLUMNS))
        assert minimax(board_of(position.moves), 42) == values
        best = max(values.values())
        assert position.keeping == tuple(move for move, value in values.items() if value == best)
        assert position.critical == (min(values.values()) < best)
        critical += position.critical
    assert len(late) > 100 and critical > 50


def test_the_positions_are_distinct_and_fill_their_cells(stored: list[Position]) -> None:
    assert len({same_position(board_of(one.moves)) for one in stored}) == len(stored)
    critical = Counter((one.source, one.stones) for one in stored if one.critical)
    drawn = Counter((one.source, one.stones) for one in stored if one.sample == DRAWN)
    assert set(critical.values()) == {CRITICAL_OF_CELL} and critical.total() >= 2000
    assert set(drawn.values()) == {DRAWN_OF_CELL} and drawn.keys() == critical.keys()
    assert {one.value for one in stored if one.critical} == {0, 1}


def test_a_mirrored_board_is_what_mirrored_moves_make(stored: list[Position]) -> None:
    for position in stored[::20]:
        mirrored = [COLUMNS - 1 - move for move in position.moves]
        assert board_of(mirrored) == board_of(position.moves).mirrored()


def test_another_file_is_refused(tmp_path: Path, stored: list[Position]) -> None:
    other = tmp_path / "other.txt"
    other.write_text(FILE.read_text().replace("+", "=", 1))
    with pytest.raises(ValueError, match=r"found SHA-256 .*; expected 9d4d01a8eff5"):
        stored_positions(other)
    assert [position_of(one.line) for one in stored[:50]] == stored[:50]


def test_the_check_finds_a_wrong_value(stored: list[Position]) -> None:
    late = [one for one in stored if len(one.moves) > 24][::20]
    bad = Position("random", late[0].moves[:-1], (1, 1, 1, 1, 1, 1, -1), DRAWN)
    found = list(problems([*late, bad], Solver()))
    assert sum("the solver says" in problem for problem in found) == 1
    assert sum("expected 180 in each cell" in problem for problem in found) == 3


def test_random_and_perfect_players_have_the_grades_that_can_be_counted(
    stored: list[Position],
) -> None:
    some = stored[::50]
    critical = [one for one in some if one.critical]
    by_hand = [len(one.keeping) / sum(v is not None for v in one.values) for one in critical]
    for name, expected in (("random", np.mean(by_hand)), ("perfect", 1.0)):
        _, player = player_named(name, None, 1)
        assert grade.graded(player(some), some)["plays"]["share"] == pytest.approx(expected)


def test_minimax_of_one_ply_takes_a_win_and_nothing_else(stored: list[Position]) -> None:
    asked = player_named("minimax:1", None, 1)[1](stored[::25])
    for position, chances in zip(stored[::25], asked.chances, strict=True):
        state = state_after(position)
        wins = [move for move in state.legal_actions() if state.child(move).is_terminal()]
        taken = wins or state.legal_actions()
        assert chances[taken] == pytest.approx(1 / len(taken)) and (chances > 0).sum() == len(taken)


def test_the_value_head_is_held_against_the_truth_of_drawn_positions(
    stored: list[Position],
) -> None:
    some = stored[::10]
    truth = np.array([one.value for one in some], np.float32)
    uniform = np.full((len(some), COLUMNS), 1 / COLUMNS)
    found = grade.graded(Asked(uniform, np.zeros(len(some), np.int64), 3 * truth - 1), some)
    assert found["value"]["correlation"] == pytest.approx(1.0)
    assert found["value"]["positions"] == sum(one.sample == DRAWN for one in some)
    first = np.mean([0 in one.keeping for one in some if one.critical])
    assert found["greedy"]["share"] == pytest.approx(first)
    assert found["greedy"]["low"] < first < found["greedy"]["high"]


def test_a_player_that_stands_in_the_file_is_not_graded_again(
    tmp_path: Path, stored: list[Position], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "stored_positions", lambda: stored[::100])
    file = tmp_path / "grades.json"
    grade.main(["oneply", "mcts:10", "--json", str(file)])
    first = json.loads(file.read_text())
    grade.main(["oneply", "mcts:10", "minimax:2", "--json", str(file)])
    second = json.loads(file.read_text())
    assert {name: second["players"][name] for name in first["players"]} == first["players"]
    assert list(second["players"]) == ["oneply", "mcts:10", "minimax:2"]
    grade.main(["mcts:10", "--again", "--json", str(file)])
    again = json.loads(file.read_text())["players"]["mcts:10"]
    assert again["plays"] == first["players"]["mcts:10"]["plays"]
    with pytest.raises(SystemExit, match="graded on other positions or with another seed"):
        grade.main(["oneply", "--seed", "2", "--json", str(file)])


@pytest.mark.parametrize(
    ("name", "message"),
    [("unknown", "there is no player 'unknown'"), ("exec:./bot", "programs are not graded")],
)
def test_an_unknown_player_is_told(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        grade.main([name, "--data", str(tmp_path)])
