"""What the program recommends after a training works, in every kind of game."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.cli.next_steps import next_steps
from tests.arena.tiny_populations import CONNECT_FOUR, TWO_ROLES, UNRATED, train

Output = pytest.CaptureFixture[str]
MPE: dict[str, Any] = {
    **CONNECT_FOUR,
    "stop_at_frames": 600,
    "snapshots": {"every_frames": 300},
    "evaluation": {"share": 0.0, "final_games": 150},
    "population": {"members": 1},
}
TAG, SPREAD = (
    {**MPE, "env": {"name": "mpe", "options": {"scenario": scenario, "max_cycles": 3}}}
    for scenario in ("simple_tag", "simple_spread")
)
CARTPOLE = {**MPE, "env": {"name": "cartpole"}}
KINDS = {
    "pole": (CARTPOLE, "evaluate pole@best random"),
    "four": ({**MPE, "env": {"name": "connect_four"}}, "match four@best random"),
    "hide": (
        {
            **MPE,
            "env": {"name": "hide_and_seek"},
            "population": {"members": {"hider": 1, "seeker": 1}},
        },
        "match hide/hider@best hide/seeker@best random",
    ),
    "spread": (SPREAD, "match spread@best random"),
    "tag": (
        {**TAG, "population": {"members": {"adversary": 1, "agent": 1}}},
        "match tag/adversary@best tag/agent@best random",
    ),
}


def followed(steps: str, capsys: Output) -> list[str]:
    """Runs the commands of a recommendation; returns what they print."""
    texts = []
    for command in steps.split("; "):
        words = shlex.split(command.removeprefix("arena "))
        if words[0] in ("match", "evaluate"):
            words += ["--games" if words[0] == "match" else "--episodes", "8"]
        assert run(words) == 0, capsys.readouterr().err
        texts.append(capsys.readouterr().out)
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_is_recommended_works(name: str, tmp_path: Path, capsys: Output) -> None:
    table, expected = KINDS[name]
    train(tmp_path, name, table)
    steps = next_steps(name, tmp_path)
    assert steps == (f"arena league {name} --data {tmp_path}; arena {expected} --data {tmp_path}")
    league, compared = followed(steps, capsys)
    assert f"population {name}" in league
    last = compared.splitlines()[-1]
    assert re.match(r"(Verdict|Seats|Lead)", last), compared


def test_where_none_is_best_yet_a_member_of_each_role_is_named(
    tmp_path: Path, capsys: Output
) -> None:
    train(tmp_path, "roles", TWO_ROLES)
    train(tmp_path, "new", UNRATED)
    assert next_steps("new", tmp_path).endswith(f"arena match new/m0 random --data {tmp_path}")
    steps = next_steps("roles", tmp_path)
    assert steps.endswith(f"arena match roles/m0 roles/m2 random --data {tmp_path}")
    followed(steps, capsys)
