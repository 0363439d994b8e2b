"""Who plays the batches of a match: this process, and, where the rest would take long, helpers
beside it.

A batch comes to the same games whoever plays it, so nothing depends on who is quick: when none is
left to hand out, this process plays the oldest one that a helper still has; whoever is first
counts. A helper that dies or hangs costs time and no game, and nobody is ever waited for.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from arena.matches.batches import BatchTables
from arena.matches.helper import WIRES, BatchPlayed, Order, PlayBatch, order_of
from arena.matches.plan import MatchPlan
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError
from pbt.records import is_voided
from pbt.transport.child import Child
from pbt.transport.messages import GameEnd, JsonState

# A helper loads torch for some seconds: it is worth its while when the rest takes longer than that.
LOOK_AFTER_S, WORTH_HELP_S = 1.0, 10.0


class Helper:
    """A process at `arena.matches.helper`; it dies with this one.

    batch  what it plays now
    """

    def __init__(self, order: JsonState) -> None:
        self.batch: int | None = None
        self._child = Child("helper", "arena.matches.helper", WIRES, Order(order))

    @property
    def gone(self) -> str | None:
        """Why nothing more will come from it; None while it plays."""
        if (failure := self._child.failure) is not None:
            return f"{failure.kind}: {failure.text}".partition("\n")[0]
        return "it ended" if self._child.gone else None

    def play(self, message: PlayBatch) -> None:
        self.batch = message.batch
        self._child.send(message)

    def hear(self) -> list[Any]:
        """What has arrived; never waits."""
        return self._child.receive()

    def close(self) -> None:
        """End it and what its games started; one that is stuck in the kernel is left to its
        death signal.
        """
        self._child.kill()
        self._child.close()


class MatchHelpers:
    """Plays what is missing of a match, a turn at a time.

    missing      indices of a batch that are still to be played;  tries: how often a game was
                 spoiled before
    concurrency  processes, this one included
    notes        what became of helpers
    """

    def __init__(
        self,
        env: EnvSpec,
        plan: MatchPlan,
        missing: Callable[[int], Sequence[int]],
        tries: Callable[[int], int],
        concurrency: int,
    ) -> None:
        self._env, self._plan, self._missing, self._tries = env, plan, missing, tries
        self._waiting = deque(batch for batch in range(plan.batches) if missing(batch))
        self._finished: set[int] = set()
        self._tables: BatchTables | None = None
        self._own: int | None = None
        self._helpers: list[Helper] = []
        # Guests are processes already, and may play another game when asked again.
        self._wanted_helpers = (
            0 if any(player.program for player in plan.players) else concurrency - 1
        )
        self._started_s = time.monotonic()
        self._played, self._to_play = 0, sum(len(missing(batch)) for batch in self._waiting)
        self.notes: list[str] = []

    def turn(self) -> list[GameEnd]:
        """Games that ended, voided and repeated ones included. Raises: EnvError when a game
        keeps raising, SnapshotError for unusable weights.
        """
        if self._wanted_helpers > 0 and self._worth_help():
            self._start_helpers()
        ended = [end for helper in self._helpers for end in self._hear(helper)]
        tables = self._own_tables()
        if tables is None:
            if not ended:
                raise EngineError(
                    f"{self._to_play - self._played} games are left, and no batch holds them"
                )
            return ended
        tables.settle()
        if not tables.left:
            self._finish(self._own)
            return ended
        own = tables.turn()
        self._played += sum(not is_voided(end.reason) for end in own)
        return ended + own

    def _own_tables(self) -> BatchTables | None:
        """With a batch to be played at them; None when there is none."""
        if self._own in self._finished:
            # A helper was first; games that are half played have no place in another batch.
            self._own = None
            if self._tables is not None and self._tables.left:
                self._tables.close()
                self._tables = None
        if self._own is None:
            lent = {
                helper.batch for helper in self._helpers if helper.batch is not None
            } - self._finished
            self._own = self._waiting.popleft() if self._waiting else min(lent, default=None)
            if self._own is None:
                return None
            self._tables = self._tables or BatchTables(self._env, self._plan)
            message = self._order(self._own)
            self._tables.begin(message.wanted, message.tries)
        return self._tables

    def _finish(self, batch: int | None) -> None:
        if batch is not None:
            self._finished.add(batch)

    def _order(self, batch: int) -> PlayBatch:
        wanted = tuple(self._missing(batch))
        return PlayBatch(batch, wanted, tuple(self._tries(index) for index in wanted))

    def _hear(self, helper: Helper) -> list[GameEnd]:
        ended = []
        for message in helper.hear():
            if isinstance(message, GameEnd):
                ended.append(message)
            elif isinstance(message, BatchPlayed):
                self._finish(message.batch)
                helper.batch = None
        self._played += sum(not is_voided(end.reason) for end in ended)
        if helper.gone is not None:
            self._bury(helper)
        elif helper.batch is None and self._waiting:
            helper.play(self._order(self._waiting.popleft()))
        return ended

    def _bury(self, helper: Helper) -> None:
        helper.close()
        self._helpers = [other for other in self._helpers if other is not helper]
        self.notes.append(f"a helping process ended ({helper.gone}); others played its games")
        if (
            helper.batch is not None
            and helper.batch not in self._finished
            and helper.batch != self._own
        ):
            self._waiting.appendleft(helper.batch)

    def _worth_help(self) -> bool:
        """The rest would take long, by what was played so far."""
        spent_s = time.monotonic() - self._started_s
        return spent_s > LOOK_AFTER_S and spent_s * (
            self._to_play - self._played
        ) > WORTH_HELP_S * max(self._played, 1)

    def _start_helpers(self) -> None:
        number = min(self._wanted_helpers, len(self._waiting))
        self._wanted_helpers = 0
        order = order_of(self._plan)
        self._helpers = [Helper(order) for _ in range(number)]

    def close(self) -> None:
        for helper in self._helpers:
            helper.close()
        if self._tables is not None:
            self._tables.close()
