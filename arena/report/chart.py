"""Line charts as SVG. Pure: colours are those of the page's style, by number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arena.league.frames import frames_text
from arena.report.axes import ChartAxis, linear, logarithmic, upto
from arena.report.html import Markup, tag

WIDTH, HEIGHT = 480, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 40
HUES = 8


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """x, y, and the ends of the interval of y; an end that is None is not drawn."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart.

    label   its name; "" for one among many that is not named
    points  by x
    hue     number of its colour; None for grey
    steps   a value holds until the next one
    bare    no point is marked
    aside   pixels by which it is drawn to the right, so that intervals do not hide each other
    marks   (x, y) where a ring stands
    """

    label: str
    points: Sequence[ChartPoint]
    hue: int | None = None
    steps: bool = False
    bare: bool = False
    aside: float = 0.0
    marks: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class LineChart:
    """A line chart over frames.

    title      what it shows, with the unit
    lines      the later ones are drawn above
    band       an area between low and high
    log        the vertical axis is logarithmic; all values are above 0
    bounds     values that the vertical axis shows at least
    reference  a value at which a dashed line stands
    text       how a value is written
    """

    title: str
    lines: Sequence[ChartLine]
    band: Sequence[ChartPoint] = ()
    log: bool = False
    bounds: Sequence[float] = ()
    reference: float | None = None
    text: Callable[[float], str] = field(default=lambda value: f"{value:.4g}")


def drawn(chart: LineChart) -> Markup:
    """The chart as a figure, with the names of its lines below."""
    across, up = _axes(chart)
    svg = tag(
        "svg",
        _frame(chart, across, up),
        [_line(line, across, up) for line in chart.lines if not line.label],
        _band(chart.band, across, up),
        [_line(line, across, up) for line in chart.lines if line.label],
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=chart.title,
    )
    named = [line for line in chart.lines if line.label]
    legend = [
        tag("li", tag("i", class_=f"hue-{_hue(line)}" if line.points else "ring-key"), line.label)
        for line in named
    ]
    keys = tag("ul", legend, class_="legend") if len(named) > 1 else None
    return tag("figure", tag("figcaption", chart.title), svg, keys)


def _axes(chart: LineChart) -> tuple[ChartAxis, ChartAxis]:
    points = [point for line in chart.lines for point in line.points] + list(chart.band)
    ends = [end for one in points for end in (one.y, one.low, one.high) if end is not None]
    values = [*ends, *chart.bounds]
    across = upto(max((point.x for point in points), default=0))
    return across, (logarithmic if chart.log else linear)(values)


def _x(across: ChartAxis, value: float) -> float:
    return round(LEFT + across.place(value) * (WIDTH - LEFT - RIGHT), 1)


def _y(up: ChartAxis, value: float) -> float:
    return round(HEIGHT - BOTTOM - up.place(value) * (HEIGHT - TOP - BOTTOM), 1)


def _frame(chart: LineChart, across: ChartAxis, up: ChartAxis) -> list[Markup]:
    """The axes, their numbers, and the line of reference."""
    right, below = WIDTH - RIGHT, HEIGHT - BOTTOM
    made = []
    for tick in up.ticks:
        y = _y(up, tick)
        made.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        made.append(tag("text", chart.text(tick), x=LEFT - 6, y=y + 4, class_="end"))
    for tick in across.ticks:
        x = _x(across, tick)
        made.append(tag("line", x1=x, x2=x, y1=below, y2=below + 4, class_="grid"))
        at_end = "end" if x > right - 12 else "middle"
        made.append(tag("text", frames_text(round(tick)), x=x, y=below + 17, class_=at_end))
    made.append(tag("text", "frames", x=right, y=HEIGHT - 6, class_="end soft"))
    if chart.reference is not None and up.low <= chart.reference <= up.high:
        y = _y(up, chart.reference)
        made.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="reference"))
    return made


def _band(band: Sequence[ChartPoint], across: ChartAxis, up: ChartAxis) -> Markup | None:
    if not band:
        return None
    upper = [f"{_x(across, one.x)},{_y(up, one.high or 0.0)}" for one in band]
    lower = [f"{_x(across, one.x)},{_y(up, one.low or 0.0)}" for one in reversed(band)]
    return tag("polygon", points=" ".join([*upper, *lower]), class_="band")


def _line(line: ChartLine, across: ChartAxis, up: ChartAxis) -> Markup:
    places = [(_x(across, one.x), _y(up, one.y)) for one in line.points]
    path = "".join(
        f"H{x}V{y}" if line.steps and at else f"{'L' if at else 'M'}{x} {y}"
        for at, (x, y) in enumerate(places)
    )
    made = [tag("path", d=path, class_="line")] if path else []
    for one, (x, y) in zip(line.points, places, strict=True):
        if one.low is not None and one.high is not None:
            ends = {"y1": _y(up, one.low), "y2": _y(up, one.high)}
            made.append(tag("line", x1=x, x2=x, **ends, class_="interval"))
        if not line.bare:
            made.append(tag("circle", cx=x, cy=y, r=2.5, class_="point"))
    for x, y in line.marks:
        made.append(tag("circle", cx=_x(across, x), cy=_y(up, y), r=4.5, class_="ring"))
    aside = f"translate({line.aside:g} 0)" if line.aside else None
    return tag("g", made, class_=f"hue-{_hue(line)}", transform=aside)


def _hue(line: ChartLine) -> str:
    return "none" if line.hue is None else str(line.hue % HUES)
