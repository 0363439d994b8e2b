"""The rounds of one number side by side, read from a league without their scores."""

from dataclasses import replace
from pathlib import Path

import pytest

from arena.league.round_cards import ValueChange, rounds_of_number
from arena.league.writer import LeagueWriter
from pbt.errors import PlayerError
from tests.arena.league.samples import new_league, snapshot
from tests.pbt.population.rounds import RULES, make_round

OBJECTIVES = [0.9, 0.8, 0.3, 0.1]
OFTEN = replace(RULES, mutation_probability=1.0)


def test_what_each_member_did_and_why(tmp_path: Path) -> None:
    league, source = new_league(tmp_path)
    records = [make_round(f"m{number}", 2, OBJECTIVES, OFTEN) for number in range(4)]
    donor = records[3].directive.copy_from
    assert donor is not None
    with LeagueWriter(league, source) as writer:
        writer.snapshot(snapshot("f", donor, 777))
        for record in [*records, make_round("m0", 3, OBJECTIVES)]:
            writer.round(record)
    found = rounds_of_number(league, "demo", 2)
    assert [(one.member, one.did, one.told.rank) for one in found] == [
        ("m0", "kept", 1),
        ("m1", "kept", 2),
        ("m2", "copied", 3),
        ("m3", "copied", 4),
    ]
    last, record = found[3], records[3]
    assert (last.copied_from, last.donor_frames, last.verdict) == (donor, 777, record.verdict)
    before, after = record.hyperparams, record.directive.hyperparams
    assert last.changes == tuple(
        ValueChange(name, before["m3"][name], before[donor][name], value)
        for name, value in sorted(after.items())
        if value != before["m3"][name]
    )
    assert last.told.lead is not None and last.told.lead.member == donor
    assert {(one.counts, one.role) for one in found} == {("win", "player")}
    assert found[0].changes == () and found[0].donor_frames is None
    assert [one.member for one in rounds_of_number(league, "demo", 3)] == ["m0"]
    assert rounds_of_number(league, "demo", 4) == []
    league.close()


def test_members_without_a_rank_come_last(tmp_path: Path) -> None:
    league, source = new_league(tmp_path)
    few = make_round("m0", 1, OBJECTIVES, replace(RULES, min_games=101))
    never = replace(RULES, mutation_probability=0.0)
    middle = make_round("m2", 1, OBJECTIVES, replace(never, top_share=0.25))
    with LeagueWriter(league, source) as writer:
        writer.round(few)
        writer.round(middle)
    assert [(one.member, one.did) for one in rounds_of_number(league, "demo", 1)] == [
        ("m2", "unchanged"),
        ("m0", "unranked"),
    ]
    with pytest.raises(PlayerError):
        rounds_of_number(league, "missing", 1)
    league.close()
