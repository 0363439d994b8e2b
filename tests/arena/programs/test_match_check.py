"""Matches that cannot be played are found before anything is stored; so are missing devices."""

from pathlib import Path

import pytest
import torch

from arena.league.match_requests import RequestedMatch
from arena.programs.config_check import check
from arena.programs.match_check import problem_of


def asked(*players: str, env: str | None = "connect_four") -> RequestedMatch:
    return RequestedMatch(players, env, None, 1, False, None)


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (asked("random", "random", "random"), "connect_four has 2 seats, and 3 players"),
        (asked("random", "one/m0"), "there is no league"),
        (asked("random", "nonsense"), "nonsense"),
        (asked("random", "random", env="conect_four"), "connect_four"),
        (asked("random", "random", env=None), "none of them says which game"),
    ],
)
def test_a_match_that_cannot_be_played_has_a_problem(
    tmp_path: Path, match: RequestedMatch, said: str
) -> None:
    problem = problem_of(match, tmp_path)
    assert problem is not None and said in problem


def test_one_that_can_be_played_has_none(tmp_path: Path) -> None:
    assert problem_of(asked("random", "oneply"), tmp_path) is None


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="the device exists")
def test_a_device_that_the_machine_lacks_is_refused() -> None:
    config = {"env": {"name": "connect_four"}, "runtime": {"learner_device": "cuda:7"}}
    (problem,) = check(config).problems
    assert "cuda:7" in problem and "this machine has" in problem
    assert check({"env": {"name": "connect_four"}}).problems == ()
