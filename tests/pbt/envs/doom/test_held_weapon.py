"""Rewards for holding a loaded weapon, by scripted players."""

from contextlib import closing
from typing import Any

import pytest

from pbt.envs.doom.game import make as make_scenario
from pbt.envs.doom.held_weapon import HELD_STEPS, HeldWeapon
from pbt.envs.doom.match import make
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_rewards import MatchRewards
from pbt.envs.doom.terms import RewardTerm, read_terms
from pbt.errors import EnvOptionsError

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
TERMS = (
    RewardTerm("ammo", "AMMO2", 1.0, 0.0),
    RewardTerm("weapon", "SELECTED_WEAPON", 0.0, 0.0, RATES),
)
LOADED = 10.0


def paid(slots: list[int], ammunition: float = LOADED) -> list[float]:
    """What each step pays a player that holds weapons of these slots, one a step."""
    weapon = HeldWeapon(TERMS)
    worth = [weapon.worth(float(slot), ammunition) for slot in slots]
    assert all(own[0] == 0.0 for own in worth), "the other term pays for something else"
    return [own[1] for own in worth]


def test_a_player_that_changes_its_weapon_each_step_gets_nothing() -> None:
    assert paid([2, 3] * 10) == [0.0] * 20


def test_a_player_that_holds_its_weapon_is_paid_from_the_fifth_step() -> None:
    assert HELD_STEPS == 5
    assert paid([3] * 8) == [0.0] * 4 + [0.3] * 4


def test_each_slot_has_its_own_rate() -> None:
    assert [paid([slot] * 5)[-1] for slot in range(1, 8)] == list(RATES)


def test_a_change_begins_anew_and_neither_an_empty_nor_no_weapon_pays() -> None:
    assert paid([3] * 6 + [4] * 6) == [0.0] * 4 + [0.3] * 2 + [0.0] * 4 + [0.4] * 2
    assert paid([3] * 8, ammunition=0.0) == [0.0] * 8
    assert paid([0] * 8) == paid([-1] * 8) == paid([8] * 8) == [0.0] * 8


def test_a_dead_player_holds_nothing_and_a_new_life_begins_anew() -> None:
    counted = MatchRewards(MatchOptions(players=1, bots=1, terms=TERMS))

    def row(dead: float, deaths: float) -> list[float]:
        values = {"SELECTED_WEAPON": 5.0, "SELECTED_WEAPON_AMMO": LOADED}
        values |= {"DEAD": dead, "DEATHCOUNT": deaths}
        return [values.get(name, 0.0) for name in counted.names]

    def steps(rows: list[list[float]]) -> list[float]:
        pairs = zip(rows[1:], rows[:-1], strict=True)
        return [counted.rewards([now], [before])[0][2] for now, before in pairs]

    living, dead, reborn = row(0.0, 0.0), row(1.0, 1.0), row(0.0, 1.0)
    assert steps([living] * 7) == [0.0] * 4 + [0.5] * 2
    assert steps([living, dead, dead, *[reborn] * 6]) == [0.0] * 6 + [0.5] * 2
    # Within one step the player died and came back.
    assert steps([reborn, row(0.0, 2.0), *[row(0.0, 2.0)] * 5]) == [0.0] * 5 + [0.5]
    counted.begin()
    assert steps([row(0.0, 2.0)] * 6) == [0.0] * 4 + [0.5]


def test_scripted_players_of_a_match() -> None:
    """An action is held for as long as a change of the weapon takes, between fist and pistol."""
    match = make(
        scenario="cig",
        map="map02",
        players=1,
        bots=1,
        bot_skill=0,
        frame_skip=35,
        max_tics=35 * 14,
        buttons=["SELECT_WEAPON1", "SELECT_WEAPON2"],
        terms={"weapon": {"held": list(RATES)}},
    )
    with closing(match):
        match.reset(1)
        changing = [match.step({0: (1 + step % 2,)})[0].rewards[1] for step in range(8)]
        # The last change was to the pistol, whose first step that was.
        holding = [match.step({0: (0,)})[0].rewards[1] for _ in range(6)]
    assert changing == [0.0] * 8
    assert holding == [0.0] * 3 + [0.2] * 3


def test_a_scenario_pays_for_holding_as_well() -> None:
    game = make_scenario(
        scenario="defend_the_center", terms={"weapon": {"held": list(RATES)}}, variables=["AMMO2"]
    )
    with closing(game):
        for _ in range(2):
            game.reset(1)
            worth = [game.step({0: (0, 0)})[0].rewards[1] for _ in range(6)]
            assert worth == [0.0] * 4 + [0.2] * 2


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        ({"held": 0.1}, "terms.weapon.held = 0.1: must be a list of finite numbers"),
        ({"held": ["a"]}, "must be a list of finite numbers"),
        ({"held": [0, 0]}, "terms.weapon.held: is always 0"),
        ({"held": [1] * 10}, "10 numbers; there are 9 slots"),
        ({"held": [1], "gain": 1.0}, "terms.weapon.gain: stands beside held"),
    ],
)
def test_a_wrong_term_is_named(term: dict[str, Any], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(terms={"weapon": term})
    assert problem in str(raised.value)


def test_a_term_is_read_for_the_slots_that_it_names() -> None:
    terms, problems = read_terms({"weapon": {"held": [0, 1]}})
    assert (terms[0].held, problems) == ((0.0, 1.0), [])
