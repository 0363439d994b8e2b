"""What the matchmaker is told of the members' results against the past."""

import pytest

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.records import Directive, PlayerRef, SeatRecord
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from tests.pbt.population.controller_scene import CONFIG, HYPERPARAMS, NAMES, Scene
from tests.pbt.told_games import tell


def with_mode(past_mode: PastMode) -> Scene:
    return Scene(CONFIG.model_copy(update={"matchmaking": MatchmakingConfig(past_mode=past_mode)}))


def beats_the_past(scene: Scene, name: str, games: int) -> None:
    """Against the oldest snapshot."""
    old = PlayerRef("snapshot", scene.told.snapshots[0].snapshot_id)
    for _ in range(games):
        own = PlayerRef("member", name)
        seats = (SeatPlan(own, NAMES.index(name), 0, True), SeatPlan(old, 9, 0, False))
        records = (SeatRecord(own, 0, 0, 0, 0, 0.0), SeatRecord(old, 0, 0, 0, 1, 0.0))
        tell(
            scene.controller,
            GameEnd(
                0,
                GamePlan(scene.controller.games, "training", 0, seats, ()),
                records,
                5,
                5,
                "win",
                "",
                None,
            ),
        )


@pytest.mark.parametrize("mode", ["pfsp_hard", "pfsp_variance", "elo_gaussian"])
def test_the_matchmaker_is_told_every_hundred_games_with_the_past(mode: PastMode) -> None:
    scene = with_mode(mode)
    scene.controller.start()
    told = len(scene.told.win_rates)
    beats_the_past(scene, "m1", 99)
    resumed = with_mode(mode)
    resumed.told.roster = scene.told.roster
    resumed.controller.load(scene.controller.state())
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
    other.controller.load(scene.controller.state())
    assert other.told.win_rates == [{}]


def test_plain_modes_are_told_nothing() -> None:
    scene = with_mode("uniform")
    scene.controller.start()
    beats_the_past(scene, "m1", 200)
    assert scene.told.win_rates == [] and scene.controller.state().payoffs is None
