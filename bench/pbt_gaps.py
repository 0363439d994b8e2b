"""Measures how far members that learn alike are apart, which is what PBT's copies are held against.

    python -m bench.pbt_demo --folder pbt_demo --equal 20 --spread 8 --json pbt_demo.json
    python -m bench.pbt_gaps pbt_demo/data --json pbt_gaps.json

It reads the rounds of the runs `equal-1`, `equal-2`, ... of bench/pbt_demo.py up to their first
copy: members with equal hyperparameters and different random streams. Each round stores the scores
of all members; every two of them give a gap on common opponents, as PBT computes it
(`pbt.population.comparison`). Each pair is taken at the rounds of its first member. Reported:
  gap_sd          root mean square of the gaps
  error           root mean square of the error that independent games would give
  of_games        variance by blocks of time within the windows (--blocks parts of equal numbers of
                  games), over that of independent games: above 1 where games depend on each other
  overdispersion  mean of (gap / error)^2: 1 if equal members differed by the chance of games alone
  equals_sd       the standard deviation that is left: sqrt(gap_sd^2 - error^2), with an interval by
                  bootstrap over runs
  by_round        the same of each round: members differ more while they learn fast
  tail            the largest |gap| in standard errors with that standard deviation included, and
                  the share of pairs beyond 2 and 3, beside those of a normal distribution
"""

import argparse
import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.stored_history import list_rounds
from arena.league.summaries import list_populations
from bench.throughput import hardware, settings_of
from pbt.population.comparison import Gap, compare
from pbt.population.scores import counted_games, score_points
from pbt.records import GameRecord, MemberScore, RoundRecord

BOOTSTRAPS, SEED = 2000, 1


class Pair(NamedTuple):
    """Two members at one round. of_games: variance by blocks over that of independent games."""

    run: str
    round: int
    frames: int
    a: str
    b: str
    gap: float
    error: float
    of_games: float | None


def rounds_of_equals(league: League, population: str) -> list[RoundRecord]:
    """The rounds up to the first copy."""
    rounds = [stored.record for stored in list_rounds(league, population)]
    copied = [place for place, one in enumerate(rounds) if one.directive.copy_from is not None]
    return rounds[: copied[0] + 1] if copied else rounds


def pairs_of(league: League, population: str, blocks: int) -> list[Pair]:
    """Every two members at the rounds of the first of them."""
    wanted = GameFilter(kind="training", voided=False)
    games = [stored.record for stored in population_games(league, population, wanted)]
    pairs = []
    for one in rounds_of_equals(league, population):
        scores = {score.member: score for score in one.scores}
        own = scores[one.member]
        for name, other in sorted(scores.items()):
            if name <= one.member or not own.games or not other.games:
                continue
            gap = compare(own, other, "win")
            by_blocks = _of_games(games, own, other, gap, blocks)
            key = (population, one.round, one.frames, one.member, name)
            pairs.append(Pair(*key, gap.ahead, gap.error, by_blocks))
    return pairs


def _of_games(
    games: Sequence[GameRecord], a: MemberScore, b: MemberScore, gap: Gap, blocks: int
) -> float | None:
    """The variance of the gap by blocks of time over that of independent games."""
    first, last = max(a.first_game, b.first_game), min(a.last_game, b.last_game)
    edges = np.linspace(first, last + 1, blocks + 1).astype(int)
    parts = []
    for begin, end in pairwise(edges):
        begins, ends = (bisect_left(games, edge, key=_number) for edge in (begin, end))
        mine, theirs = (_score(own.member, games[begins:ends]) for own in (a, b))
        if mine.games and theirs.games:
            parts.append(compare(mine, theirs, "win").ahead)
    if len(parts) < 2:
        return None
    return float(np.var(parts, ddof=1)) / len(parts) / gap.error**2


def _score(member: str, games: Sequence[GameRecord]) -> MemberScore:
    """The score over those of the games that the member began before any copy."""
    counted = [one for game in games for one in counted_games(game, "win")]
    own = [game for name, generation, game in counted if (name, generation) == (member, 0)]
    return score_points(member, own, "against")


def _number(game: GameRecord) -> int:
    return game.number


def summary(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The figures of all pairs."""
    runs = sorted({pair.run for pair in pairs})
    by_run = [[pair for pair in pairs if pair.run == run] for run in runs]
    rng = np.random.default_rng(SEED)
    drawn = [
        _equals_sd(
            [pair for place in rng.integers(len(runs), size=len(runs)) for pair in by_run[place]]
        )
        for _ in range(BOOTSTRAPS)
    ]
    equals_sd = _equals_sd(pairs)
    sizes = [abs(pair.gap) / math.hypot(pair.error, equals_sd) for pair in pairs]
    of_games = [pair.of_games for pair in pairs if pair.of_games is not None]
    return {
        "runs": len(runs),
        "pairs": len(pairs),
        "gap_sd": math.sqrt(fmean(pair.gap**2 for pair in pairs)),
        "largest_gap": max(abs(pair.gap) for pair in pairs),
        "error": math.sqrt(fmean(pair.error**2 for pair in pairs)),
        "of_games": fmean(of_games),
        "overdispersion": fmean((pair.gap / pair.error) ** 2 for pair in pairs),
        "equals_sd": equals_sd,
        "equals_sd_interval": [float(np.quantile(drawn, end)) for end in (0.025, 0.975)],
        "by_round": {
            number: _equals_sd([pair for pair in pairs if pair.round == number])
            for number in sorted({pair.round for pair in pairs})
        },
        "tail": {
            "largest": max(sizes),
            "beyond_2": fmean(size > 2.0 for size in sizes),
            "beyond_3": fmean(size > 3.0 for size in sizes),
            "normal_beyond_2": math.erfc(2.0 / math.sqrt(2.0)),
            "normal_beyond_3": math.erfc(3.0 / math.sqrt(2.0)),
        },
    }


def _equals_sd(pairs: Sequence[Pair]) -> float:
    """What is left of the gaps' spread when the chance of independent games is taken off."""
    return math.sqrt(max(0.0, fmean(pair.gap**2 - pair.error**2 for pair in pairs)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    pairs: list[Pair] = []
    with open_league(league_path(options.folder.absolute()), read_only=True) as league:
        for one in list_populations(league):
            if one.name.startswith("equal-") and one.state == "finished":
                pairs += pairs_of(league, one.name, options.blocks)
    figures = summary(pairs)
    report = {
        "hardware": hardware(),
        "settings": settings_of(options),
        "summary": figures,
        "pairs": [pair._asdict() for pair in pairs],
    }
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
