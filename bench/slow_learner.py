"""The processes of a run whose updates take SLOW_LEARNER_S seconds more, in which they sleep."""

import os
import sys
import time
from typing import Any

from pbt.learning.learner import Learner
from pbt.processes.tie_to_parent import leave, settle
from pbt.runtime import process

SECONDS = "SLOW_LEARNER_S"

if __name__ == "__main__":
    settle(int(sys.argv[1]))
    update = Learner.update

    def late(self: Learner, *given: Any, **named: Any) -> Any:
        time.sleep(float(os.environ[SECONDS]))
        return update(self, *given, **named)

    Learner.update = late  # type: ignore[method-assign]
    leave(process.main(int(sys.argv[1])))
