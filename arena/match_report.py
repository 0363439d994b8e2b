"""What a match says, for people and for programs."""

from collections.abc import Mapping
from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from arena.match import MatchResult
from arena.players import ResolvedPlayer
from arena.statistics import Tally

FEW_DISTINCT = 0.5


def verdict(result: MatchResult) -> str:
    """One sentence, with the confidence it was said with."""
    stats = result.statistics
    if result.same_player:
        inside = stats.low <= 0.5 <= stats.high
        return "the same player twice: " + ("even, as expected" if inside else "off 50 %, which chance does in one match of twenty")
    if stats.low > 0.5:
        return f"{result.a.label} is stronger (95 %)"
    if stats.high < 0.5:
        return f"{result.b.label} is stronger (95 %)"
    return f"not decided (95 %); four times the games, {4 * result.planned}, halve the interval"


def match_lines(result: MatchResult) -> list[str]:
    """The report for people; what it comes to stands last."""
    stats, lengths = result.statistics, [record.steps for record in result.records]
    total, played = stats.total, len(result.records)
    score = f"{100 * stats.score:.1f} % [{100 * stats.low:.1f}, {100 * stats.high:.1f}]"
    rows = [
        ("Score", f"{score}   won {total.wins}, drawn {total.draws}, lost {total.losses}"),
        ("Elo", f"{stats.elo_text}   ({result.a.label} above {result.b.label})"),
        ("Seats", f"first {_wdl(stats.as_first)}   second {_wdl(stats.as_second)}   (won-drawn-lost)"),
        ("Games", f"{fmean(lengths):.1f} ± {pstdev(lengths):.1f} decisions, distinct {stats.distinct}/{total.games}, {_errors(result)}, "
                  f"{played / result.seconds:.0f} games/s"),
    ]  # fmt: skip
    if stats.pair_counts is not None:
        rows.insert(2, ("Pairs", f"{_pairs(stats.pair_counts)}   (by points of the two games: 0, ½, 1, 1½, 2)"))
    rows += [("Note", note) for note in (*result.notes, *_warnings(result))]
    if result.match_id is not None:
        rows.append(("Saved", f"match {result.match_id}"))
    rows.append(("Interim" if result.interim else "Verdict", verdict(result)))
    return [_headline(result), *(f"{name:<8} {text}" for name, text in rows)]


def match_json(result: MatchResult) -> dict[str, Any]:
    """Fractions are of 1; Elo ends are null where the score's interval reaches 0 or 1; lengths are decisions of both seats."""
    stats, lengths = result.statistics, [record.steps for record in result.records]
    return {
        "score": stats.score,
        "low": stats.low,
        "high": stats.high,
        "interval": stats.interval,
        "elo": stats.elo,
        "elo_low": stats.elo_low,
        "elo_high": stats.elo_high,
        **_counts(stats.total),
        "games": stats.total.games,
        "planned": result.planned,
        "pair_counts": stats.pair_counts,
        "as_first": _counts(stats.as_first),
        "as_second": _counts(stats.as_second),
        "distinct": stats.distinct,
        "mean_length": fmean(lengths),
        "length_deviation": pstdev(lengths),
        "errors": len(result.errors),
        "games_per_s": len(lengths) / result.seconds,
        "verdict": verdict(result),
        "a": player_json(result.a),
        "b": player_json(result.b),
        "env": result.a.env_name,
        "seed": result.seed,
        "greedy": result.greedy,
        "opening_plies": result.opening_plies,
        "paired": result.paired,
        "interim": result.interim,
        "match": result.match_id,
        "notes": [*result.notes, *_warnings(result)],
    }


def player_json(player: ResolvedPlayer) -> dict[str, Any]:
    """Who it was, exactly: `id` is a snapshot's whole id, or a scripted player's name."""
    return {
        "name": player.label,
        "kind": player.ref.kind,
        "id": player.ref.name,
        "population": player.population,
        "member": player.member,
        "role": player.role,
        "frames": player.frames,
    }


def _headline(result: MatchResult) -> str:
    played = len(result.records)
    games = f"{result.planned} games" if played == result.planned else f"{played} of {result.planned} games"
    pairs = f" in {result.planned // 2} seed pairs" if result.paired else ""
    actions = "greedy actions" if result.greedy else "sampled actions"
    openings = f", {result.opening_plies} random plies to open" if result.opening_plies else ""
    return f"{result.a.label} vs {result.b.label}   {result.a.env_name}, {games}{pairs}, {actions}{openings}, seed {result.seed}"


def _warnings(result: MatchResult) -> list[str]:
    stats, found = result.statistics, []
    if stats.distinct < FEW_DISTINCT * stats.total.games:
        cure = "play without --greedy" if result.greedy else "more opening plies (evaluation.opening_plies) would help"
        found.append(f"only {stats.distinct} of {stats.total.games} games are distinct, so the interval is too narrow; {cure}")
    if stats.left_out:
        found.append(f"{stats.left_out} games of unfinished pairs are left out")
    if result.errors:
        found.append(f"the game raised; first: {result.errors[0]}")
    return found


def _errors(result: MatchResult) -> str:
    return f"errors {len(result.errors)}{' (played again)' * bool(result.errors)}"


def _wdl(tally: Tally) -> str:
    return f"{tally.wins}-{tally.draws}-{tally.losses}"


def _pairs(counts: tuple[int, ...]) -> str:
    return " ".join(str(count) for count in counts)


def _counts(tally: Tally) -> Mapping[str, int]:
    return asdict(tally)
