"""The measurement of returns goes on where it was, and judges by the lead over the untrained."""

import argparse
from pathlib import Path
from typing import Any

from bench.objectives import Population, curve, spread, tag

OPTIONS = argparse.Namespace(folder=Path("/nowhere"), json=None, frames=1000, matches=10)


def row(member: str, frames: int, mean: float) -> dict[str, Any]:
    player = f"{member}@{frames}"
    ends = {"mean_return": mean, "low": mean - 1, "high": mean + 1}
    return {"player": player, "id": player, "frames": frames, **ends}


def known(game: str, steps: dict[str, Any]) -> Population:
    """A population whose steps were all run, so that none is run again."""
    printed = {step: {"printed": found} for step, found in steps.items()}
    return Population(game, 1, OPTIONS, {"populations": {f"{game}1": printed}})


def ahead_of(ahead: int, behind: int, low: float) -> dict[str, Any]:
    return {"ahead": ahead, "behind": behind, "lead": {"value": low + 1, "low": low}}


def test_both_roles_have_to_beat_their_untrained() -> None:
    rows = [row("tag1/m0", 0, 4.0), row("tag1/m0", 900, 20.0), row("tag1/m2", 0, -28.0)]
    rows.append(row("tag1/m2", 900, -18.0))
    table = {"players": rows, "best_by_role": {"adversary": "tag1/m0@900", "agent": "tag1/m2@900"}}
    names = ("tag1/m0@900", "tag1/m0@0", "tag1/m2@900", "tag1/m2@0", "random")
    roles = ("adversary", "adversary", "agent", "agent", "agent")
    standings = [
        {"player": {"name": name}, "role": role} for name, role in zip(names, roles, strict=True)
    ]
    for prey, improved in ((3.0, True), (-0.5, False)):
        leads = [ahead_of(0, 1, 10.0), ahead_of(2, 3, prey), ahead_of(2, 4, 5.0)]
        one = known(
            "tag",
            {"league": table, "match": {"leads": leads, "standings": standings}, "refusal": []},
        )
        figures = tag(one)
        assert figures["improved"] is improved
        assert figures["roles"]["agent"]["untrained"]["low"] == prey
        assert figures["roles"]["agent"]["random"]["low"] == 5.0
    assert curve(one)["tag1/m2"] == [(0, -28.0, -29.0, -27.0), (900, -18.0, -19.0, -17.0)]


def test_a_best_that_was_never_trained_has_not_improved() -> None:
    """It has no lead over itself."""
    rows = [row("spread1/m0", 0, -26.0), row("spread1/m0", 900, -20.0)]
    for best, lead, improved in (
        ("spread1/m0@900", [6.0, 5.0, 7.0], True),
        ("spread1/m0@900", [0.5, -0.5, 1.5], False),
        ("spread1/m0@0", None, False),
    ):
        table = {"players": rows, "best_by_role": {"player": best}}
        beside = [{"lead": lead}, {"lead": [7.0, 6.0, 8.0]}]
        match = {"players": [{"self_play": {"value": -20.0}}, {"self_play": {"value": -26.0}}]}
        steps = {"league": table, "match untrained": match, "match random": match}
        figures = spread(known("spread", {**steps, "evaluate": {"beside": beside}}))
        assert (figures["best"], figures["improved"]) == (best, improved)
