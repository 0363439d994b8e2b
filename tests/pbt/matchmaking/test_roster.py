"""The roster as a value: what changes it, and which snapshots it keeps."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pbt.config.population import PastMode
from pbt.matchmaking.roster import MemberEntry, Roster, SnapshotEntry
from pbt.matchmaking.seats import past_candidates
from pbt.saved import SavedOpponent
from tests.pbt.matchmaking.one_game import past_rules

MEMBERS = (
    MemberEntry("m0", "cat", 0),
    MemberEntry("m1", "mouse", 1),
    MemberEntry("m2", "cat", 2),
)
ROLES = {"m0": "cat", "m1": "mouse", "m2": "cat", "gone": "cat"}


def roster(window: int = 3) -> Roster:
    return Roster(MEMBERS, window, 0.25)


def with_all(window: int, makers: list[str]) -> tuple[Roster, list[SnapshotEntry]]:
    one, everything = roster(window), list[SnapshotEntry]()
    for number, maker in enumerate(makers):
        everything.append(SnapshotEntry(f"{maker}-{number}", maker, ROLES[maker]))
        one = one.with_snapshot(everything[-1])
    return one, everything


def test_a_change_makes_another_roster() -> None:
    one = roster()
    two = one.with_generation("m1", 4).with_learning("m1", False)
    assert one == roster() and one.members == MEMBERS
    assert two.members == (MEMBERS[0], MemberEntry("m1", "mouse", 1, 4, False), MEMBERS[2])
    assert two.learning and not two.with_learning("m0", False).with_learning("m2", False).learning
    assert one.with_win_rates({"a": {"m0": 0.5}}).win_rates == {"a": {"m0": 0.5}}
    assert one.with_evaluation(0.5).evaluation_share == 0.5


@given(st.integers(1, 4), st.lists(st.sampled_from(sorted(ROLES)), max_size=40))
def test_it_keeps_the_snapshots_that_a_game_may_seat_and_few_others(
    window: int, makers: list[str]
) -> None:
    one, everything = with_all(window, makers)
    modes: tuple[PastMode, ...] = ("uniform", "latest")
    for mode in modes:
        past = past_rules(0.5, window, mode)
        for role in ("cat", "mouse"):
            made = [entry for entry in everything if entry.member != "gone" or mode == "uniform"]
            kept = [entry for entry in one.snapshots if entry in made]
            assert past_candidates(kept, role, past) == past_candidates(made, role, past)
    for member in MEMBERS:
        own = [entry for entry in everything if entry.member == member.name]
        assert set(own[-2:]) <= set(one.snapshots)
    assert list(one.snapshots) == [entry for entry in everything if entry in one.snapshots]
    assert len(one.snapshots) <= 2 * window + 2 * len(MEMBERS)


def test_snapshots_whose_weights_are_removed_are_seated_no_more() -> None:
    one, _ = with_all(3, ["m0", "m0", "m1", "m2"])
    less = one.without_snapshots({"m0-1", "unheard of"})
    assert less.snapshot_ids() == one.snapshot_ids() - {"m0-1"}


def test_it_goes_on_from_its_state_and_from_that_of_earlier_programs() -> None:
    one, everything = with_all(2, ["m0", "m1", "m0", "m2", "m0", "m0"])
    one = one.with_generation("m2", 3).with_learning("m0", False)
    one = one.with_win_rates({"m0-5": {"m1": 0.75}})
    assert roster(2).resumed(one.state()) == one
    # Those stored every snapshot whose weights are there.
    stored = [SavedOpponent(one.snapshot_id, one.member, one.role) for one in everything]
    assert roster(2).resumed(replace(one.state(), snapshots=stored)) == one
