"""Shares the batches of a match between this process and helper processes.

Helpers start only where the rest of the match would take long. A batch comes to the same games in
every process, so results do not depend on speed. When no batch is left to hand out, this process
plays the oldest one that a helper still has, and the first result counts. A helper that dies or
hangs costs time but no game: this process never waits for one.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arena.matches.game_list import BatchTables
from arena.matches.helper_process import WIRES, BatchPlayed, Order, PlayBatch, order_of
from arena.matches.plan import MatchPlan
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError
from pbt.records import is_voided
from pbt.transport.child import Child
from pbt.transport.messages import GameEnd, JsonState

# A helper needs seconds to load torch, so it is started only when the rest takes longer than that.
LOOK_AFTER_S, WORTH_HELP_S = 1.0, 10.0


class Helper:
    """A process that runs `arena.matches.helper_process`; it dies with this one.

    batch  number of the batch that it plays now; None while it waits for one
    """

    def __init__(self, order: JsonState) -> None:
        self.batch: int | None = None
        self._child = Child("helper", "arena.matches.helper_process", WIRES, Order(order))

    @property
    def gone(self) -> str | None:
        """Why the process sends nothing more; None while it lives."""
        if (failure := self._child.failure) is not None:
            return f"{failure.kind}: {failure.text}".partition("\n")[0]
        return "it ended" if self._child.gone else None

    def play(self, message: PlayBatch) -> None:
        """Send the helper a batch to play."""
        self.batch = message.batch
        self._child.send(message)

    def hear(self) -> list[Any]:
        """Messages that have arrived; never waits."""
        return self._child.receive()

    def close(self) -> None:
        """End the process and the processes of its games.

        A process that is stuck in the kernel is left to its death signal.
        """
        self._child.kill()
        self._child.close()


class MatchHelpers:
    """Plays the missing games of a match, a turn at a time.

    missing      batch -> indices of its games that are still to be played
    tries        index -> how often the game was spoiled before
    concurrency  number of processes, this one included
    logs         where games that go wrong are kept
    notes        texts on helpers that ended early
    """

    def __init__(
        self,
        env: EnvSpec,
        plan: MatchPlan,
        missing: Callable[[int], Sequence[int]],
        tries: Callable[[int], int],
        concurrency: int,
        logs: Path,
    ) -> None:
        self._logs = logs
        self._env, self._plan, self._missing, self._tries = env, plan, missing, tries
        self._waiting = deque(batch for batch in range(plan.batches) if missing(batch))
        self._finished: set[int] = set()
        self._tables: BatchTables | None = None
        self._own: int | None = None
        self._helpers: list[Helper] = []
        # Programs have processes of their own, and another copy of one may play differently.
        self._wanted_helpers = (
            0 if any(player.program for player in plan.players) else concurrency - 1
        )
        self._started_s = time.monotonic()
        self._played, self._to_play = 0, sum(len(missing(batch)) for batch in self._waiting)
        self.notes: list[str] = []

    def turn(self) -> list[GameEnd]:
        """Games that ended, voided and repeated ones included.

        Raises: EnvError when a game keeps raising, SnapshotError for unusable weights.
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
            assert self._own is not None
            self._finished.add(self._own)
            return ended
        own = tables.turn()
        self._played += sum(not is_voided(end.reason) for end in own)
        return ended + own

    def _own_tables(self) -> BatchTables | None:
        """This process's tables, with a batch to play; None when no batch is left."""
        if self._own in self._finished:
            # A helper was first. Half-played games are dropped: they belong to no other batch.
            self._own = None
            if self._tables is not None and self._tables.left:
                self._tables.close()
                self._tables = None
        if self._own is None:
            lent_batches = {
                helper.batch for helper in self._helpers if helper.batch is not None
            } - self._finished
            self._own = (
                self._waiting.popleft() if self._waiting else min(lent_batches, default=None)
            )
            if self._own is None:
                return None
            self._tables = self._tables or BatchTables(self._env, self._plan, self._logs)
            message = self._order(self._own)
            self._tables.begin(message.wanted, message.tries)
        return self._tables

    def _order(self, batch: int) -> PlayBatch:
        """The message that asks for the missing games of a batch."""
        wanted = tuple(self._missing(batch))
        return PlayBatch(batch, wanted, tuple(self._tries(index) for index in wanted))

    def _hear(self, helper: Helper) -> list[GameEnd]:
        """Games that a helper has finished. An idle helper gets the next batch."""
        ended = []
        for message in helper.hear():
            if isinstance(message, GameEnd):
                ended.append(message)
            elif isinstance(message, BatchPlayed):
                self._finished.add(message.batch)
                helper.batch = None
        self._played += sum(not is_voided(end.reason) for end in ended)
        if helper.gone is not None:
            self._bury(helper)
        elif helper.batch is None and self._waiting:
            helper.play(self._order(self._waiting.popleft()))
        return ended

    def _bury(self, helper: Helper) -> None:
        """Close a helper that ended, and hand its batch out again."""
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
        """Whether the rest would take long, at the speed so far."""
        spent_s = time.monotonic() - self._started_s
        return spent_s > LOOK_AFTER_S and spent_s * (
            self._to_play - self._played
        ) > WORTH_HELP_S * max(self._played, 1)

    def _start_helpers(self) -> None:
        """Start the helpers, one for each waiting batch at most. They are started only once."""
        number = min(self._wanted_helpers, len(self._waiting))
        self._wanted_helpers = 0
        order = order_of(self._plan)
        self._helpers = [Helper(order) for _ in range(number)]

    def close(self) -> None:
        for helper in self._helpers:
            helper.close()
        if self._tables is not None:
            self._tables.close()
