"""The curves of members: what a point says of the games since the last one."""

import pytest

from pbt.objective import ObjectiveKind, as_objective
from tests.pbt.population.controller_scene import Scene


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
    resumed = Scene()
    resumed.controller.load(scene.controller.state())
    assert resumed.curves("m0", 10) == {"return": 1.0, "points": 4.0}


@pytest.mark.parametrize(
    ("objective", "curve"),
    [("win", {"win_rate": 1.0}), ("margin", {"margin": 6.5}), ("return", {})],
)
def test_the_curve_of_what_is_ranked_has_the_name_of_the_objective(
    objective: ObjectiveKind, curve: dict[str, float]
) -> None:
    scene = Scene(objective=objective)
    scene.wins("m0", "m1", (7.0, -7.0))
    scene.wins("m0", "m1", (6.0, -6.0))
    scene.update("m0", 10)
    _, _, values = scene.sink.points[-1]
    assert {key: values[key] for key in ("win_rate", "margin") if key in values} == curve
    assert values["return"] == 6.5


def test_the_first_game_without_a_margin_is_a_warning_where_margins_are_the_objective() -> None:
    for objective, expected in (("margin", 1), ("win", 0), ("return", 0)):
        scene = Scene(objective=as_objective(objective))
        scene.wins("m0", "m1", (7.0, -7.0))
        scene.wins("m0", "m1", (7.0, 2.0))
        scene.wins("m0", "m1", (1.0, 1.0))
        warnings = [event.text for event in scene.sink.events if event.kind == "warning"]
        assert len(warnings) == expected
        if warnings:
            assert warnings[0].startswith("game 1: its returns (7, 2) sum to 9; ")
