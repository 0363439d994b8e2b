"""Repeated errors: the same error a second time ends a run, since a restart would not mend it.

An error that comes once may be bad luck. It costs a game or a restart.
"""

from collections import Counter

from pbt.errors import AwayWeightsError, EngineError, EnvError, LostWeightsError
from pbt.processes.messages import Failed
from pbt.runtime.control import GameError

EQUAL_ERRORS = 2


class RepeatedErrors:
    """Counts errors over all processes of a run."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        # By text, because several processes may report the same incident.
        self._failed: dict[str, Failed] = {}

    def game_raised(self, error: GameError) -> None:
        """Count a game's error. Raises: EnvError when the game raised at this place before."""
        if self._again(error.place):
            raise EnvError(error.text)

    def process_failed(self, message: Failed) -> None:
        """Keep what a process said of its own end, until its domain is buried."""
        self._failed[message.text] = message

    def domain_died(self) -> None:
        """Count the errors that a domain died of.

        Raises: EngineError when one of them ended a process before, LostWeightsError for that of
        weights that a process did not find. Errors of processes with each other are only counted,
        because they follow from the death of another process. That the folder of weights is away
        is not counted: processes start again when it is back.
        """
        failed, self._failed = self._failed, {}
        for text, message in failed.items():
            if message.kind == AwayWeightsError.__name__:
                continue
            if self._again(text) and not message.engine:
                lost = message.kind == LostWeightsError.__name__
                raise (LostWeightsError if lost else EngineError)(
                    f"a process failed twice: {message.kind}: {text}\n{message.trace}".rstrip()
                )

    def _again(self, error: str) -> bool:
        self._seen[error] += 1
        return self._seen[error] >= EQUAL_ERRORS
