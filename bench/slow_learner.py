"""The processes of a run whose updates take longer, in which they sleep.

SLOW_LEARNER_S            seconds of an update, more than it takes; in the mean, if they vary
SLOW_LEARNER_EXPONENTIAL  set: each draws its seconds from an exponential law
SLOW_LEARNER_NOTES        a file to which each update adds a line: how many versions of the weights
                          lie between acting in the newest row and the update, its seconds, and when
                          it ended
"""

import os
import random
import sys
import time
from typing import Any

from pbt.algorithms.batch import Batch
from pbt.learning.learner import Learner
from pbt.processes.tie_to_parent import leave, settle
from pbt.runtime import process

SECONDS, EXPONENTIAL = "SLOW_LEARNER_S", "SLOW_LEARNER_EXPONENTIAL"
NOTES = "SLOW_LEARNER_NOTES"

if __name__ == "__main__":
    settle(int(sys.argv[1]))
    update, draw = Learner.update, random.Random(os.environ.get(NOTES))

    def late(self: Learner, batch: Batch, *given: Any, **named: Any) -> Any:
        began, lag = time.monotonic(), self.version - int(batch.version[batch.valid].max())
        seconds = float(os.environ[SECONDS])
        time.sleep(seconds * (draw.expovariate(1.0) if EXPONENTIAL in os.environ else 1.0))
        stats = update(self, batch, *given, **named)
        if NOTES in os.environ:
            with open(os.environ[NOTES], "a") as file:
                file.write(f"{lag} {time.monotonic() - began} {time.monotonic()}\n")
        return stats

    Learner.update = late  # type: ignore[method-assign]
    leave(process.main(int(sys.argv[1])))
