"""How a training ended: in words, and for the league."""

import logging

from arena.league.database import League
from arena.league.populations import Incarnation, set_state
from arena.signals import TrainingControl
from arena.training.status_reporter import StatusReporter
from pbt.errors import PbtError
from pbt.runtime.engine import Engine

log = logging.getLogger("arena.training.train")


def how_it_ended(engine: Engine, control: TrainingControl, done: bool) -> tuple[bool, str, str]:
    """(whether it finished, state for the league, words for the status).

    done: no member learns any more. The words are "" where it goes on at once.
    """
    members = list(engine.controller.members.values())
    if done and all(member.failed for member in members):
        return False, "failed", f"failed: every member failed; {members[0].failure}"
    words = "finished" if done else "stopped and saved"
    return done, "finished" if done else "stopped", "" if control.goes_on() else words


def give_up(
    league: League, incarnation: Incarnation, reporter: StatusReporter, error: BaseException
) -> None:
    """Note in the league and in the status why a training ended before its last checkpoint."""
    if isinstance(error, KeyboardInterrupt):
        state = ended = "interrupted"
    else:
        first_line = str(error).partition("\n")[0]
        state, ended = "failed", f"failed: {type(error).__name__}: {first_line}"
    try:
        set_state(league, incarnation.population_id, state)
    except PbtError as later:
        # The league may be what failed. The first error is the one to tell.
        log.warning("the league does not have the end of this training: %s", later)
    reporter.give_up(ended)
