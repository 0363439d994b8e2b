"""Figures of a campaign of faults on a training: times of recovery, and the speed afterwards."""

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
    """A fault and what followed, or, as fault NONE, a moment without any.

    fault     its name
    began_s   the first blow, since the campaign began
    gone_s    from the blow until the struck process was gone
    whole_s   from then until all engines stood
    at_first  rows a second from the first blow until the training must be as fast as before; None
              where nothing was struck
    after     rows a second for a while from then on
    ended     number of matches that were ended so that another one starts
    missed    number of these others that were struck too late
    reasons   of the games that were voided
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
    """The allowed times.

    gone   fault -> seconds until the struck process is gone
    whole  fault -> seconds from then until all engines stand
    """

    gone: Mapping[str, float]
    whole: Mapping[str, float]


@dataclass(frozen=True)
class Campaign:
    """A campaign of faults. Speeds are rows a second, piece by piece.

    moments       faults and undisturbed moments, in order
    calm_before   speeds before the first moment
    calm_after    speeds after the last moment
    calm_resumed  speeds of the same training after a resume
    allowed       the allowed times
    """

    moments: Sequence[Moment]
    calm_before: Sequence[float] = ()
    calm_after: Sequence[float] = ()
    calm_resumed: Sequence[float] = ()
    allowed: Allowed = field(default_factory=lambda: Allowed({}, {}))

    @property
    def undisturbed(self) -> list[float]:
        """Speeds of the moments without a fault."""
        return [moment.after for moment in self.moments if moment.fault == NONE]

    @property
    def struck(self) -> list[Moment]:
        """The moments with a fault."""
        return [moment for moment in self.moments if moment.fault != NONE]

    def by_fault(self) -> dict[str, list[Moment]]:
        """Fault -> its moments, sorted by name."""
        moments: defaultdict[str, list[Moment]] = defaultdict(list)
        for moment in self.struck:
            moments[moment.fault].append(moment)
        return dict(sorted(moments.items()))


def speeds(campaign: Campaign) -> dict[str, float | None]:
    """The speeds of a campaign.

    "after" is the mean speed after faults over that of undisturbed moments; "low" and "high" are
    its 95 % interval.
    """
    calm = {
        "calm_before": campaign.calm_before,
        "calm_after": campaign.calm_after,
        "calm_resumed": campaign.calm_resumed,
    }
    means = {"undisturbed": campaign.undisturbed, **calm}
    rows_per_s = {
        f"{name}_rows_per_s": statistics.fmean(rates) if rates else None
        for name, rates in means.items()
    }
    return {**rows_per_s, **told(after(campaign.struck, campaign.undisturbed, CONFIDENCE))}


def table(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Fault -> its figures.

    "slower" uses an interval so wide that the intervals of all kinds hold together in 95 % of
    campaigns (Bonferroni).
    """
    kinds = campaign.by_fault()
    beyond_chance = 1 - (1 - CONFIDENCE) / max(1, len(kinds))
    return {fault: figures(moments, campaign, beyond_chance) for fault, moments in kinds.items()}


def figures(moments: Sequence[Moment], campaign: Campaign, beyond_chance: float) -> dict[str, Any]:
    """The figures of one kind of fault. beyond_chance: confidence of its "slower"."""
    fault, undisturbed = moments[0].fault, campaign.undisturbed
    row: dict[str, Any] = {"count": len(moments)}
    for what, allowed_s in (
        ("gone", campaign.allowed.gone[fault]),
        ("whole", campaign.allowed.whole[fault]),
    ):
        seconds = [getattr(moment, f"{what}_s") for moment in moments]
        row |= {
            f"{what}_median_s": statistics.median(seconds),
            f"{what}_max_s": max(seconds),
            f"{what}_allowed_s": allowed_s,
        }
        row[f"{what}_late"] = sum(taken_s > allowed_s for taken_s in seconds)
    early = [moment.at_first for moment in moments if moment.at_first is not None]
    row["at_first"] = ratio(early, undisturbed).value if early and undisturbed else None
    row |= {
        **told(after(moments, undisturbed, CONFIDENCE)),
        "slower": slower(after(moments, undisturbed, beyond_chance)),
    }
    return {
        **row,
        "matches_ended_before": sum(moment.ended for moment in moments),
        "starts_missed": sum(moment.missed for moment in moments),
    }


def after(
    moments: Sequence[Moment], undisturbed: Sequence[float], confidence: float
) -> Ratio | None:
    return (
        ratio([moment.after for moment in moments], undisturbed, confidence)
        if moments and undisturbed
        else None
    )


def slower(speed_ratio: Ratio | None) -> bool:
    """Whether the ratio is below SHARE, and below 1 beyond chance."""
    return speed_ratio is not None and speed_ratio.value < SHARE and speed_ratio.high < 1.0


def told(speed_ratio: Ratio | None) -> dict[str, float | None]:
    if speed_ratio is None:
        return dict.fromkeys(("after", "low", "high"))
    return {
        "after": speed_ratio.value,
        "low": finite(speed_ratio.low),
        "high": finite(speed_ratio.high),
    }


def finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def complaints(campaign: Campaign) -> list[str]:
    """One text for everything that is not as it must be."""
    texts = []
    for fault, row in table(campaign).items():
        texts += [
            f"{fault}: {row[f'{what}_late']} of {row['count']} {words}"
            for what, words in LATE.items()
            if row[f"{what}_late"]
        ]
        if row["slower"]:
            texts.append(
                f"{fault}: {row['after']:.1%} of the speed of undisturbed moments, when it "
                "should be back"
            )
    return texts + slow_afterwards(campaign) + slow_for_good(campaign)


def slow_afterwards(campaign: Campaign) -> list[str]:
    """A complaint unless all faults together are shown to leave the training as fast as before."""
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
    """A complaint when faults have slowed the training for good.

    A lasting loss is also in the undisturbed moments among the faults, but not in the minutes
    before the first fault or after a new start. The speed of trainings and machines changes without
    faults as well, so only a difference beyond chance counts.
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
                "were not measured"
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
    """The report as text; seconds stand as median / greatest / allowed."""
    speed, counted = report["speeds"], report["counted"]
    texts = [
        f"{report['seconds']:.0f} s; "
        + ", ".join(f"{count:,} {what}" for what, count in counted.items())
    ]
    before, between, at_last, resumed = (
        whole(speed[f"{name}_rows_per_s"])
        for name in ("calm_before", "undisturbed", "calm_after", "calm_resumed")
    )
    texts.append(
        f"rows/s: {before} before the first fault, {between} at {report['undisturbed']} "
        f"undisturbed moments, {at_last} after the last fault,"
    )
    texts[-1] += f" {resumed} when started anew"
    texts.append(
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
        texts.append(
            "  "
            f"{fault:<15}{row['count']:>6}{seconds}{share(row['at_first']):>10}{interval(row):>26}{counts}"
        )
    texts.append(
        "  "
        f"{'all':<15}{sum(row['count'] for row in report['faults'].values()):>6}"
        f"{'':>56}{interval(speed):>26}"
    )
    texts += [f"  WRONG  {complaint}" for complaint in report["complaints"]]
    texts += [
        f"  {'ok    ' if not wrong else 'WRONG '} {check}{'' if not wrong else f': {wrong}'}"
        for check, wrong in report["checks"].items()
    ]
    return texts + ([f"  FAILED {report['failure'].splitlines()[0]}"] if report["failure"] else [])


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
