"""Config against game, and edits against a population that has started."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from pbt.config.learning import LearningConfig, ModelConfig
from pbt.config.population import MemberOverride, PbtConfig, PopulationConfig
from pbt.config.resume import EDITABLE, changes, changes_members, diff_shapes
from pbt.config.running import EnvConfig, EvaluationConfig
from pbt.config.schema import RunConfig
from pbt.config.semantics import (
    algorithm_problems,
    check_against_game,
    everyone,
    member_number,
    member_roles,
)
from pbt.errors import ConfigError


@dataclass(frozen=True)
class FakeRole:
    name: str


@dataclass(frozen=True)
class FakeGame:
    roles: tuple[FakeRole, ...] = (FakeRole("hider"), FakeRole("seeker"))
    reward_terms: tuple[str, ...] = ("win", "distance")
    seat_roles: tuple[int, ...] = (0, 1)


BASE = RunConfig(env=EnvConfig(name="x"))


def with_members(count: int | dict[str, int], **sections: object) -> RunConfig:
    return RunConfig.model_validate(
        {"env": {"name": "x"}, "population": {"members": count}, **sections}
    )


def problems_of(config: RunConfig) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        check_against_game(config, FakeGame(), "run.toml")
    return caught.value.problems


def test_members_are_numbered_through_the_roles() -> None:
    assert member_roles(with_members(2), ["a", "b"]) == {"m0": "a", "m1": "a", "m2": "b", "m3": "b"}
    assert member_roles(with_members({"b": 1, "a": 2}), ["a", "b"]) == {
        "m0": "a",
        "m1": "a",
        "m2": "b",
    }


def test_a_fitting_config_passes() -> None:
    check_against_game(
        with_members({"hider": 1, "seeker": 2}, members={"m2": {"shaping": {"win": 2.0}}}),
        FakeGame(),
    )
    check_against_game(
        with_members(
            3, members={"m5": {"learning_rate": 0.0}}, learning={"shaping": {"distance": 0.1}}
        ),
        FakeGame(),
    )


def test_roles_must_be_those_of_the_game() -> None:
    assert problems_of(with_members({"hidr": 1, "seeker": 2})) == (
        "population.members.hidr: no such role in this game; did you mean hider?",
        (
            "population.members.hider: missing; every role needs members; add hider = 4 (roles: "
            "hider, seeker)"
        ),
    )


def test_members_and_terms_must_exist_and_all_problems_come_together() -> None:
    config = with_members(
        2,
        members={"m9": {"shaping": {"wim": 1.0}}, "best": {"learning_rate": 0.1}},
        learning={"shaping": {"kills": 1.0}},
    )
    first, second, third, fourth = problems_of(config)
    assert first == "members.m9: no such member in this game; it has m0 to m3"
    assert second == "members.best: no such member in this game; it has m0 to m3"
    assert third == "learning.shaping.kills: no such reward term in this game; it has win, distance"
    assert fourth == "members.m9.shaping.wim: no such reward term in this game; did you mean win?"


def test_edits_that_change_shapes_or_streams_are_refused() -> None:
    new = BASE.model_copy(
        update={
            "seed": 2,
            "model": ModelConfig(hidden=(8,)),
            "env": EnvConfig(name="y", options={"rows": 3}),
            "population": PopulationConfig(members=9),
            "members": {"m0": MemberOverride(learning_rate=0.05)},
            "pbt": PbtConfig(spread_start=2.0),
            "stop_at_frames": 7,
        }
    )
    refused = diff_shapes(BASE, new)
    places = [line.partition(" = ")[0] for line in refused]
    assert places == [
        "env.name",
        "env.options.rows",
        "members.m0.learning_rate",
        "model.hidden",
        "pbt.spread_start",
        "population.members",
        "seed",
    ]
    assert refused[3] == (
        "model.hidden = [8]: fixed at [256, 256] when the population started; leave it, or "
        "train a new population under another name"
    )


def test_other_edits_are_taken() -> None:
    new = BASE.model_copy(
        update={
            "description": "longer",
            "stop_at_frames": 7,
            "learning": LearningConfig(learning_rate=0.05, gamma=0.5, shaping={"win": 2.0}),
            "pbt": PbtConfig(period_frames=10),
            "evaluation": EvaluationConfig(share=0.5),
        }
    )
    assert diff_shapes(BASE, new) == []
    assert set(changes(BASE, new)) == {
        "description",
        "stop_at_frames",
        "learning.learning_rate",
        "learning.gamma",
        "learning.shaping.win",
        "pbt.period_frames",
        "evaluation.share",
    }
    assert changes(BASE, new)["stop_at_frames"] == (BASE.stop_at_frames, 7)


def test_every_editable_key_exists() -> None:
    for key in EDITABLE:
        value: object = BASE
        for name in key.split("."):
            value = getattr(value, name)


def test_places_for_frozen_players_must_suffice_for_one_game() -> None:
    (problem,) = problems_of(with_members(2, matchmaking={"resident": 1}))
    assert problem == (
        "matchmaking.resident = 1: an evaluation game seats 2 frozen players at once; "
        'make it 2 or more, or "auto"'
    )
    check_against_game(with_members(2, matchmaking={"resident": 2}), FakeGame())


class Deadlined(FakeGame):
    longest_wait_s = 11.0


@pytest.mark.parametrize("timeout_s", [5.0, 11.0])
def test_a_process_is_not_taken_for_hung_while_its_game_still_waits(timeout_s: float) -> None:
    config = RunConfig.model_validate({"env": {"name": "x", "timeout_s": timeout_s}})
    with pytest.raises(ConfigError) as caught:
        check_against_game(config, Deadlined())
    (problem,) = caught.value.problems
    assert problem.startswith(
        f"env.timeout_s = {timeout_s:g}: this game itself ends what does not answer for up "
        "to 11 s; make it longer, say 60, or"
    )
    check_against_game(config, FakeGame())
    check_against_game(
        RunConfig.model_validate({"env": {"name": "x", "timeout_s": 11.5}}), Deadlined()
    )
    check_against_game(
        RunConfig.model_validate({"env": {"name": "x"}, "runtime": {"placement": "serial"}}),
        Deadlined(),
    )


def exchanged(joined: dict[str, str], *left: str, count: int | dict[str, int] = 2) -> RunConfig:
    population = {
        "members": count,
        "joined": {name: {"role": role} for name, role in joined.items()},
        "left": list(left),
    }
    return RunConfig.model_validate_json(
        json.dumps({"env": {"name": "x"}, "population": population})
    )


def test_who_joined_and_left_is_counted_through() -> None:
    config = exchanged({"m5": "a", "m4": "b"}, "m1", "m4")
    assert everyone(config, ["a", "b"]) == {
        "m0": "a",
        "m1": "a",
        "m2": "b",
        "m3": "b",
        "m4": "b",
        "m5": "a",
    }
    assert member_roles(config, ["a", "b"]) == {"m0": "a", "m2": "b", "m3": "b", "m5": "a"}
    assert [member_number(name) for name in ("m0", "m12")] == [0, 12]


def test_nobody_joins_under_a_taken_name_and_each_role_keeps_a_member() -> None:
    check_against_game(exchanged({"m4": "seeker"}, "m2", "m3"), FakeGame())
    assert problems_of(exchanged({"m4": "seekr", "m1": "hider"}, "m9", "m2", "m3")) == (
        "population.joined.m1: the population began with a member of that name; go on at m4",
        "population.joined.m4.role: no such role in this game; did you mean seeker?",
        "population.left.m9: no such member in this game; it has m0, m1, m2, m3, m4",
        "population.left: no member plays seeker any more; each role keeps a member",
    )


def test_members_that_joined_or_left_stay_in_the_config() -> None:
    before = exchanged({"m4": "hider"}, "m1")
    assert diff_shapes(before, exchanged({"m4": "hider", "m5": "seeker"}, "m1", "m4")) == []
    assert changes_members(before, exchanged({"m4": "hider"}, "m1", "m4")) and not changes_members(
        before, before
    )
    assert diff_shapes(before, exchanged({"m4": "seeker"})) == [
        "population.joined.m4: has joined already; it can only leave",
        (
            "population.left: m1 has left for good; a new member can begin with the weights of "
            "its last snapshot"
        ),
    ]


def test_dqn_needs_games_of_one_choice() -> None:
    config = with_members(2, members={"m1": {"algorithm": "dqn"}})
    assert algorithm_problems(config, {"player": True}) == []
    (own,) = algorithm_problems(config, {"player": False})
    assert own.startswith('members.m1.algorithm = "dqn": it learns games with one choice a step')
    everyone_else = with_members(2, learning={"algorithm": "dqn"})
    (all_of_them,) = algorithm_problems(everyone_else, {"player": False})
    assert all_of_them.startswith('learning.algorithm = "dqn"') and '"appo"' in all_of_them
    assert algorithm_problems(with_members(2), {"player": False}) == []


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"dqn": {"replay_rows": 3000, "least_rows": 1501}}, "dqn.least_rows = 1501: more than"),
        ({"dqn": {"replay_rows": 3000, "batch_rows": 1600}}, "dqn.batch_rows = 1600: more than"),
        ({"dqn": {"replay_rows": 2047}}, "dqn.replay_rows = 2047: less than"),
        ({"learning": {"scale_with_batch": 80}}, "learning.scale_with_batch = 80: DQN takes steps"),
        ({"model": {"core": "gru"}}, 'model.core = "gru": DQN replays single steps'),
    ],
)
def test_dqn_refuses_what_it_cannot_learn_by(sections: dict[str, Any], problem: str) -> None:
    with_members(2, **sections)
    learning = {**sections.get("learning", {}), "algorithm": "dqn"}
    for chosen in ({"learning": learning}, {"members": {"m1": {"algorithm": "dqn"}}}):
        with pytest.raises(ValueError, match=re.escape(problem)):
            with_members(2, **{**sections, **chosen})
