"""Wiring certificates: faults in the wiring are found within a period, and only faults are."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pbt.population.certificates import CHECKS
from pbt.population.certifier import Certifier
from pbt.records import WiringCertificate
from pbt.runtime.process_group import ProcessGroup
from tests.conftest import REPOSITORY
from tests.pbt.runtime import wiring_faults as faults
from tests.pbt.runtime.checked_process import FAULT
from tests.pbt.runtime.placing import Running, placed

# Sharp policies, so that differences show; values that differ from member to member.
CHANGES: dict[str, Any] = {
    "model": {"policy_gain": 1.0},
    "members": {"m0": {"learning_rate": 1e-3}, "m1": {"learning_rate": 2e-3}},
}


def run_of(
    placement: str, frames: int, folder: Path, *, faulty: bool = False, **changes: Any
) -> Running:
    """A whole run of tic-tac-toe; the certificates that it ended with are finished."""
    config = placed(placement, "tictactoe", frames, **{**CHANGES, **changes})
    with Running(config, folder).start() as run:
        run.faulty = faulty
        run.finish()
        run.engine.controller.certifier.finish()
    return run


def compared(certificates: list[WiringCertificate]) -> Counter[str]:
    """How much each check compared."""
    counts: Counter[str] = Counter()
    for check in (check for one in certificates for check in one.checks):
        counts[check.name] += check.compared
    return counts


def found(run: Running) -> dict[str, list[WiringCertificate]]:
    """Check -> the certificates in which it found a problem, in order."""
    return {
        name: [
            one
            for one in run.sink.certificates
            if any(check.name == name and check.problem for check in one.checks)
        ]
        for name in CHECKS
    }


@pytest.mark.parametrize("placement", ["serial", "central"])
def test_clean_runs_agree(placement: str, tmp_path: Path) -> None:
    """Runs of other tests find no fault either; here it is seen that they compare something."""
    run = run_of(placement, 1200, tmp_path)
    certificates = run.sink.certificates
    assert not [problem for one in certificates for problem in one.problems]
    assert not run.engine.controller.certifier.faults
    counts = compared(certificates)
    assert all(counts[name] for name in CHECKS)
    # One for each round, and one for the time before a member's first round.
    rounds = {(record.member, record.round) for record in run.sink.rounds}
    first = {(name, 0) for name in run.engine.controller.members}
    told = [(one.member, one.round) for one in certificates]
    assert len(set(told)) == len(told) and set(told) <= rounds | first
    assert rounds - set(told) == set()
    # Each compared something of its own.
    assert all(compared([one])["values"] for one in certificates if one.frames < 900)


@pytest.mark.parametrize("game", ["rock_paper_scissors", "cartpole"])
def test_clean_runs_of_other_games_agree(game: str, tmp_path: Path) -> None:
    config = placed("serial", game, 500, **CHANGES)
    with Running(config, tmp_path).start() as run:
        run.finish()
        run.engine.controller.certifier.finish()
    assert not run.engine.controller.certifier.faults
    counts = compared(run.sink.certificates)
    assert all(counts[name] for name in ("values", "published", "acting", "actor_log_prob"))


def test_without_pbt_there_is_a_certificate_for_every_snapshot(tmp_path: Path) -> None:
    run = run_of("serial", 900, tmp_path, pbt={"enabled": False}, snapshots={"every_frames": 300})
    told = Counter((one.member, one.round) for one in run.sink.certificates)
    scheduled = Counter(
        record.member for record in run.sink.snapshots if record.reason == "schedule"
    )
    assert told == {(name, 0): 1 + count for name, count in scheduled.items()}
    assert not run.engine.controller.certifier.faults


def test_certificates_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They read; so weights, games and rounds are the same without them, bit for bit."""
    certified = run_of("serial", 700, tmp_path / "certified")
    monkeypatch.setattr(Certifier, "asked", lambda self, name: None)
    bare = run_of("serial", 700, tmp_path / "bare")
    assert compared(certified.sink.certificates)["values"]
    assert not compared(bare.sink.certificates)["values"]
    assert certified.engine.weights_digest() == bare.engine.weights_digest()
    assert certified.sink.games == bare.sink.games
    assert certified.sink.rounds == bare.sink.rounds


DQN: dict[str, Any] = {
    "learning": {"algorithm": "dqn"},
    "model": {"core": "none", "policy_gain": 1.0},
    "dqn": {"replay_rows": 256, "least_rows": 32, "batch_rows": 16, "epsilon_frames": 200},
}


def test_steps_of_a_replay_are_compared_with_what_acted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = run_of("serial", 320, tmp_path / "clean", **DQN)
    assert not clean.engine.controller.certifier.faults
    counts = compared(clean.sink.certificates)
    assert counts["actor_log_prob"] > 20 and counts["learner_log_prob"] > 20
    faults.replays_mix_rows(monkeypatch.setattr)
    run = run_of("serial", 320, tmp_path / "mixed", faulty=True, **DQN)
    assert {name for name, ones in found(run).items() if ones} == {"learner_log_prob"}


Fault = Callable[[faults.Patch], None]

