"""What a certificate compares: values, samples and counts."""

import pytest

from pbt.learning.attesting import LogProbSample
from pbt.population.certificates import CHECKS, OpenCertificate, sample_problem, values_problem
from pbt.population.ledger import REMEMBERED, Known, Ledger, LiveAnswer, Stored, acting_problem
from pbt.records import PlayerRef, SeatRecord
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from tests.pbt.population.controller_scene import Scene
from tests.pbt.told_games import together

LEAGUE = {"learning_rate": 1e-3, "entropy_coef": 0.01, "adam_beta1": 0.9, "shaping.kill": 0.3}
HALF = {"learning_rate": 0.5, "entropy_coef": 0.5}
# As a learner reports them, with annealing by 0.5 and a reward scale of 0.1.
USED = {
    "learning_rate": 1e-3 * 0.5,
    "entropy_coef": 0.01 * 0.5,
    "adam_beta1": 0.9,
    "shaping.kill": 0.029999999329447746,
}


def test_values_are_those_of_the_league_annealed_and_scaled() -> None:
    assert values_problem(USED, LEAGUE, HALF, 0.1) is None


@pytest.mark.parametrize("name", list(USED))
def test_a_value_that_differs_is_named(name: str) -> None:
    problem = values_problem({**USED, name: USED[name] * 1.2}, LEAGUE, HALF, 0.1)
    assert problem is not None and problem.startswith(f"{name} is ") and ";" not in problem
    others = {other: value for other, value in USED.items() if other != name}
    assert values_problem(others, LEAGUE, HALF, 0.1) is not None


def test_what_never_anneals_may_not_be_annealed() -> None:
    used = {**USED, "adam_beta1": 0.9 * 0.5}
    problem = values_problem(used, LEAGUE, {**HALF, "adam_beta1": 0.5}, 0.1)
    assert problem is not None and problem.startswith("adam_beta1 is ")


def test_samples() -> None:
    assert sample_problem(LogProbSample(9, 1e-6, 1e-4), "actor") is None
    for largest in (2e-4, float("nan"), float("inf")):
        problem = sample_problem(LogProbSample(9, largest, 1e-4), "actor")
        assert problem is not None and "actor" in problem


def test_a_check_keeps_its_first_problem_and_its_largest_difference() -> None:
    certificate = OpenCertificate("m0", 3, 100, 0)
    assert not certificate.add("values", None, 4)
    assert certificate.add("values", "first", 4) and not certificate.add("values", "second", 4)
    assert not certificate.add("actor_log_prob", None, 30, 1e-6)
    assert not certificate.add("actor_log_prob", None, 30, 1e-7)
    assert certificate.add("learner_log_prob", "of others", 5, float("inf"))
    finished = certificate.finished()
    assert (finished.member, finished.round, finished.frames) == ("m0", 3, 100)
    checks = {check.name: check for check in finished.checks}
    assert tuple(checks) == CHECKS
    assert (checks["values"].compared, checks["values"].problem) == (12, "first")
    assert (checks["actor_log_prob"].compared, checks["actor_log_prob"].largest) == (60, 1e-6)
    assert checks["learner_log_prob"].largest is None
    assert checks["copy"].compared == 0 and checks["copy"].problem is None


def test_answers_wait_for_their_attestation_but_not_for_ever() -> None:
    ledger = Ledger(updates=5)
    ledger.answers.extend([LiveAnswer(0, 0, 7, 70, 5), LiveAnswer(1, 0, 8, 80, 5)])
    assert ledger.take_answers() == []
    ledger.attested(7, Known(0, 70))
    assert [answer.version for answer, _ in ledger.take_answers()] == [7]
    ledger.updates = 7
    assert ledger.take_answers() == []
    ledger.updates = 8
    assert [answer.version for answer, _ in ledger.take_answers()] == [8]
    assert not ledger.answers


def test_answers_of_copied_weights_wait_for_their_own_attestation() -> None:
    """A copy brings other weights under the same version, and they act before they are attested."""
    ledger = Ledger(updates=5)
    ledger.attested(7, Known(0, 70))
    copied = LiveAnswer(3, 1, 7, 71, 5)
    ledger.answers.append(copied)
    assert ledger.take_answers() == []
    ledger.attested(7, Known(1, 71))
    assert ledger.take_answers() == [(copied, None)]


