"""The same error twice ends a run: another start would not mend it. Once may be bad luck, and
costs a game or a restart.
"""

from collections import Counter

from pbt.errors import EngineError, EnvError
from pbt.processes.messages import Failed
from pbt.runtime.control import GameError

EQUAL_ERRORS = 2


class RepeatedErrors:
    """Counts errors over all processes of a run."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        # By text: several processes may report what is one incident.
        self._failed: dict[str, Failed] = {}

    def game_raised(self, error: GameError) -> None:
        """Raises: EnvError with the traceback when the game raised at this place before."""
        if self._again(error.place):
            raise EnvError(error.text)

    def process_failed(self, message: Failed) -> None:
        """What a process said of its own end."""
        self._failed[message.text] = message

    def domain_died(self) -> None:
        """Raises: EngineError when one of its processes failed by an error that was met at an
        earlier death, unless it is between processes.
        """
        failed, self._failed = self._failed, {}
        for text, message in failed.items():
            if self._again(text) and not message.engine:
                raise EngineError(
                    f"a process failed twice: {message.kind}: {text}\n{message.trace}".rstrip()
                )

    def _again(self, error: str) -> bool:
        self._seen[error] += 1
        return self._seen[error] >= EQUAL_ERRORS
