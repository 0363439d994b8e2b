"""The curves of members: what a point says of the games since the last one."""

import json

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
    resumed, older = Scene(), Scene()
    resumed.controller.load(json.loads(json.dumps(scene.controller.state())))
    assert resumed.curves("m0", 10) == {"return": 1.0, "points": 4.0}
    state = scene.controller.state()
    del state["points"]
    older.controller.load(state)
    assert older.curves("m0", 10) == {"return": 1.0}
