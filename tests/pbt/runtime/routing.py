"""What `checked_process` wrote down, compared with the games that the main process was told of.

Every gathered row must be the learner's own, fresh, and gathered once.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbt.seeding import seat_key
from tests.pbt.runtime.placing import Running

Origin = tuple[int, int, int, int]


class Acted(NamedTuple):
    """The policy that acted for a row. publications: of the weights by which it acted."""

    policy: int
    publications: int
    version: int


class Gathered(NamedTuple):
    """A row on its way to the learner of `member` (its policy).

    The learner's process knew of this many `copies` over the member, and stood at learner_version.
    batch: the number of its batch in that process.
    """

    origin: Origin
    policy: int
    version: int
    member: int
    role: int
    copies: int
    learner_version: int
    batch: int


def table(folder: Path, name: str, columns: int) -> NDArray[np.int64]:
    """The rows of all processes."""
    parts = [
        np.frombuffer(path.read_bytes(), np.int64).reshape(-1, columns)
        for path in sorted(folder.glob(f"{name}-*"))
    ]
    return np.concatenate(parts) if parts else np.empty((0, columns), np.int64)


class Routing:
    """The logs of one run that lost no process.

    gathered  every row that reached a learner's process
    renewals  (member, copy) -> publications when the copied weights were published
    """

    def __init__(self, folder: Path, run: Running) -> None:
        self._run = run
        self._acted = {
            (key, step): Acted(*rest) for key, step, *rest in table(folder, "acted", 5).tolist()
        }
        self.gathered = [
            Gathered(tuple(row[:4]), *row[4:]) for row in table(folder, "gathered", 11).tolist()
        ]
        self.renewals = {
            (member, copy): publications
            for member, copy, shard, publications in table(folder, "copied", 4).tolist()
            if shard == 0
        }

    def check(self) -> None:
        run, games = self._run, self._run.games()
        names = {member.policy: member.name for member in run.engine.controller.members.values()}
        origins = [row.origin for row in self.gathered]
        assert len(set(origins)) == len(origins), "a row was given to learners twice"
        assert len(origins) >= run.engine.rows_trained > 0
        for row in self.gathered:
            environment, count, seat, step = row.origin
            game = games[environment, count]
            assert game.kind == "training" and not game.end_reason.startswith("voided")
            sat = game.seats[seat]
            assert (sat.player.kind, sat.player.name) == ("member", names[row.member]), (
                "the row is of another's seat"
            )
            acted = self._acted[
                np.uint64(seat_key(run.config.seed, "action", environment, count, seat))
                .view(np.int64)
                .item(),
                step,
            ]
            assert (acted.policy, acted.version) == (
                row.policy,
                row.version,
            ) and row.policy == row.member, "the row was acted by another"
            assert 0 <= row.version <= row.learner_version
            # Copies leave the version as it is; how often weights were published says which weights
            # really acted.
            assert acted.publications >= self.renewals.get((row.member, row.copies), 0), (
                "a row of replaced weights"
            )