def test_answers_of_weights_that_no_learner_attests_are_told_after_a_while() -> None:
    ledger = Ledger(updates=5)
    ledger.attested(7, Known(0, 70))
    wrong = LiveAnswer(3, 0, 7, 71, 5)
    ledger.answers.append(wrong)
    ledger.updates = 7
    assert ledger.take_answers() == []
    ledger.updates = 8
    assert ledger.take_answers() == [(wrong, acting_problem(wrong, ledger.known[7]))]
    assert acting_problem(wrong, ledger.known[7]) is not None


def test_answers_whose_attestation_may_be_lost_are_forgotten() -> None:
    ledger = Ledger(updates=5, lost=8)
    ledger.answers.extend([LiveAnswer(0, 0, 8, 80, 0), LiveAnswer(1, 0, 9, 90, 0)])
    assert [answer.version for answer, _ in ledger.take_answers()] == [9]
    assert not ledger.answers


def test_a_snapshot_is_not_compared_with_weights_that_were_copied_at_its_version() -> None:
    """The round that follows a snapshot at once may have the member copy another one."""
    ledger = Ledger(stored=[Stored("a", 0, 5, 1)])
    ledger.attested(5, Known(1, 2))
    assert ledger.take_stored(5) == [] == ledger.stored


def test_snapshots_wait_for_their_version() -> None:
    ledger = Ledger(stored=[Stored("a", 0, 3, 1), Stored("b", 0, 5, 2), Stored("c", 0, 6, 3)])
    ledger.attested(5, Known(0, 2))
    assert [snapshot.snapshot_id for snapshot in ledger.take_stored(5)] == ["b"]
    assert [snapshot.snapshot_id for snapshot in ledger.stored] == ["c"]
    ledger.attested(6, Known(0, 3))
    assert [snapshot.snapshot_id for snapshot in ledger.take_stored(6)] == ["c"]
    assert ledger.take_stored(6) == []


def test_a_ledger_stays_small() -> None:
    ledger = Ledger()
    for version in range(REMEMBERED + 50):
        ledger.attested(version, Known(0, version))
    assert len(ledger.known) == REMEMBERED and min(ledger.known) == 50


def test_weights_may_answer_for_the_generation_of_the_row_or_a_later_one() -> None:
    """A copy in mid-game brings a later one; an earlier one would be replaced weights."""
    known = [Known(1, 11), Known(2, 22)]
    assert acting_problem(LiveAnswer(0, 1, 5, 11, 0), known) is None
    assert acting_problem(LiveAnswer(0, 1, 5, 22, 0), known) is None
    assert acting_problem(LiveAnswer(0, 2, 5, 22, 0), known) is None
    for answer in (LiveAnswer(0, 2, 5, 11, 0), LiveAnswer(0, 0, 5, 33, 0)):
        problem = acting_problem(answer, known)
        assert problem is not None and "generation" in problem
    assert "none of that version" in (acting_problem(LiveAnswer(0, 0, 5, 11, 0), ()) or "")


def test_every_seat_counts_also_where_equal_weights_answered_for_many() -> None:
    """The first game whose weights are wrong is named, and the comparisons are those of seats."""
    scene = Scene()
    certifier, member = scene.controller.certifier, scene.controller.members["m0"]
    certifier.begin(member, 0)
    players = [PlayerRef("member", name) for name in ("m0", "m0")]
    seats = tuple(SeatPlan(player, 0, 0, True) for player in players)
    ends = [
        GameEnd(
            0,
            GamePlan(count, "training", 0, seats, ()),
            tuple(SeatRecord(player, 0, 0, 7, 0, 0.0) for player in players),
            5,
            5,
            "win",
            "",
            None,
        )
        for count in range(4)
    ]
    # Both seats of four games; another weight answered once more in the third game.
    answers = [(entry, 7, 70) for entry in range(8)] + [(5, 7, 71)]
    certifier._ledgers["m0"].attested(7, Known(0, 70))
    certifier.games(together(ends)._replace(answers=answers), 100)
    for _ in range(4):
        certifier.updated("m0")
    certifier.finish()
    (certificate,) = scene.sink.certificates
    acting = {check.name: check for check in certificate.checks}["acting"]
    assert acting.compared == 9
    assert acting.problem is not None and "in game 102 as version 7" in acting.problem
