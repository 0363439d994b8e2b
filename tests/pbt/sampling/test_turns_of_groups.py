"""How far the groups of a sampler play: when they hold, have turns left, or lack slots or games."""

from collections.abc import Callable

import pytest

from pbt.errors import EngineError
from pbt.inference.client import LocalInference
from pbt.sampling.sampler import Sampler
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import (
    ActionRequest,
    GamePlan,
    RolloutPermit,
    SlotFull,
)
from pbt.transport.slab import Slab
from tests.pbt.inference.serving import LAYOUT, load
from tests.pbt.sampling.groups import Hesitant, games, give_back, groups_of, networks, no_row


def test_held_it_finishes_what_was_asked_and_starts_nothing() -> None:
    slab = Slab(LAYOUT, 100)
    inference = Hesitant(networks(slab))
    sampler = Sampler(groups_of(slab, [3], games()), inference, no_row())
    for _ in range(2):
        sampler.turn(1.0)
    sampler.play(0)
    sampler.turn(0.01)
    assert not sampler.at_rest() and not sampler.stalled
    assert sampler.drain(0.02) == [] and not sampler.at_rest(), (
        "a drain gives up in time and loses nothing"
    )
    inference.let_all()
    sampler.turn(1.0)
    assert sampler.at_rest() and not sampler.groups[0].in_motion
    sampler.turn(1.0)
    assert sampler.stalled and not inference.kept
    sampler.play(None)
    sampler.turn(1.0)
    assert inference.kept and not sampler.stalled


def test_every_group_plays_the_turns_that_it_was_given_and_no_more() -> None:
    slab = Slab(LAYOUT, 200)
    groups = groups_of(slab, [3, 4], games(openings=0))
    sampler = Sampler(groups, LocalInference(networks(slab), load), no_row())
    sampler.play(0)
    assert sampler.turn(1.0) == [] and sampler.played
    begun = [0, 0]
    for index, group in enumerate(groups):

        def requests(
            index: int = index, plain: Callable[[], list[ActionRequest]] = group.requests
        ) -> list[ActionRequest]:
            begun[index] += 1
            return plain()

        group.requests = requests  # type: ignore[method-assign]
    for turns in (7, 2):
        sampler.play(turns)
        assert not sampler.played
        while not sampler.played:
            sampler.turn(1.0)
        assert sampler.turn(1.0) == [] and sampler.played
    assert begun == [9, 9]


def test_turns_end_early_where_slots_are_lacking() -> None:
    slab = Slab(LAYOUT, 40)
    (group,) = groups = groups_of(slab, [4], games(openings=0))
    sampler = Sampler(groups, LocalInference(networks(slab), load), no_row())
    sampler.play(500)
    kept: list[SlotFull] = []
    while not sampler.played:
        kept += [message for message in sampler.turn(1.0) if isinstance(message, SlotFull)]
    assert not group.can_turn and sampler.stalled
    sampler.play(0)
    give_back(sampler, kept)
    assert group.can_turn and sampler.turn(1.0) == [] and sampler.stalled


def test_without_slots_a_group_stands_still() -> None:
    """It stands still until slots are released; the other group goes on."""
    slab = Slab(LAYOUT, 64)
    sampler = Sampler(
        groups_of(slab, [4, 4], games(openings=0)), LocalInference(networks(slab), load), no_row()
    )
    kept: list[SlotFull] = []
    for _ in range(200):
        for message in sampler.turn(1.0):
            if isinstance(message, SlotFull):
                if message.slot < 32:
                    kept.append(message)
                else:
                    give_back(sampler, [message])
    first, second = sampler.groups
    assert not first.can_turn and second.can_turn and not sampler.stalled
    plies = [sum(table.plan.game_count for table in group.tables) for group in sampler.groups]
    assert 2 * plies[0] < plies[1]
    give_back(sampler, kept)
    assert first.can_turn
    with pytest.raises(
        EngineError, match="slot 64 of role 0 was released to a worker that does not own it"
    ):
        sampler.permit(RolloutPermit(0, 64))


def test_nothing_to_play_is_a_stall() -> None:
    slab = Slab(LAYOUT, 40)
    sampler = Sampler(
        groups_of(slab, [2], GamesFrom(lambda table: None)),
        LocalInference(networks(slab), load),
        no_row(),
    )
    assert sampler.turn(1.0) == [] and sampler.stalled


def test_games_in_their_openings_are_no_stall() -> None:
    """No policy is asked for the moves of an opening, but the games go on."""
    slab = Slab(LAYOUT, 40)
    plan = games(openings=4).next_game

    def opened(table: int) -> GamePlan | None:
        found = plan(table)
        return found and found._replace(opening_plies=2)

    sampler = Sampler(
        groups_of(slab, [2], GamesFrom(opened)), LocalInference(networks(slab), load), no_row()
    )
    sampler.turn(1.0)
    assert not sampler.stalled and len(sampler.groups[0].asking.waiting)
