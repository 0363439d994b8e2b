"""The processes of a run in which games, servers and learners now and then take longer.

It is `pbt.runtime.entry` behind `sleeps`, for runs whose outcome must not depend on the order in
which processes come to an end.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from pbt.inference.policy_server import PolicyServer
from pbt.learning.learner import Learner
from pbt.processes.tie_to_parent import leave, settle
from pbt.runtime import process
from pbt.sampling.rollout_worker import RolloutWorker

Patch = Callable[[Any, str, Any], None]
"""(object, attribute, new value): `setattr`, or one that is undone."""
SHARE, LONGEST_S = 0.2, 0.01


def sleeps(patch: Patch) -> None:
    """Let every fifth turn, call of a server and update sleep up to 10 ms, each time otherwise."""
    chance = random.Random(os.urandom(8))
    places: list[tuple[Any, str]] = [
        (RolloutWorker, "advance"),
        (PolicyServer, "serve_all"),
        (Learner, "update"),
    ]
    for owner, name in places:
        patch(owner, name, _late(getattr(owner, name), chance))


def _late(call: Callable[..., Any], chance: random.Random) -> Callable[..., Any]:
    def late(*given: Any, **named: Any) -> Any:
        if chance.random() < SHARE:
            time.sleep(chance.uniform(0.0, LONGEST_S))
        return call(*given, **named)

    return late


if __name__ == "__main__":
    settle(int(sys.argv[1]))
    sleeps(setattr)
    leave(process.main(int(sys.argv[1])))
