"""A training on matches of Doom under faults: engines, the processes of matches and workers
killed and stopped at random moments.
"""

import random
import time
from functools import partial

import pytest

from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.match_strikes import FAULTS, last_game, strike_match, voided_since
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S, growing, start_growing
from tests.e2e.faults.running import Run

pytestmark = pytest.mark.slow

MATCHES, PLAYERS = 4, 2
DEADLINE_S, START_S = 2.0, 8.0
# The shipped file with small networks, short games and short periods.
SETTINGS = (
    "stop_at_frames=1_000_000_000",
    "env.options.max_tics=100",
    f"env.options.deadline_s={DEADLINE_S}",
    f"env.options.start_deadline_s={START_S}",
    "population.members=2",
    f"sampling.environments={MATCHES}",
    "sampling.rollout_steps=16",
    "model.hidden=[64]",
    "model.gru_size=64",
    "learning.batch_steps=128",
    "pbt.period_frames=5_000",
    "pbt.warmup_frames=5_000",
    "pbt.min_games=10",
    "snapshots.every_frames=5_000",
    "evaluation.share=0.1",
    "evaluation.final_games=0",
    "checkpoints.every_s=2",
    "runtime.max_restarts=1000",
)
STRIKES = (*FAULTS, "stop engine", "kill engine")
WORDS = {
    "take port": "Address already in use",
    "no connection": "no answer to a start within",
    "stop engine": "no answer to a step within",
}
# Of a worker between two looks at a match: it may be learning.
TURN_S = 5.0


def says(run: Run, before: int, words: str) -> bool | None:
    """Whether the reason of a game voided since then has the words."""
    return any(words in reason for reason in voided_since(run, before)) or None


@pytest.mark.timeout(900)
def test_a_training_of_duels_survives_faults_at_random_moments(duels: Run) -> None:
    rng = random.Random("matches")
    duels.start(*SETTINGS)
    start_growing(duels)
    for fault in STRIKES:
        before = last_game(duels)
        struck = strike_match(duels, fault, rng, MATCHES * PLAYERS)
        allowed_s = {
            "stop engine": DEADLINE_S,
            "stop match": DEADLINE_S,
            "take port": START_S,
            "no connection": START_S,
        }.get(fault, 0.0)
        assert struck.gone_s < allowed_s + TURN_S, struck
        assert struck.began_s <= struck.struck_s and struck.ended == struck.missed + (
            fault in ("take port", "no connection")
        ), struck
        if fault != "kill worker":
            duels.until(
                partial(says, duels, before, WORDS.get(fault, "voided")),
                RECOVERED_WITHIN_S,
                f"{fault} to be told",
            )
        growing(duels, time.monotonic(), RECOVERED_WITHIN_S)
    assert duels.stop() == 0, duels.errors()
    wrong = {check: problems for check, problems in ended_well(duels).items() if problems}
    assert not wrong, wrong
