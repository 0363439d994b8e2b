"""Games in C play as their twins in Python do: turns, rewards, observations, masks and outcomes."""

from typing import Any

import numpy as np
import pytest

from bench.twins import TWINS, DifferError, compared, play
from pbt.envs.adapters.openspiel_in_c import RULES
from pbt.envs.contract import Declaring
from pbt.envs.native_games import (
    FORBIDDEN,
    NativeGame,
    NativeRules,
    NativeTables,
    native_rules,
)
from pbt.envs.registry import spec
from pbt.errors import EnvError

DECISIONS = 4_000


@pytest.fixture(params=TWINS)
def rules(request: pytest.FixtureRequest) -> NativeRules:
    found = TWINS[request.param][0]
    if found.code() is None:
        pytest.skip("there is no C compiler here")
    return found


def test_a_game_is_that_of_its_twin(rules: NativeRules) -> None:
    native, twin, rng = NativeGame(rules), TWINS[rules.name][1](), np.random.default_rng(5)
    for fact in ("roles", "seat_names", "seat_roles", "reward_terms"):
        assert getattr(native, fact) == getattr(twin, fact)
    decisions = 0
    while decisions < DECISIONS:
        decisions += len(play(native, twin, rng, int(rng.integers(2**31))))


@pytest.mark.slow
def test_many_games_are_those_of_the_twin(rules: NativeRules) -> None:
    assert all(compared(rules.name, np.arange(20_000), np.random.default_rng(5)))


def test_what_is_registered_is_played_in_c(rules: NativeRules) -> None:
    game, twin = spec(rules.name).make(), TWINS[rules.name][1]()
    assert native_rules(game) is rules and native_rules(twin) is None
    if isinstance(twin, Declaring):
        assert isinstance(game, Declaring) and game.objective_kind == twin.objective_kind


def test_a_difference_is_found(rules: NativeRules) -> None:
    class Other(NativeGame):
        def outcome(self) -> object:  # type: ignore[override]
            return None

    with pytest.raises(DifferError, match="another outcome"):
        play(Other(rules), TWINS[rules.name][1](), np.random.default_rng(5), 0)


def test_a_forbidden_action_is_refused(rules: NativeRules) -> None:
    game = NativeGame(rules)
    (turn,) = game.reset(0)
    with pytest.raises(EnvError, match="chose 1000, which the rules forbid"):
        game.step({turn.seat: (1000,)})
    (turn,) = game.reset(0)
    with pytest.raises(EnvError, match="expected exactly the seats that are due"):
        game.step({1 - turn.seat: (0,)})


def test_what_the_mask_forbids_is_refused_and_copies_go_on_alone(rules: NativeRules) -> None:
    """Every forbidden action of some games is tried on a copy. Another copy makes the same move."""
    rng, tables, others = np.random.default_rng(8), NativeTables(rules, 2), NativeTables(rules, 1)
    game, tried, zero, one = NativeGame(rules), 0, np.zeros(1, np.int64), np.ones(1, np.int64)
    for seed in range(5):
        turns = game.reset(seed)
        tables.begin(zero, np.array([seed]))
        while not turns[0].over:
            mask, seats = np.asarray(turns[0].mask), np.array([turns[0].seat])
            for action in np.flatnonzero(~mask).tolist():
                tables.copy(one, tables, zero)
                assert tables.step(one, seats, np.array([action])).seat.tolist() == [FORBIDDEN]
                tried += 1
            others.copy(zero, tables, zero)
            action = int(rng.choice(np.flatnonzero(mask)))
            turns = game.step({turns[0].seat: (action,)})
            for copied in (others, tables):
                made = copied.step(zero, seats, np.array([action]))
                assert made.seat.tolist() == [turn.seat for turn in turns]
                assert made.rewards[:, 0].tolist() == [turn.rewards[0] for turn in turns]
        assert tables.outcomes(zero) == others.outcomes(zero) == [game.outcome()]
    assert tried > 0


def test_a_table_of_another_game_is_not_copied(rules: NativeRules) -> None:
    other = next(TWINS[name][0] for name in TWINS if name != rules.name)
    zero = np.zeros(1, np.int64)
    with pytest.raises(EnvError, match="expected tables of one game"):
        NativeTables(rules, 1).copy(zero, NativeTables(other, 1), zero)


@pytest.mark.parametrize("name", RULES)
def test_a_difference_at_many_tables_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thing that is compared is changed in turn."""
    if RULES[name].code() is None:
        pytest.skip("there is no C compiler here")
    from bench import spiel_tables

    plain = spiel_tables.SpielTables._turns
    changes = {
        "rewards": "turns",
        "its seat sees something else": "observations",
        "another mask": "masks",
    }
    for words, field in changes.items():

        def changed(self: Any, positions: Any, field: str = field) -> spiel_tables.SeenTurns:
            made = plain(self, positions)
            column = made.turns.rewards if field == "turns" else getattr(made, field)
            column.flat[-1] += 1
            return made

        monkeypatch.setattr(spiel_tables.SpielTables, "_turns", changed)
        with pytest.raises(DifferError, match=words):
            list(compared(name, np.arange(3), np.random.default_rng(5)))
    monkeypatch.setattr(spiel_tables.SpielTables, "_turns", plain)
    monkeypatch.setattr(spiel_tables.SpielTables, "ranking", lambda self, position: (3, 3))
    with pytest.raises(DifferError, match="another outcome"):
        list(compared(name, np.arange(3), np.random.default_rng(5)))


def test_tables_do_not_touch_each_other(rules: NativeRules) -> None:
    """The same games, each alone and all of them at tables of one group, stepped in any order."""
    rng, tables = np.random.default_rng(6), NativeTables(rules, 7)
    alone = [NativeGame(rules) for _ in range(7)]
    turns = {at: game.reset(at) for at, game in enumerate(alone)}
    tables.begin(np.arange(7), np.arange(7))
    while turns:
        chosen = rng.permutation(list(turns))[: int(rng.integers(1, 8))]
        acting = [next(turn for turn in turns[at] if not turn.over) for at in chosen.tolist()]
        masks = [np.asarray(turn.mask) for turn in acting]
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in masks]
        seats = np.array([turn.seat for turn in acting])
        made = tables.step(chosen, seats, np.array(actions))
        for at, turn, action in zip(chosen.tolist(), acting, actions, strict=True):
            own = alone[at].step({turn.seat: (action,)})
            mine = made.position == at
            assert made.seat[mine].tolist() == [one.seat for one in own]
            assert made.rewards[mine, 0].tolist() == [one.rewards[0] for one in own]
            assert made.terminated[mine].tolist() == [one.terminated for one in own]
            if all(one.over for one in own):
                assert tables.outcomes(np.array([at])) == [alone[at].outcome()]
                del turns[at]
            else:
                turns[at] = own


def test_a_game_whose_methods_were_changed_is_not_played_without_them(rules: NativeRules) -> None:
    class Changed(NativeGame): ...

    patched = NativeGame(rules)
    patched.step = patched.step  # type: ignore[method-assign]
    assert native_rules(NativeGame(rules)) is rules
    assert native_rules(Changed(rules)) is native_rules(patched) is None
