"""Games in C play as their twins in Python do: turns, rewards, observations, masks and outcomes."""

import numpy as np
import pytest

from bench.twins import TWINS, DifferError, play
from pbt.envs.native_games import NativeGame, NativeRules, NativeTables, native_rules
from pbt.errors import EnvError

GAMES = 300


@pytest.fixture(params=TWINS)
def rules(request: pytest.FixtureRequest) -> NativeRules:
    found = TWINS[request.param][0]
    if found.code() is None:
        pytest.skip("there is no C compiler here")
    return found


def compare(rules: NativeRules, games: int) -> None:
    native, twin, rng = NativeGame(rules), TWINS[rules.name][1](), np.random.default_rng(5)
    for seed in range(games):
        assert play(native, twin, rng, seed)


def test_a_game_is_that_of_its_twin(rules: NativeRules) -> None:
    native, twin = NativeGame(rules), TWINS[rules.name][1]()
    for fact in ("roles", "seat_names", "seat_roles", "reward_terms"):
        assert getattr(native, fact) == getattr(twin, fact)
    compare(rules, GAMES)


@pytest.mark.slow
def test_many_games_are_those_of_the_twin(rules: NativeRules) -> None:
    compare(rules, 20_000)


def test_a_difference_is_found(rules: NativeRules) -> None:
    class Other(NativeGame):
        def outcome(self) -> object:  # type: ignore[override]
            return None

    with pytest.raises(DifferError, match="another outcome"):
        play(Other(rules), TWINS[rules.name][1](), np.random.default_rng(5), 0)


def test_a_forbidden_action_is_refused(rules: NativeRules) -> None:
    game = NativeGame(rules)
    (turn,) = game.reset(0)
    with pytest.raises(EnvError, match=rf"{rules.seat_names[0]} chose 99, which the rules forbid"):
        game.step({turn.seat: (99,)})
    (turn,) = game.reset(0)
    with pytest.raises(EnvError, match="expected exactly the seats that are due"):
        game.step({1 - turn.seat: (0,)})


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
