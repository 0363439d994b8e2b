"""The pure parts of a report: escaping, axes, charts, families of weights."""

from random import Random

import pytest

from arena.report.axes import linear, logarithmic, upto
from arena.report.chart import ChartLine, ChartPoint, LineChart, drawn
from arena.report.html import OPEN_ROWS, Markup, long_table, table, tag
from arena.report.lanes import MemberCopy, families, lanes
from arena.report.many import FEW, of_members
from arena.report.words import share_text, strength_text
from tests.arena.report.pages import PageReader

BAD = '<script>alert("1")</script>&\''


def test_text_is_escaped_wherever_it_stands() -> None:
    made = tag("p", BAD, [BAD, ("x", BAD)], title=BAD) + table((BAD,), [(BAD,)], caption=BAD)
    reader = PageReader(made)
    assert "script" not in reader.elements and not reader.asking
    assert reader.text.count("alert") == 6
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>"
    assert tag("i", None, class_="a", stroke_width=2, title=None) == (
        '<i class="a" stroke-width="2"></i>'
    )


def test_a_long_table_keeps_all_its_rows() -> None:
    rows = [(f"row {at}",) for at in range(OPEN_ROWS + 3)]
    made = long_table(("name",), rows, caption="rows")
    text = PageReader(made).text
    assert all(name in text for (name,) in rows) and "3 more" in text
    assert "details" not in PageReader(long_table(("name",), rows[:3], caption="rows")).elements


def test_axes_hold_their_values_and_their_ticks_are_few() -> None:
    rng = Random(0)
    for _ in range(300):
        values = [rng.uniform(-1, 1) * 10 ** rng.randint(-6, 9) for _ in range(rng.randint(0, 5))]
        axis = linear(values)
        assert 2 <= len(axis.ticks) <= 8
        assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value in (*values, *axis.ticks))
        above = [abs(value) or 1.0 for value in values] or [1.0]
        log = logarithmic(above)
        assert 2 <= len(log.ticks) <= 7
        assert all(-1e-9 <= log.place(value) <= 1 + 1e-9 for value in (*above, *log.ticks))
        most = upto(abs(values[0]) if values else 0)
        assert 1 <= len(most.ticks) <= 6 and most.ticks[-1] <= most.high * (1 + 1e-9)
    assert linear([3.0, 3.0]).place(3.0) == pytest.approx(0.5)


def test_a_chart_is_whole_for_any_lines() -> None:
    for lines in (
        [],
        [ChartLine(BAD, [ChartPoint(0, 1.0)])],
        [ChartLine("a", [ChartPoint(0, 1.0, 0.5, 2.0), ChartPoint(10, 3.0)], 0, marks=[(5, 2.0)])],
    ):
        made = drawn(LineChart(f"title {BAD}", lines))
        reader = PageReader(made)
        assert "script" not in reader.elements and "nan" not in made
        assert f"title {BAD}" in reader.text


def test_a_value_that_holds_is_drawn_as_steps() -> None:
    line = ChartLine("a", [ChartPoint(0, 1.0), ChartPoint(10, 2.0)], 0, steps=True, bare=True)
    made = drawn(LineChart("a", [line]))
    assert "H" in made and "circle" not in made


def many(count: int) -> dict[str, list[ChartPoint]]:
    return {
        f"m{at}": [ChartPoint(0, float(at), at - 1, at + 1), ChartPoint(100, 2.0 * at)]
        for at in range(count)
    }


def test_few_members_have_a_colour_each_and_of_many_three_have_a_name() -> None:
    lines, band = of_members(many(FEW), "m1")
    assert [line.label for line in lines] == list(many(FEW)) and not band
    assert len({line.hue for line in lines}) == FEW
    lines, band = of_members(many(FEW + 1), "m3")
    named = [line for line in lines if line.label]
    assert len(lines) == FEW + 2 and len(named) == 3
    assert named[0].label == "lowest now: m0" and named[-1].label == "best: m3"
    assert len(band) == len(named[1].points) > 2
    assert named[1].points[0].y == 4.0
    assert all(one.low <= one.y <= one.high for one in band)  # type: ignore[operator]


def test_weights_descend_from_the_member_that_was_copied_then() -> None:
    copies = [
        MemberCopy("m1", 100, "m0", 90, 1, "why", {}, 1.0),
        MemberCopy("m2", 200, "m1", 50, 1, "before m1 copied", {}, 2.0),
        MemberCopy("m0", 300, "m1", 150, 2, "after m1 copied", {}, 3.0),
    ]
    found = families(["m0", "m1", "m2"], copies)
    assert found == {
        "m0": [(0, 0), (300, 0)],
        "m1": [(0, 1), (100, 0)],
        "m2": [(0, 2), (200, 1)],
    }
    made = lanes({"m0": 400, "m1": 400, "m2": 400}, copies, [])
    assert isinstance(made, Markup) and made.count('class="arc"') == 3
    assert "3 members, 3 copies" in made


def test_intervals_without_an_end_are_bounds() -> None:
    assert strength_text(636.2, 503, None, "elo") == ">= +503"
    assert strength_text(312, 250, 374, "elo") == "+312 [+250, +374]"
    assert strength_text(1.0, None, None, "margin") == "-"
    assert strength_text(12.5, 10, 15, "return") == "12.5 [10, 15]"
    assert share_text(0.625, 0.55, 0.695) == "62.5 % [55.0, 69.5]"
