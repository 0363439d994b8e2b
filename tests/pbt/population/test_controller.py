"""Members that fail: the others go on without them; a resume gives them another chance."""

import pytest
from torch import Tensor

from tests.pbt.population.controller_scene import NAMES, Counting, Scene


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
    assert scene.told.resting == ["m1"]
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
    resumed.told.roster = scene.told.roster
    resumed.controller.load(scene.controller.state())
    members = resumed.controller.members
    assert [name for name in NAMES if not members[name].learning] == ["m2"], (
        "one that had finished has"
    )
    assert resumed.told.resting == ["m2"]
    (event,) = resumed.sink.events
    assert (event.kind, event.member, event.frames, event.text) == (
        "resume",
        "m1",
        40,
        "had failed; tries again",
    )


def test_a_snapshot_is_recorded_with_the_clocks_of_the_weights_it_holds(scene: Scene) -> None:
    """A learner in another process sends its clocks with its weights; earlier ones may be old."""

    class Elsewhere(Counting):
        def state(self) -> dict[str, Tensor]:
            self.version, self.frames = 7, 70
            return super().state()

    scene.controller._learners["m0"] = Elsewhere(9)  # type: ignore[index]
    scene.controller._snapshot(scene.controller.members["m0"], "manual")
    assert (scene.sink.snapshots[-1].version, scene.sink.snapshots[-1].frames) == (7, 70)
