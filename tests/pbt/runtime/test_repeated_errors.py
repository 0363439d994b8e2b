"""The same error twice."""

import pytest

from pbt.errors import EngineError, EnvError
from pbt.processes.messages import Failed
from pbt.runtime.control import GameError
from pbt.runtime.repeated_errors import RepeatedErrors


def test_a_game_may_raise_once_at_every_place() -> None:
    repetition = RepeatedErrors()
    repetition.game_raised(GameError("a.py:1", "first"))
    repetition.game_raised(GameError("a.py:2", "second"))
    with pytest.raises(EnvError, match="third"):
        repetition.game_raised(GameError("a.py:1", "third"))


def test_one_incident_that_several_processes_report_is_one() -> None:
    repetition = RepeatedErrors()
    no_room = Failed("OSError", "no space left", "trace", engine=False)
    repetition.process_failed(no_room)
    repetition.process_failed(no_room)
    repetition.domain_died()
    repetition.domain_died()
    repetition.process_failed(no_room)
    with pytest.raises(EngineError, match=r"failed twice: OSError: no space left\ntrace"):
        repetition.domain_died()


def test_troubles_between_processes_are_left_to_the_restart_policy() -> None:
    repetition = RepeatedErrors()
    for _ in range(5):
        repetition.process_failed(Failed("FifoFull", "no room", "trace", engine=True))
        repetition.domain_died()


def test_weights_that_are_away_are_waited_for() -> None:
    repetition = RepeatedErrors()
    for _ in range(3):
        repetition.process_failed(Failed("AwayWeightsError", "unmounted", "trace", engine=False))
        repetition.domain_died()