# Faults that are there from the start, and the checks that find them.
FROM_THE_START: list[tuple[Fault, set[str]]] = [
    (faults.publications_are_stale, {"published", "acting", "actor_log_prob"}),
    (faults.policies_read_anothers_weights, {"acting", "actor_log_prob"}),
    (faults.opponents_change_in_mid_game, {"opponents"}),
    (faults.live_players_stand_in_for_frozen_ones, {"opponents"}),
    (faults.rows_name_the_players_of_other_seats, {"acting", "opponents"}),
    (faults.learners_ignore_masks, {"learner_log_prob"}),
    (faults.actors_ignore_masks, {"actor_log_prob"}),
    (faults.actors_have_another_temperature, {"actor_log_prob"}),
    (faults.actors_have_another_precision, {"actor_log_prob"}),
    (faults.snapshots_are_rounded, {"snapshots"}),
    (faults.batches_mix_slots, {"actor_log_prob"}),
]


@pytest.mark.parametrize(("fault", "by"), FROM_THE_START)
def test_a_fault_is_found_within_the_first_period(
    fault: Fault, by: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch.setattr)
    snapshots = {"every_frames": 60}
    run = run_of("serial", 320, tmp_path, faulty=True, snapshots=snapshots)
    first = {name for name, ones in found(run).items() if any(one.round == 0 for one in ones)}
    assert by <= {name for name, ones in found(run).items() if ones}
    assert by & first, found(run)
    check_told(run)


def check_told(run: Running) -> None:
    """Every problem is an event at once, and in the list that displays show."""
    warnings = [event.text for event in run.sink.events if event.kind == "warning"]
    problems = [problem for one in run.sink.certificates for problem in one.problems]
    assert problems and len(run.engine.controller.certifier.faults) >= len(problems)
    assert all(any(problem in text for text in warnings) for problem in problems)
    assert (run.engine.controller.certifier.summary or "").startswith(warnings[0])


# Faults of a copy or of a mutation: the certificate of that very round finds them.
OF_A_ROUND: list[tuple[Fault, str, Callable[[Any], bool]]] = [
    (
        faults.copies_keep_the_learning_rate,
        "values",
        lambda directive: "learning_rate" in directive.mutated or directive.copy_from is not None,
    ),
    (faults.values_are_lost, "values", lambda directive: bool(directive.mutated)),
    (
        faults.moments_are_not_copied,
        "copy",
        lambda directive: directive.copy_from is not None,
    ),
    (
        faults.old_generations_are_learned,
        "generation",
        lambda directive: directive.copy_from is not None,
    ),
]


@pytest.mark.parametrize(("fault", "by", "concerns"), OF_A_ROUND)
def test_a_fault_of_a_round_is_found_in_its_own_period(
    fault: Fault,
    by: str,
    concerns: Callable[[Any], bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault(monkeypatch.setattr)
    run = run_of("serial", 900, tmp_path, faulty=True)
    rounds = [record for record in run.sink.rounds if concerns(record.directive)]
    told = {(one.member, one.round) for one in found(run)[by]}
    assert rounds and (rounds[0].member, rounds[0].round) in told
    check_told(run)


def test_values_that_a_resume_loses_are_found_within_a_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = placed("serial", "tictactoe", 900, **CHANGES)
    with Running(config, tmp_path).start() as run:
        run.until(lambda: any(record.directive.mutated for record in run.sink.rounds))
        cut = run.cut()
    changed = {record.member for record in run.sink.rounds if record.directive.mutated}
    faults.values_are_lost(monkeypatch.setattr)
    with Running(config, tmp_path) as resumed:
        resumed.faulty = True
        resumed.engine.restore(cut)
        resumed.finish()
        resumed.engine.controller.certifier.finish()
    first = {one.member: one for one in reversed(resumed.sink.certificates)}
    assert changed <= {one.member for one in found(resumed)["values"]}
    assert all(first[name] in found(resumed)["values"] for name in changed)


@pytest.fixture
def in_children(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def make(fault: str) -> None:
        monkeypatch.setattr(ProcessGroup, "program", "tests.pbt.runtime.checked_process")
        monkeypatch.setenv(FAULT, fault)
        # They are started with -P, so they would not find the tests.
        monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))

    return make


@pytest.mark.parametrize(
    ("placement", "fault", "by"),
    [
        ("inline", "policies_read_anothers_weights", "acting"),
        ("central", "actors_have_another_temperature", "actor_log_prob"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("inline", "publications_are_stale", "published"),
                ("inline", "opponents_change_in_mid_game", "opponents"),
                ("inline", "copies_keep_the_learning_rate", "values"),
                ("central", "learners_ignore_masks", "learner_log_prob"),
            )
        ),
    ],
)
def test_a_fault_in_another_process_is_found(
    placement: str, fault: str, by: str, tmp_path: Path, in_children: Callable[[str], None]
) -> None:
    in_children(fault)
    run = run_of(placement, 1200, tmp_path, faulty=True)
    certificates = found(run)[by]
    first = 1 if fault == "copies_keep_the_learning_rate" else 0
    assert certificates and min(one.round for one in certificates) <= first
    check_told(run)
