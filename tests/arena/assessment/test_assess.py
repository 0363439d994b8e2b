"""The assessment of made-up populations says what is true of them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from arena.assessment.answer import Assessment, StrengthUnit
from arena.assessment.assess import assess
from arena.assessment.records import PopulationHistory, RatedSnapshot, RoleHistory
from tests.arena.assessment.made_up import (
    GOAL,
    Curve,
    empty_role,
    grows,
    population,
    role,
    stagnates,
    stays,
    strengths,
    with_member,
)

HISTORIES = 200


def collapses(share: float) -> float:
    return 800.0 * share if share < 0.5 else 400.0 - 900.0 * (share - 0.5)


def is_random(share: float) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("curve", "conclusion"),
    [
        (grows, "learning"),
        (stagnates, "stalled"),
        (collapses, "collapsed"),
        (stays, "stalled"),
        (is_random, "none_better"),
    ],
)
def test_what_is_true_of_a_population_is_said(curve: Curve, conclusion: str) -> None:
    found = [assess(population(curve, seed=seed)).conclusion for seed in range(20)]
    assert found.count(conclusion) >= 18, found


def test_the_sentence_of_a_population_that_learns() -> None:
    history = with_member(population(grows), 1, refused=2)
    made = assess(history)
    assert made.gain is not None and made.best is not None
    # True: 600 Elo over the goal.
    assert made.gain.low < 600.0 * made.gain.frames / GOAL < made.gain.high
    assert re.fullmatch(
        r"learning: \+\d+ ± \d+ Elo in the last [\d.]+k frames; best m\d@\d+ of 40: 98.8 % against "
        r"random \(>= 94 %\); 3 copies, 12 mutations; 2 of 2,002 updates refused; 33 min left",
        made.sentence,
    ), made.sentence
    assert made.frames == 800_000 and made.progress == pytest.approx(0.8)
    assert made.seconds_left == pytest.approx(2_000.0)
    assert [one.level for one in made.findings] == ["good", "warn"]


def test_a_population_that_stagnates_says_since_when() -> None:
    made = assess(population(stagnates))
    assert made.sentence.startswith("stalled since ")
    assert made.gain is not None and made.gain.low < 0 < made.gain.high
    (finding,) = made.findings
    assert finding.level == "warn" and finding.since_frames is not None
    assert 250_000 <= finding.since_frames <= 600_000


def test_few_games_are_too_few_to_say_anything() -> None:
    early = assess(population(stays, progress=0.05, noise=150.0, snapshots=3))
    assert early.conclusion == "too_early" and "too early to say" in early.sentence
    later = assess(population(stays, progress=0.6, noise=150.0, snapshots=3))
    assert later.conclusion == "steady" and later.sentence.startswith("no sure change: ")
    assert early.gain is not None and early.gain.low < 0 < early.gain.high


def test_before_any_game_it_says_what_is_missing() -> None:
    history = population(grows)
    none = replace(history, strengths=replace(strengths(empty_role()), games=0))
    assert "too early to say: no evaluation game was played yet" in assess(none).sentence
    some = replace(history, strengths=strengths(empty_role()))
    assert "5,000 evaluation games so far, and no snapshot has 30" in assess(some).sentence
    unread = assess(replace(history, strengths=None))
    assert unread.conclusion == "too_early" and "cannot be read" in unread.sentence
    assert [one.role for one in unread.roles] == ["player"]


def test_a_finished_population_tells_its_result() -> None:
    made = assess(population(stagnates, state="finished", progress=1.0))
    assert made.conclusion == "learning" and made.seconds_left is None
    assert made.sentence.startswith("finished; learned: +")
    assert made.gain is not None and made.gain.low < 500 < made.gain.high + 60
    fell = assess(population(collapses, state="finished", progress=1.0))
    assert fell.roles[0].flat_since is None
    assert fell.sentence.startswith("finished; collapsed: -")


def test_a_population_at_rest_says_so_and_has_no_time_left() -> None:
    made = assess(population(grows, state="paused"))
    assert made.sentence.startswith("paused; learning: +") and made.seconds_left is None


def health(made: Assessment, member: str) -> str:
    return next(one.health for one in made.members if one.member == member)


# --- faults ---------------------------------------------------------------------------------------


def test_a_dead_member_is_named_first() -> None:
    planted = with_member(population(grows), 2, state="failed", failure="loss is nan")
    made = assess(planted)
    assert made.conclusion == "broken"
    assert made.sentence.startswith(
        "broken: m2 failed, and learns no more: loss is nan; learning: +"
    )
    assert (made.findings[0].level, made.findings[0].member) == ("bad", "m2")
    (dead,) = (one for one in made.members if one.health == "dead")
    assert dead.member == "m2" and "loss is nan" in dead.health_text


def test_refused_updates_are_a_fault_where_they_are_many() -> None:
    few = assess(with_member(population(grows), 0, refused=3))
    assert few.conclusion == "learning" and health(few, "m0") == "ok"
    many = assess(with_member(population(grows), 0, refused=400))
    assert many.conclusion == "broken"
    assert "broken: m0: 400 of 900 updates were refused" in many.sentence
    assert many.updates_refused == 400 and many.updates_taken == 2_000
    worse = assess(with_member(with_member(population(grows), 0, refused=400), 2, state="failed"))
    assert worse.sentence.startswith("broken: m2 ") and ", and 1 fault more; " in worse.sentence


def test_a_training_that_failed_and_several_faults() -> None:
    history = replace(
        population(grows, state="failed"), failure="the training failed: no space on disk"
    )
    made = assess(with_member(history, 0, state="failed"))
    assert made.sentence.startswith(
        "broken: the training failed: no space on disk, and 1 fault more; learning: "
    )
    wired = assess(replace(population(grows), faults=("wiring fault: weights of m0",)))
    assert wired.conclusion == "broken" and "wiring fault: weights of m0" in wired.sentence


def test_a_member_that_is_left_behind_is_seen() -> None:
    made = assess(with_member(population(grows), 3, frames=100_000))
    assert health(made, "m3") == "behind"
    assert made.conclusion == "learning" and made.frames == 100_000
    assert any(one.kind == "behind" and one.member == "m3" for one in made.findings)


def test_policies_without_entropy_are_a_collapse_only_where_none_beats_random() -> None:
    def frozen(history: PopulationHistory) -> PopulationHistory:
        members = tuple(replace(one, entropy=1e-3) for one in history.members)
        return replace(history, members=members)

    lost = assess(frozen(population(is_random)))
    assert lost.conclusion == "collapsed" and "explores no more" not in lost.sentence
    assert lost.sentence.startswith("collapsed: no member explores any more")
    won = assess(frozen(population(stagnates)))
    assert won.conclusion == "stalled"
    (entropy,) = (one.text for one in won.findings if one.kind == "entropy")
    assert entropy.startswith("m0, m1, m2 and 1 other explore no more")
    (alone,) = assess(with_member(population(grows), 1, entropy=1e-3)).findings[1:]
    assert alone.member == "m1" and "is 0.001 nats, and was 1.9" in alone.text
    # The entropy of a density is negative where it is narrow.
    assert len(assess(with_member(population(grows), 1, entropy=-3.0)).findings) == 1


def test_warnings_are_findings() -> None:
    made = assess(replace(population(grows), warnings=("worker-0 is down",)))
    assert made.findings[-1].text == "worker-0 is down" and made.findings[-1].level == "warn"


# --- units and roles ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("elo", r"learning: \+\d+ ± \d+ Elo in"),
        ("margin", r"learning: margin \+[\d.]+ ± \d+ a game in"),
        ("return", r"learning: mean return \+[\d.]+ ± \d+ a game in"),
    ],
)
def test_each_objective_has_its_own_unit(unit: StrengthUnit, words: str) -> None:
    history = population(grows)
    own = replace(history.strengths.roles[0], anchors=()) if history.strengths else empty_role()
    made = assess(replace(history, strengths=strengths(own, unit=unit)))
    assert re.match(words, made.sentence), made.sentence
    assert made.unit == unit
    if unit != "elo":
        assert "Elo" not in made.sentence


def test_roles_are_assessed_each_for_itself() -> None:
    hiders = role(grows, members=("h0", "h1"), name="hider", among=2)
    seekers = role(stays, members=("s0", "s1"), name="seeker", noise=8.0, among=2)
    history = replace(population(grows), strengths=strengths(seekers, hiders))
    made = assess(history)
    assert made.conclusion == "learning" and [one.role for one in made.roles] == ["seeker", "hider"]
    assert made.sentence.startswith("seeker stalled since ") and ", hider learning: +" in (
        made.sentence
    )
    assert "seeker: best s" in made.sentence and "hider: best h" in made.sentence
    assert made.gain == made.roles[1].gain


# --- members --------------------------------------------------------------------------------------


def test_members_stand_with_the_strongest_first_and_their_newest_snapshot() -> None:
    made = assess(population(grows))
    values = [one.value for one in made.members if one.value is not None]
    assert values == sorted(values, reverse=True) and len(values) == 4
    first = made.members[0]
    assert first.player is not None and first.player.endswith("@800000")
    assert (first.score, first.score_against, first.score_games) == (0.9, "random", 40)
    assert len(first.trend) == 10 and first.trend[-1][0] == 800_000


def test_long_curves_have_forty_points_with_both_ends() -> None:
    made = assess(population(grows, snapshots=100))
    for member in made.members:
        assert len(member.trend) == 40
        assert (member.trend[0][0], member.trend[-1][0]) == (0, 800_000)
    assert len(made.roles[0].trend) <= 40


def test_a_member_without_a_rating_is_there() -> None:
    history = population(grows)
    assert history.strengths is not None
    own = history.strengths.roles[0]
    kept = [at for at, one in enumerate(own.snapshots) if one.member != "m1"]
    fewer = RoleHistory(
        "player",
        tuple(own.snapshots[at] for at in kept),
        own.covariance[np.ix_(kept, kept)],
        own.best,
    )
    made = assess(replace(history, strengths=strengths(fewer)))
    assert made.members[-1].member == "m1" and made.members[-1].value is None
    assert made.members[-1].score_against == ""


# --- how often it errs ----------------------------------------------------------------------------


@pytest.mark.parametrize("progress", [0.15, 0.8])
@pytest.mark.parametrize("snapshots", [2, 4, 12])
def test_noise_alone_is_called_learning_in_five_of_a_hundred_histories_at_most(
    snapshots: int, progress: float
) -> None:
    found: list[Assessment] = [
        assess(population(stays, snapshots=snapshots, noise=60.0, progress=progress, seed=seed))
        for seed in range(HISTORIES)
    ]
    said = [one.conclusion for one in found]
    # 5 % are 10; the bound is three standard deviations above that.
    assert said.count("learning") <= 19 and said.count("collapsed") <= 19
    assert said.count("learning") + said.count("collapsed") <= 10 + 3 * 5


def test_noise_that_is_looked_at_again_and_again_is_hardly_ever_called_learning() -> None:
    """A page that is open all the time looks after every snapshot of the members."""
    wrong = 0
    for seed in range(100):
        history = population(stays, snapshots=10, noise=60.0, seed=seed)
        assert history.strengths is not None
        own = history.strengths.roles[0]
        clocks = sorted({one.frames for one in own.snapshots})
        looks = [until(own, clock) for clock in clocks[1:]]
        said = [assess(replace(history, strengths=strengths(one))).conclusion for one in looks]
        wrong += "learning" in said
    assert wrong <= 5


def until(own: RoleHistory, clock: int) -> RoleHistory:
    """The snapshots up to a clock."""
    kept = [at for at, one in enumerate(own.snapshots) if one.frames <= clock]
    snapshots = tuple(own.snapshots[at] for at in kept)
    return replace(own, snapshots=snapshots, covariance=own.covariance[np.ix_(kept, kept)])


def test_a_lucky_snapshot_is_not_said_to_be_better_than_random() -> None:
    """The best of 40 candidates is chosen for its luck; the bound holds for all of them."""
    found = [assess(population(is_random, noise=60.0, seed=seed)) for seed in range(HISTORIES)]
    proven = [one for one in found if one.best and one.best.low is not None and one.best.low > 0]
    assert len(proven) <= 19
    assert sum(one.best is not None and one.best.value > 100 for one in found) > HISTORIES / 2


def snapshot_of(member: str, frames: int, value: float) -> RatedSnapshot:
    return RatedSnapshot(member, frames, f"demo/{member}@{frames}", value, None, None, 3)


def test_ratings_without_intervals_are_shown_and_claim_nothing() -> None:
    rated = (snapshot_of("m0", 0, 10.0), snapshot_of("m0", 500_000, 900.0))
    own = RoleHistory("player", rated, np.zeros((2, 2)), None)
    made = assess(replace(population(grows), strengths=strengths(own)))
    assert made.conclusion == "too_early" and made.gain is None
    assert made.members[0].value == 900.0


def test_a_score_of_few_games_gives_way_to_the_strength() -> None:
    history = population(grows)
    assert history.strengths is not None
    own = history.strengths.roles[0]
    few = replace(own, anchors=(replace(own.anchors[0], games=2),))
    made = assess(replace(history, strengths=strengths(few)))
    assert re.search(r"of 40: \+\d+ Elo over random \(>= \+\d+\)", made.sentence), made.sentence
