"""Members that fail: the others go on without them, and a resume gives them another chance.

Curves are tested here too: what they say of games.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.memory import MemorySink, MemoryStore
from pbt.config.population import MatchmakingConfig, PastMode
from pbt.config.schema import RunConfig
from pbt.hyperparams import Hyperparams
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.seats import SnapshotEntry
from pbt.population.controller import Controller
from pbt.population.members import Member
from pbt.population.pbt_rules import PbtRules
from pbt.records import Directive, GameKind, PlayerRef, SeatRecord
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan

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
    """A matchmaker that writes down what it is told."""

    def __init__(self) -> None:
        self.learning: dict[str, bool] = {}
        self.generations: dict[str, int] = {}
        self.snapshots: list[SnapshotEntry] = []
        self.win_rates: list[WinRates] = []

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self.snapshots.append(entry)

    def set_evaluation_share(self, share: float) -> None:
        self.evaluation_share = share

    def set_win_rates(self, win_rates: WinRates) -> None:
        self.win_rates.append(win_rates)

    def set_generation(self, member: str, generation: int) -> None:
        self.generations[member] = generation

    def set_learning(self, member: str, learning: bool) -> None:
        self.learning[member] = learning


class Scene:
    def __init__(self, config: RunConfig = CONFIG) -> None:
        self.learners = {name: Counting(number) for number, name in enumerate(NAMES)}
        self.sink, self.told = MemorySink(), Told()
        members = [
            Member(name, "player", policy, dict(HYPERPARAMS)) for policy, name in enumerate(NAMES)
        ]
        rules = PbtRules.from_config(config.pbt, "wins")
        self.controller = Controller(
            config, rules, members, self.learners, self.told, self.sink, MemoryStore()
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
        self.controller.on_game(
            GameEnd(
                0, plan, (SeatRecord(player, 0, 0, 0, 0, returns, points),), 5, 5, reason, "", None
            )
        )

    def curves(self, name: str, frames: int) -> dict[str, float]:
        """What the next point says of the games."""
        self.update(name, frames)
        member, _, values = self.sink.points[-1]
        assert member == name
        return {key: values[key] for key in ("return", "points") if key in values}

    def wins(self, winner: str, loser: str) -> None:
        players = [PlayerRef("member", name) for name in (winner, loser)]
        seats = tuple(SeatPlan(player, NAMES.index(player.name), 0, True) for player in players)
        records = tuple(
            SeatRecord(player, 0, 0, 0, place, 0.0) for place, player in enumerate(players)
        )
        self.controller.on_game(
            GameEnd(
                0,
                GamePlan(self.controller.games, "training", 0, seats, ()),
                records,
                5,
                5,
                "win",
                "",
                None,
            )
        )

    def update(self, name: str, frames: int) -> Any:
        self.learners[name].version += 1
        self.learners[name].frames = frames
        return self.controller.on_update(name, stats(frames))


def stats(frames: int) -> UpdateStats:
    return UpdateStats(**{**dict.fromkeys(UpdateStats.__dataclass_fields__, 0), "frames": frames})


@pytest.fixture
def scene() -> Scene:
    """m0 is the best and m3 the worst."""
    scene = Scene()
    scene.controller.start()
    for winner, loser in (
        ("m0", "m1"),
        ("m0", "m2"),
        ("m0", "m3"),
        ("m1", "m2"),
        ("m1", "m3"),
        ("m2", "m3"),
    ):
        scene.wins(winner, loser)
    return scene


def test_a_failed_member_sits_as_an_opponent_and_that_is_said_once(scene: Scene) -> None:
    scene.update("m1", 40)
    for _ in range(2):
        scene.controller.fail("m1", "its learner died three times")
    assert scene.told.learning == {"m1": False}
    (event,) = (event for event in scene.sink.events if event.kind == "failed")
    assert (event.member, event.frames) == ("m1", 40) and event.text.startswith(
        "its learner died three times; sits as a frozen opponent"
    )
    member = scene.controller.members["m1"]
    assert (
        member.failed
        and not member.learning
        and member.refused == "failed"
        and not scene.controller.finished
    )


def test_a_failed_member_is_neither_ranked_nor_copied_nor_updated(scene: Scene) -> None:
    assert scene.update("m3", 100).copy_from in ("m0", "m1")
    scene.controller.fail("m0", "gone")
    scene.controller.fail("m1", "gone")
    points = len(scene.sink.points)
    assert scene.update("m0", 100) is None and len(scene.sink.points) == points, (
        "an update that was on its way comes too late"
    )
    scene.update("m3", 200)
    decided = scene.sink.rounds[-1]
    assert [score.member for score in decided.scores] == [
        "m2",
        "m3",
    ] and decided.directive.copy_from is None
    assert decided.hyperparams.keys() == {"m2", "m3"}


def test_the_run_is_over_when_everybody_finished_or_failed(scene: Scene) -> None:
    for name in NAMES[:3]:
        scene.controller.fail(name, "gone")
    assert not scene.controller.finished
    scene.update("m3", 1000)
    assert scene.controller.finished and scene.controller.members["m3"].refused == "finished"
    scene.controller.fail("m3", "too late")
    assert not scene.controller.members["m3"].failed


def test_a_resume_gives_failed_members_another_chance(scene: Scene) -> None:
    scene.update("m1", 40)
    scene.update("m2", 1000)
    scene.controller.fail("m1", "gone")
    resumed = Scene()
    for name, learner in scene.learners.items():
        resumed.learners[name].version, resumed.learners[name].frames = (
            learner.version,
            learner.frames,
        )
    resumed.controller.load(scene.controller.state())
    members = resumed.controller.members
    assert [name for name in NAMES if not members[name].learning] == ["m2"], (
        "one that had finished has"
    )
    assert resumed.told.learning == {"m1": True}
    (event,) = resumed.sink.events
    assert (event.kind, event.member, event.frames, event.text) == (
        "resume",
        "m1",
        40,
        "had failed; tries again",
    )


def test_members_of_older_checkpoints_have_not_failed() -> None:
    state = Member("m0", "player", 0, dict(HYPERPARAMS)).state()
    del state["failed"]
    assert not Member.load(state).failed
    del state["finished"]
    with pytest.raises(KeyError):
        Member.load(state)


def test_a_snapshot_is_recorded_with_the_clocks_of_the_weights_it_holds(scene: Scene) -> None:
    """A learner in another process sends its clocks with its weights; earlier ones may be old."""

    class Elsewhere(Counting):
        def state(self) -> dict[str, Tensor]:
            self.version, self.frames = 7, 70
            return super().state()

    scene.controller._learners["m0"] = Elsewhere(9)  # type: ignore[index]
    scene.controller._snapshot(scene.controller.members["m0"], "manual")
    assert (scene.sink.snapshots[-1].version, scene.sink.snapshots[-1].frames) == (7, 70)


# --- curves ---------------------------------------------------------------------------------------


def test_a_point_of_the_curves_says_what_the_training_games_since_the_last_one_counted() -> None:
    scene = Scene()
    scene.plays("m0", returns=1.0, points=4.0)
    scene.plays("m0", returns=2.0, points=1.0)
    scene.plays("m0", returns=9.0, points=9.0, kind="evaluation")
    scene.plays("m0", returns=0.5, points=None, reason="voided: the engine fell over")
    scene.plays("m1", returns=5.0, points=None)
    assert scene.curves("m0", 10) == {"return": 1.5, "points": 2.5}
    assert scene.curves("m1", 10) == {"return": 5.0}, "its game keeps no count"
    assert scene.curves("m0", 20) == {}


def test_games_waiting_for_their_curve_are_part_of_a_checkpoint() -> None:
    scene = Scene()
    scene.plays("m0", returns=1.0, points=4.0)
    resumed, older = Scene(), Scene()
    resumed.controller.load(json.loads(json.dumps(scene.controller.state())))
    assert resumed.curves("m0", 10) == {"return": 1.0, "points": 4.0}
    state = scene.controller.state()
    del state["points"]
    older.controller.load(state)
    assert older.curves("m0", 10) == {"return": 1.0}


# --- what members may expect of the past ----------------------------------------------------------


def with_mode(past_mode: PastMode) -> Scene:
    return Scene(CONFIG.model_copy(update={"matchmaking": MatchmakingConfig(past_mode=past_mode)}))


def beats_the_past(scene: Scene, name: str, games: int) -> None:
    """Against the oldest snapshot."""
    old = PlayerRef("snapshot", scene.told.snapshots[0].snapshot_id)
    for _ in range(games):
        own = PlayerRef("member", name)
        seats = (SeatPlan(own, NAMES.index(name), 0, True), SeatPlan(old, 9, 0, False))
        records = (SeatRecord(own, 0, 0, 0, 0, 0.0), SeatRecord(old, 0, 0, 0, 1, 0.0))
        scene.controller.on_game(
            GameEnd(
                0,
                GamePlan(scene.controller.games, "training", 0, seats, ()),
                records,
                5,
                5,
                "win",
                "",
                None,
            )
        )


@pytest.mark.parametrize("mode", ["pfsp_hard", "pfsp_variance", "elo_gaussian"])
def test_the_matchmaker_is_told_every_hundred_games_with_the_past(mode: PastMode) -> None:
    scene = with_mode(mode)
    scene.controller.start()
    told = len(scene.told.win_rates)
    beats_the_past(scene, "m1", 99)
    resumed = with_mode(mode)
    resumed.told.snapshots = scene.told.snapshots
    resumed.controller.load(json.loads(json.dumps(scene.controller.state())))
    for one in (scene, resumed):
        before = len(one.told.win_rates)
        beats_the_past(one, "m1", 1)
        assert len(one.told.win_rates) == before + 1
    assert (
        len(scene.told.win_rates) == told + 1
        and scene.told.win_rates[-1] == resumed.told.win_rates[-1]
    )
    assert scene.told.win_rates[-1][scene.told.snapshots[0].snapshot_id]["m1"] > 0.6


def test_a_copy_tells_at_once_and_another_mode_begins_anew() -> None:
    scene = with_mode("pfsp_hard")
    scene.controller.start()
    beats_the_past(scene, "m0", 50)
    scene.controller.applied(Directive("m3", 1, "m0", "f" * 64, dict(HYPERPARAMS), ()))
    row = scene.told.win_rates[-1][scene.told.snapshots[0].snapshot_id]
    assert row["m3"] == row["m0"] > 0.9
    other = with_mode("elo_gaussian")
    other.controller.load(json.loads(json.dumps(scene.controller.state())))
    assert other.told.win_rates == [{}]


def test_plain_modes_are_told_nothing() -> None:
    scene = with_mode("uniform")
    scene.controller.start()
    beats_the_past(scene, "m1", 200)
    assert scene.told.win_rates == [] and scene.controller.state()["payoffs"] is None
