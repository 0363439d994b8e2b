"""What a campaign of faults on a training comes to: how soon all was whole again, and how fast
the training was after that.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.recovered_speed import Ratio, ratio

SHARE = 0.95
CONFIDENCE = 0.95
NONE = "none"
WIDTH = 23
MEASURED = ("gone", "whole")
LATE = {"gone": "gone too late", "whole": "without all its engines for too long"}


@dataclass(frozen=True)
class Moment:
    """A fault and what came of it, or, as fault NONE, a moment without any.

    began_s     the first blow, since the campaign began
    gone_s      until what was struck was gone;  whole_s: from then until all engines stood
    at_first    rows a second from the first blow until the training must be as fast as without it;
                None where nothing was struck
    after       rows a second for a while from then on
    ended       matches that were ended so that another one starts;  missed: of these others, those
                that were struck too late
    reasons     of the games that were voided
    """

    fault: str
    began_s: float
    gone_s: float
    whole_s: float
    at_first: float | None
    after: float
    ended: int = 0
    missed: int = 0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Allowed:
    """Seconds, by fault."""

    gone: Mapping[str, float]
    whole: Mapping[str, float]


@dataclass(frozen=True)
class Campaign:
    """calm_...: rows a second, piece by piece, of minutes before the first moment, after the
    last one, and of the same training resumed.
    """

    moments: Sequence[Moment]
    calm_before: Sequence[float] = ()
    calm_after: Sequence[float] = ()
    calm_resumed: Sequence[float] = ()
    allowed: Allowed = field(default_factory=lambda: Allowed({}, {}))

    @property
    def undisturbed(self) -> list[float]:
        return [moment.after for moment in self.moments if moment.fault == NONE]

    @property
    def struck(self) -> list[Moment]:
        return [moment for moment in self.moments if moment.fault != NONE]

    def by_fault(self) -> dict[str, list[Moment]]:
        found: defaultdict[str, list[Moment]] = defaultdict(list)
        for moment in self.struck:
            found[moment.fault].append(moment)
        return dict(sorted(found.items()))


def speeds(campaign: Campaign) -> dict[str, float | None]:
    """after, low, high: the mean speed when it must be back, over that of undisturbed moments,
    and its interval of 95 %.
    """
    calm = {
        "calm_before": campaign.calm_before,
        "calm_after": campaign.calm_after,
        "calm_resumed": campaign.calm_resumed,
    }
    means = {"undisturbed": campaign.undisturbed, **calm}
    found = {
        f"{name}_rows_per_s": statistics.fmean(rates) if rates else None
        for name, rates in means.items()
    }
    return {**found, **told(after(campaign.struck, campaign.undisturbed, CONFIDENCE))}


def table(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """By fault. slower: by an interval so wide that those of all kinds hold together in 95 % of
    campaigns (Bonferroni).
    """
    kinds = campaign.by_fault()
    beyond_chance = 1 - (1 - CONFIDENCE) / max(1, len(kinds))
    return {fault: figures(mine, campaign, beyond_chance) for fault, mine in kinds.items()}


def figures(mine: Sequence[Moment], campaign: Campaign, beyond_chance: float) -> dict[str, Any]:
    """Of one kind."""
    fault, undisturbed = mine[0].fault, campaign.undisturbed
    found: dict[str, Any] = {"count": len(mine)}
    for what, allowed_s in (
        ("gone", campaign.allowed.gone[fault]),
        ("whole", campaign.allowed.whole[fault]),
    ):
        seconds = [getattr(moment, f"{what}_s") for moment in mine]
        found |= {
            f"{what}_median_s": statistics.median(seconds),
            f"{what}_max_s": max(seconds),
            f"{what}_allowed_s": allowed_s,
        }
        found[f"{what}_late"] = sum(taken_s > allowed_s for taken_s in seconds)
    early = [moment.at_first for moment in mine if moment.at_first is not None]
    found["at_first"] = ratio(early, undisturbed).value if early and undisturbed else None
    found |= {
        **told(after(mine, undisturbed, CONFIDENCE)),
        "slower": slower(after(mine, undisturbed, beyond_chance)),
    }
    return {
        **found,
        "matches_ended_before": sum(moment.ended for moment in mine),
        "starts_missed": sum(moment.missed for moment in mine),
    }


def after(mine: Sequence[Moment], undisturbed: Sequence[float], confidence: float) -> Ratio | None:
    return (
        ratio([moment.after for moment in mine], undisturbed, confidence)
        if mine and undisturbed
        else None
    )


def slower(found: Ratio | None) -> bool:
    """Below what is asked for, and less than all by more than chance."""
    return found is not None and found.value < SHARE and found.high < 1.0


def told(found: Ratio | None) -> dict[str, float | None]:
    if found is None:
        return dict.fromkeys(("after", "low", "high"))
    return {"after": found.value, "low": finite(found.low), "high": finite(found.high)}


def finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def complaints(campaign: Campaign) -> list[str]:
    """What is not as it must be."""
    found = []
    for fault, row in table(campaign).items():
        found += [
            f"{fault}: {row[f'{what}_late']} of {row['count']} {words}"
            for what, words in LATE.items()
            if row[f"{what}_late"]
        ]
        if row["slower"]:
            found.append(
                f"{fault}: {row['after']:.1%} of the speed of undisturbed moments, when it "
                "should be back"
            )
    return found + slow_afterwards(campaign) + slow_for_good(campaign)


def slow_afterwards(campaign: Campaign) -> list[str]:
    """Whether all faults together are shown to leave the training as fast as undisturbed
    moments.
    """
    of_all = after(campaign.struck, campaign.undisturbed, CONFIDENCE)
    if of_all is None:
        return ["no speed after faults, or none of undisturbed moments, was seen"]
    if of_all.low >= SHARE:
        return []
    return [
        (
            f"the speed after faults is not shown to be {SHARE:.0%} of that of undisturbed "
            f"moments: {of_all.value:.1%}, at least {of_all.low:.1%}"
        )
    ]


def slow_for_good(campaign: Campaign) -> list[str]:
    """What faults leave behind in processes is in undisturbed moments among them too, but not
    before the first one nor after a new start.

    Trainings change their speed without faults as well, and machines do: beside minutes that are
    long ago, only more than that would say something.
    """
    before, after_all, resumed, undisturbed = (
        campaign.calm_before,
        campaign.calm_after,
        campaign.calm_resumed,
        campaign.undisturbed,
    )
    if not before or not after_all or not resumed:
        return [
            (
                "the minutes before the first fault, after the last one, or after a new start "
                "were not watched"
            )
        ]
    pairs = [("after the last fault", after_all, "resumed", resumed)]
    if undisturbed:
        pairs.append(
            (
                "undisturbed moments among faults",
                undisturbed,
                "before the first and resumed after the last",
                [*before, *resumed],
            )
        )
    return [
        (
            f"{where}: {statistics.fmean(rates):.0f} rows/s, {other}: "
            f"{statistics.fmean(rates_there):.0f}"
        )
        for where, rates, other, rates_there in pairs
        if slower(ratio(rates, rates_there))
    ]


def lines(report: Mapping[str, Any]) -> list[str]:
    """The report for people; seconds as median / greatest / allowed."""
    speed, counted = report["speeds"], report["counted"]
    found = [
        f"{report['seconds']:.0f} s; "
        + ", ".join(f"{count:,} {what}" for what, count in counted.items())
    ]
    before, between, at_last, resumed = (
        whole(speed[f"{name}_rows_per_s"])
        for name in ("calm_before", "undisturbed", "calm_after", "calm_resumed")
    )
    found.append(
        f"rows/s: {before} before the first fault, {between} at {report['undisturbed']} "
        f"undisturbed moments, {at_last} after the last fault,"
    )
    found[-1] += f" {resumed} when started anew"
    found.append(
        "  "
        f"{'fault':<15}{'count':>6}{'gone':>{WIDTH}}{'whole':>{WIDTH}}"
        f"{'at first':>10}{'after':>26}{'ended':>7}{'missed':>8}"
    )
    for fault, row in report["faults"].items():
        seconds = "".join(
            (
                f"{row[f'{what}_median_s']:.2f} / {row[f'{what}_max_s']:.2f} / "
                f"{row[f'{what}_allowed_s']:g}"
            ).rjust(WIDTH)
            for what in MEASURED
        )
        counts = f"{row['matches_ended_before']:>7}{row['starts_missed']:>8}"
        found.append(
            "  "
            f"{fault:<15}{row['count']:>6}{seconds}{share(row['at_first']):>10}{interval(row):>26}{counts}"
        )
    found.append(
        "  "
        f"{'all':<15}{sum(row['count'] for row in report['faults'].values()):>6}"
        f"{'':>56}{interval(speed):>26}"
    )
    found += [f"  WRONG  {complaint}" for complaint in report["complaints"]]
    found += [
        f"  {'ok    ' if not wrong else 'WRONG '} {check}{'' if not wrong else f': {wrong}'}"
        for check, wrong in report["checks"].items()
    ]
    return found + ([f"  FAILED {report['failure'].splitlines()[0]}"] if report["failure"] else [])


def interval(row: Mapping[str, Any]) -> str:
    bounds = (
        ""
        if row["low"] is None or row["high"] is None
        else f" [{row['low']:.1%}, {row['high']:.1%}]"
    )
    return share(row["after"]) + bounds


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
