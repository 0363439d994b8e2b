"""The planner: what it is told of members shows in the plans it hands out."""

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.population.memory import MemorySink, MemoryStore
from pbt.runtime.assembly import assemble

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "population": {"members": 3},
        "sampling": {"environments": 1},
        "model": {"hidden": [8]},
        "evaluation": {"share": 0.0, "final_games": 2},
    }
)


def test_trap_finished_members_are_seated_as_frozen_opponents() -> None:
    """With their newest weights, without rows, and never among themselves."""
    planner = assemble(CONFIG, registry.spec("tictactoe"), MemorySink(), MemoryStore()).planner
    planner.set_learning("m0", False)
    planner.set_learning("m1", False)
    plans = [plan for plan in (planner.next_game(0) for _ in range(200)) if plan is not None]
    assert len(plans) == 200
    seats = [seat for plan in plans for seat in plan.seats]
    assert all(seat.learning == (seat.player.name == "m2") and seat.policy == int(seat.player.name[1]) for seat in seats)
    assert all(any(seat.learning for seat in plan.seats) for plan in plans)
    assert all(sum(seat.player.name == name for seat in seats) > 40 for name in ("m0", "m1"))
    planner.set_learning("m2", False)
    assert planner.next_game(0) is None, "nobody learns, and there are no snapshots to play the closing games"
