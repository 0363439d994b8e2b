"""A controller among learners that only have clocks, and a matchmaker that takes notes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bench.memory import MemorySink, MemoryStore
from pbt.config.schema import RunConfig
from pbt.hyperparams import Hyperparams
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.roster import MemberEntry, Roster, SnapshotEntry
from pbt.models.digests import ActingForms
from pbt.objective import ObjectiveKind
from pbt.population.certifier import Certifier
from pbt.population.controller import Controller
from pbt.population.members import Member
from pbt.population.pbt_rules import PbtRules
from pbt.records import GameKind, PlayerRef, SeatRecord
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from tests.pbt.told_games import tell

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "stop_at_frames": 1000,
        "population": {"members": 4},
        "pbt": {
            "period_frames": 100,
            "warmup_frames": 0,
            "min_games": 1,
            "copy_gap": 0.0,
            "mutation_probability": 0.0,
        },
    }
)
HYPERPARAMS = {
    "learning_rate": 1e-3,
    "entropy_coef": 0.01,
    "adam_beta1": 0.9,
    "shaping.reward": 1.0,
}
NAMES = ("m0", "m1", "m2", "m3")


class Counting:
    """A learner that only has a clock."""

    def __init__(self, number: int) -> None:
        self.version, self.frames, self._number = 0, 0, number

    def state(self) -> dict[str, Tensor]:
        return {
            "model.w": torch.tensor([self._number, self.version]),
            "clocks": torch.tensor([self.frames]),
        }

    def copy_from(self, state: Mapping[str, Tensor]) -> None:
        raise AssertionError("copies are the caller's")

    def set_hyperparams(self, hyperparams: Hyperparams) -> None:
        raise AssertionError("so are these")


class Told:
    """A matchmaker that writes down which win rates it is told.

    Members that do not learn and snapshots stand in its roster.
    """

    def __init__(self) -> None:
        members = (MemberEntry(name, "player", policy) for policy, name in enumerate(NAMES))
        self._roster = Roster(tuple(members), 100, 0.0)
        self.win_rates: list[WinRates] = []

    @property
    def roster(self) -> Roster:
        return self._roster

    @roster.setter
    def roster(self, roster: Roster) -> None:
        if roster.win_rates is not self._roster.win_rates:
            self.win_rates.append(roster.win_rates)
        self._roster = roster

    @property
    def snapshots(self) -> tuple[SnapshotEntry, ...]:
        return self._roster.snapshots

    @property
    def resting(self) -> list[str]:
        """Members that learn no more."""
        return [member.name for member in self._roster.members if not member.learning]


class Scene:
    def __init__(self, config: RunConfig = CONFIG, objective: ObjectiveKind = "win") -> None:
        self.learners = {name: Counting(number) for number, name in enumerate(NAMES)}
        self.sink, self.told = MemorySink(), Told()
        members = [
            Member(name, "player", policy, dict(HYPERPARAMS)) for policy, name in enumerate(NAMES)
        ]
        rules, store = PbtRules.from_config(config.pbt, objective), MemoryStore()
        certifier = Certifier(ActingForms(), 1.0, self.sink, store)
        self.controller = Controller(
            config, rules, members, self.learners, self.told, self.sink, store, certifier
        )

    def plays(
        self,
        name: str,
        returns: float,
        points: float | None,
        kind: GameKind = "training",
        reason: str = "rules",
    ) -> None:
        """Alone at a table."""
        player = PlayerRef("member", name)
        plan = GamePlan(
            self.controller.games, kind, 0, (SeatPlan(player, NAMES.index(name), 0, True),), ()
        )
        tell(
            self.controller,
            GameEnd(
                0, plan, (SeatRecord(player, 0, 0, 0, 0, returns, points),), 5, 5, reason, "", None
            ),
        )

    def curves(self, name: str, frames: int) -> dict[str, float]:
        """What the next point says of the games."""
        self.update(name, frames)
        member, _, values = self.sink.points[-1]
        assert member == name
        return {key: values[key] for key in ("return", "points") if key in values}

    def wins(self, winner: str, loser: str, returns: tuple[float, float] = (0.0, 0.0)) -> None:
        players = [PlayerRef("member", name) for name in (winner, loser)]
        seats = tuple(SeatPlan(player, NAMES.index(player.name), 0, True) for player in players)
        records = tuple(
            SeatRecord(player, 0, 0, 0, place, returns[place])
            for place, player in enumerate(players)
        )
        tell(
            self.controller,
            GameEnd(
                0,
                GamePlan(self.controller.games, "training", 0, seats, ()),
                records,
                5,
                5,
                "win",
                "",
                None,
            ),
        )

    def update(self, name: str, frames: int) -> Any:
        self.learners[name].version += 1
        self.learners[name].frames = frames
        return self.controller.on_update(name, stats(frames))


def stats(frames: int) -> UpdateStats:
    nothing = dict.fromkeys(UpdateStats.__dataclass_fields__, 0)
    own = {"frames": frames, "means": {"entropy": 0.0}, "round_lag": None}
    return UpdateStats(**nothing | own)
