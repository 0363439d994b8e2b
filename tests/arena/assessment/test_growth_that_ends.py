"""Populations that stopped growing say so, also in brief beside the other fields."""

import re
from dataclasses import replace

from arena.assessment.assess import assess
from tests.arena.assessment.made_up import (
    empty_role,
    grows,
    population,
    role,
    stagnates,
    stays,
    strengths,
    with_member,
)


def slows(share: float) -> float:
    return 600.0 * share**0.6


def test_a_finished_population_says_that_it_had_stopped_growing() -> None:
    """It grew 500 Elo in three tenths of its training, and nothing since."""
    found = [
        assess(population(stagnates, state="finished", progress=1.0, seed=s)) for s in range(9)
    ]
    ends = [
        re.match(
            r"finished; learned: \+\d+ ± \d+ Elo in the last \d+k frames, "
            r"no longer growing since \d+k frames; best ",
            one.sentence,
        )
        for one in found
    ]
    assert sum(end is not None for end in ends) >= 8, [one.sentence for one in found]
    (role,) = found[0].roles
    assert role.flat_since is not None and 300_000 <= role.flat_since <= 700_000
    assert "no longer growing" in found[0].findings[0].text
    assert found[0].findings[0].level == "info" and found[0].flat_since == role.flat_since
    running = assess(population(stagnates))
    assert running.roles[0].flat_since == running.findings[0].since_frames


def test_a_population_that_grew_to_its_end_is_not_said_to_have_stopped() -> None:
    found = [
        assess(population(curve, state="finished", progress=1.0, seed=seed))
        for curve in (grows, slows)
        for seed in range(10)
    ]
    assert all(one.conclusion == "learning" for one in found)
    assert sum(one.roles[0].flat_since is not None for one in found) <= 1


def test_in_brief_only_what_no_other_field_tells_is_said() -> None:
    grown = assess(population(grows))
    assert grown.brief == "33 min left"
    assert assess(population(grows, state="paused")).brief == ""
    stalled = assess(population(stagnates))
    since = stalled.sentence.partition(":")[0]
    assert since.startswith("stalled since ") and stalled.brief == f"{since}; 33 min left"
    ended = assess(population(stagnates, state="finished", progress=1.0))
    assert re.fullmatch(r"no longer growing since \d+k frames", ended.brief), ended.brief
    none = replace(
        population(grows), strengths=replace(strengths(empty_role()), games=0, anchored=False)
    )
    assert assess(none).brief == (
        "too early to say: no evaluation game was played yet; 33 min left"
    )
    hurt = assess(with_member(population(grows), 2, state="failed", failure="loss is nan"))
    assert "loss is nan" not in hurt.brief


def test_in_brief_roles_are_told_apart() -> None:
    hiders = role(grows, members=("h0", "h1"), name="hider", among=2)
    seekers = role(stays, members=("s0", "s1"), name="seeker", noise=8.0, among=2)
    made = assess(replace(population(grows), strengths=strengths(seekers, hiders)))
    assert re.fullmatch(r"seeker stalled since [\d.]+k? frames; 33 min left", made.brief), (
        made.brief
    )
