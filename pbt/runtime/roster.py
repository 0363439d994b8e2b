"""The roster of players in the main process, which the workers' planners follow by messages."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pbt.matchmaking.past import WinRates
from pbt.matchmaking.seats import SnapshotEntry
from pbt.runtime import control
from pbt.transport.messages import GameEnd, JsonState


class Roster:
    """The Matchmaker of the parallel placements.

    It tells running workers what changes, and has the whole state for those that start.

    closing_played  games of the final evaluation that have ended
    """

    def __init__(self, members: Iterable[str], tell: Callable[..., None]) -> None:
        """members: their names; tell(*messages): to all workers."""
        self._tell = tell
        self._generations = dict.fromkeys(members, 0)
        self._learning = dict.fromkeys(self._generations, True)
        self._snapshots: list[SnapshotEntry] = []
        self._win_rates: WinRates = {}
        self._evaluated: Counter[str] = Counter()
        # By table, the count of its newest game that is over.
        self._over: dict[int, int] = {}
        self.closing_played = 0

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self._snapshots.append(entry)
        self._tell(control.AddSnapshot(entry.snapshot_id, entry.member, entry.role))

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self._snapshots = [
            entry for entry in self._snapshots if entry.snapshot_id not in snapshot_ids
        ]
        self._tell(control.RemoveSnapshots(tuple(sorted(snapshot_ids))))

    def set_win_rates(self, win_rates: WinRates) -> None:
        self._win_rates = win_rates
        self._tell(control.SetWinRates(win_rates))

    def set_evaluation_share(self, share: float) -> None:
        """Tell the running workers; those that start later read it in their configuration."""
        self._tell(control.SetEvaluationShare(share))

    def set_generation(self, member: str, generation: int) -> None:
        self._generations[member] = generation
        self._tell(control.Regenerate(member, generation))

    def set_learning(self, member: str, learning: bool) -> None:
        self._learning[member] = learning
        if learning:
            self.closing_played = 0
        self._tell(control.SetLearning(member, learning))

    @property
    def learning(self) -> bool:
        return any(self._learning.values())

    def game_over(self, end: GameEnd) -> None:
        """Count a training-time game between frozen players, and which games each table ended."""
        self._over[end.table] = end.plan.game_count
        if end.plan.kind == "evaluation":
            self._evaluated.update(
                seat.player.name for seat in end.plan.seats if seat.player.kind == "snapshot"
            )
            self.closing_played += not self.learning

    def void_open_games(self, counts: Sequence[int]) -> int:
        """Note that all open games ended with their workers. Returns how many they were.

        counts: games begun so far, of every table.
        """
        lost = sum(self._over.get(table, -1) < begun - 1 for table, begun in enumerate(counts))
        self._over = {table: begun - 1 for table, begun in enumerate(counts)}
        return lost

    def snapshot_ids(self) -> set[str]:
        """Return the ids of all snapshots that may be seated."""
        return {entry.snapshot_id for entry in self._snapshots}

    def state(self, counts: Iterable[int]) -> JsonState:
        """Return the state that `TrainingPlanner.state` would for these players.

        counts: games so far, of every table.
        """
        return {
            "counts": [int(count) for count in counts],
            "evaluated": dict(self._evaluated),
            "closing_played": self.closing_played,
            "snapshots": [
                [entry.snapshot_id, entry.member, entry.role] for entry in self._snapshots
            ],
            "entrants": {
                name: [generation, self._learning[name]]
                for name, generation in self._generations.items()
            },
            "win_rates": self._win_rates,
        }

    def load(self, state: JsonState, open_games: Sequence[bool]) -> None:
        """Take over a planner's state before the workers start, so none is told.

        open_games: by table, whether its newest game is not over.
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
