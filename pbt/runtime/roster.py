"""Who plays, as the main process knows it: tells every worker's planner what changed, and a new
worker everything.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pbt.matchmaking.past import WinRates
from pbt.matchmaking.seats import SnapshotEntry
from pbt.runtime.control import (
    AddSnapshot,
    Regenerate,
    RemoveSnapshots,
    SetEvaluationShare,
    SetLearning,
    SetWinRates,
)
from pbt.transport.messages import GameEnd, JsonState


class Roster:
    """The Matchmaker of the parallel placements. tell(*messages): to all workers.

    closing_played  evaluation games that ended since nobody learns any more
    """

    def __init__(self, policies: dict[str, int], tell: Callable[..., None]) -> None:
        self._policies, self._tell = policies, tell
        self._generations = dict.fromkeys(policies, 0)
        self._learning = dict.fromkeys(policies, True)
        self._snapshots: list[SnapshotEntry] = []
        self._win_rates: WinRates = {}
        self._evaluated: Counter[str] = Counter()
        # table -> count of its newest game that is over
        self._over: dict[int, int] = {}
        self.closing_played = 0

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self._snapshots.append(entry)
        self._tell(AddSnapshot(entry.snapshot_id, entry.member, entry.role))

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self._snapshots = [
            entry for entry in self._snapshots if entry.snapshot_id not in snapshot_ids
        ]
        self._tell(RemoveSnapshots(tuple(sorted(snapshot_ids))))

    def set_win_rates(self, win_rates: WinRates) -> None:
        self._win_rates = win_rates
        self._tell(SetWinRates(win_rates))

    def set_evaluation_share(self, share: float) -> None:
        """Workers that start later have it from their config."""
        self._tell(SetEvaluationShare(share))

    def set_generation(self, member: str, generation: int) -> None:
        self._generations[member] = generation
        self._tell(Regenerate(member, self._policies[member], generation))

    def set_learning(self, member: str, learning: bool) -> None:
        self._learning[member] = learning
        if learning:
            self.closing_played = 0
        self._tell(SetLearning(member, learning))

    @property
    def learning(self) -> bool:
        return any(self._learning.values())

    def game_over(self, end: GameEnd) -> None:
        """Keep count of evaluation games, and of what each table is through with."""
        self._over[end.table] = end.plan.game_count
        if end.plan.kind == "evaluation":
            self._evaluated.update(
                seat.player.name for seat in end.plan.seats if seat.player.kind == "snapshot"
            )
            self.closing_played += not self.learning

    def void_open_games(self, counts: Sequence[int]) -> int:
        """All workers died: games that had begun and were not over are so now. counts: begun so
        far, of every table. Returns how many they are.
        """
        lost = sum(self._over.get(table, -1) < begun - 1 for table, begun in enumerate(counts))
        self._over = {table: begun - 1 for table, begun in enumerate(counts)}
        return lost

    def snapshot_ids(self) -> set[str]:
        """Every opponent there is."""
        return {entry.snapshot_id for entry in self._snapshots}

    def state(self, counts: Iterable[int]) -> JsonState:
        """What a planner that knew all this would save (`TrainingPlanner.state`). counts: games
        so far, of every table.
        """
        return {
            "counts": [int(count) for count in counts],
            "evaluated": dict(self._evaluated),
            "closing_played": self.closing_played,
            "snapshots": [
                [entry.snapshot_id, entry.member, entry.role] for entry in self._snapshots
            ],
            "entrants": {
                name: [self._generations[name], self._learning[name]] for name in self._policies
            },
            "win_rates": self._win_rates,
        }

    def load(self, state: JsonState, open_games: Sequence[bool]) -> None:
        """Take over a planner's state; nobody is told, since workers start later. open_games: by
        table, whether its newest game is not over.
        """
        self._evaluated = Counter(state["evaluated"])
        self.closing_played = state["closing_played"]
        self._snapshots = [SnapshotEntry(*entry) for entry in state["snapshots"]]
        self._win_rates = state.get("win_rates", {})
        self._over = {
            table: begun - 1 - is_open
            for table, (begun, is_open) in enumerate(zip(state["counts"], open_games, strict=True))
        }
        for name, (generation, learning) in state["entrants"].items():
            self._generations[name], self._learning[name] = generation, learning
