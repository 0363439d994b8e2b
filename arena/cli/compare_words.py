"""What `arena compare` says in every case: the two configurations, the looks, the verdict on A."""

from collections.abc import Sequence
from typing import Any

from arena.matches.compare import SIDES, Comparison
from arena.stats.seed_scores import Verdict

# For the verdict on A, the same as those of `arena match --assert`.
EXIT_CODES: dict[Verdict, int] = {"better": 0, "worse": 5, "undecided": 6}
WIDTH = 9


def seeds_text(comparison: Comparison) -> str:
    """How long how many runs were trained."""
    seeds = comparison.seeds
    return f"{seeds} seed{'s' * (seeds != 1)} each, {comparison.frames} frames per member"


def head_lines(comparison: Comparison, size: str) -> list[str]:
    """What is compared. size: of the evidence, in words."""
    env = comparison.contestants["a"].config.env.name
    return [
        f"{comparison.name}   {env}, {size}",
        *(f"{one.label:<9}{one.source}" for one in comparison.contestants.values()),
        *(
            f"Differs  {key}: A {left}, B {right}"
            for key, (left, right) in comparison.differences().items()
        ),
    ]


def looks_lines(looks: Sequence[int]) -> list[str]:
    """A line on how often the comparison was looked at, where that was more than once."""
    if len(looks) < 2:
        return []
    after = f"after {', '.join(map(str, looks[:-1]))} and {looks[-1]} seeds"
    return [
        f"Looks    {len(looks)}, {after}; stopping at the first verdict is wrong in more than 5 % "
        "of cases"
    ]


def verdict_text(verdict: Verdict, seeds: int) -> str:
    """The verdict in one sentence."""
    match verdict:
        case "better":
            return f"A is better (95 %, {seeds} seeds)"
        case "worse":
            return f"A is worse (95 %, {seeds} seeds)"
        case _:
            return (
                f"undecided (95 %); with --seeds {max(2, 2 * seeds)} the same command "
                "goes on: a narrower interval, and one more look"
            )


def comparison_json(comparison: Comparison, seeds: int, looks: Sequence[int]) -> dict[str, Any]:
    """What every result for `--json` says of the comparison."""
    return {
        "comparison": comparison.name,
        "seeds": seeds,
        "looks": looks,
        "frames": comparison.frames,
        "env": comparison.contestants["a"].config.env.name,
        "differences": {key: list(values) for key, values in comparison.differences().items()},
        "populations": {
            side: [comparison.population(side, seed + 1) for seed in range(seeds)] for side in SIDES
        },
    }
