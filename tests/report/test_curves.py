import math
from xml.etree import ElementTree

import numpy as np
import pytest

from worldgauge.report import curves
from worldgauge.report.curves import ChartLine, ForestRow, ScatterPoint, SeriesStyle, mean_curve

A, B = SeriesStyle("s0", "k1", "a <b>"), SeriesStyle("s1", "k2", "b", baseline=True)


def test_mean_curve_of_all_that_is_known() -> None:
    # Two trajectories of 14 frames: every frame is a stretch of its own.
    one = [(t, 0.2) for t in range(14)]
    two = [(t, 0.6) for t in range(14)]
    points = mean_curve([one, two])
    assert [p[0] for p in points] == list(range(14))
    assert points[3] == (3.0, pytest.approx(0.4), None, None), "two trajectories have no interval worth a band"
    dense = [(t, 1.0) for t in range(140)]
    sparse = [(t, 0.0) for t in range(0, 140, 5)]
    assert all(mean == pytest.approx(0.5) for _, mean, _, _ in mean_curve([dense, sparse]))
    long, short = [(t, 1.0) for t in range(140)], [(t, 1.0) for t in range(70)]
    assert mean_curve([long, short, short])[-1][0] < 75
    assert mean_curve([long, long, short])[-1][0] > 130
    assert mean_curve([]) == ()
    assert mean_curve([[(0, None), (1, math.inf)]]) == ()
    ((x, mean, low, high),) = mean_curve([[(0, None), (1, 0.5)]])
    assert (x, mean, low, high) == (1.0, 0.5, None, None)
    points = mean_curve([[(t, math.inf if t < 7 else 30.0) for t in range(14)], [(t, 20.0) for t in range(14)]])
    assert [mean for _, mean, _, _ in points] == [20.0] * 7 + [25.0] * 7


def test_the_band_is_the_interval_over_clusters() -> None:
    rng = np.random.default_rng(0)
    spread = rng.normal(0.5, 0.1, 25)
    ((_, mean, low, high), *_) = mean_curve([[(t, float(v)) for t in range(14)] for v in spread])
    assert mean == pytest.approx(spread.mean())
    assert low is not None
    assert high is not None
    # Student's t of 24 degrees of freedom, by hand.
    reach = 2.064 * spread.std(ddof=1) / 5
    assert (mean - low, high - mean) == (pytest.approx(reach, rel=0.15), pytest.approx(reach, rel=0.15))
    lines = [[(t, float(v)) for t in range(14)] for v in np.random.default_rng(0).normal(0.5, 0.1, 24)]
    alone, threes, twelves = (mean_curve(lines, [str(k // size) for k in range(24)])[0] for size in (1, 3, 12))
    assert alone == mean_curve(lines)[0]
    assert alone[1] == threes[1] == twelves[1]
    assert None not in threes
    assert twelves[2:] == (None, None)


def parse(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(str(chart))


def test_line_charts_are_whole_and_looks_differ() -> None:
    lines = [
        ChartLine(A, ((0.0, 0.2, 0.1, 0.3), (10.0, 0.4, 0.3, 0.5))),
        ChartLine(B, ((0.0, 0.9, None, None),)),
        ChartLine(B, ()),
    ]
    root = parse(curves.line_chart("c", "t", "d", lines, x_label="x", y_label="y", unit=True))
    groups = [g for g in root.iter("g") if "curve" in g.get("class", "")]
    assert [g.get("data-model") for g in groups] == ["s0", "s1"]
    assert "ref" in groups[1].get("class", "")
    assert any(text.text == "a <b>" for text in root.iter("text"))
    looks = [curves.look(place) for place in range(30)]
    assert len(set(looks)) == 30
    assert looks[:10] == [f"k{k}" for k in range(1, 11)]
    assert looks[10] == "k1 d1"


def test_a_higher_score_is_drawn_higher() -> None:
    lines = [
        ChartLine(A, ((0.0, 0.2, None, None), (1.0, 0.2, None, None))),
        ChartLine(B, ((0.0, 0.9, None, None),) * 2),
    ]
    root = parse(curves.line_chart("c", "t", "d", lines, x_label="x", y_label="y", unit=True))
    heights = [
        float(line.get("points", "").split()[0].split(",")[1])
        for line in root.iter("polyline")
        if line.get("class") == "line"
    ]
    assert heights[0] > heights[1]


def test_scatter_goes_logarithmic_and_zero_is_a_bound() -> None:
    near = [ScatterPoint(A, 0.8, 0.5, (0.4, 0.6)), ScatterPoint(B, 1.0, 0.9, cloud=[(1.1, 0.8)])]
    assert "logarithmic" not in curves.scatter("c", "t", "d", near, x_label="x", y_label="y")
    far = [*near, ScatterPoint(B, 0.01, 0.1, remark="<i>")]
    chart = curves.scatter("c", "t", "d", far, x_label="x", y_label="y")
    assert "logarithmic" in chart
    assert "<i>" not in chart
    parse(chart)
    root = parse(curves.whisker(A, -0.5, -1.0, 0.0, (-1.0, 1.0)))
    reach = next(path.get("d") for path in root.iter("path") if path.get("class") == "reach")
    assert reach == "M3.0 5H48.0"


def test_forests_strips_and_spots_draw_every_model() -> None:
    rows = [ForestRow(A, "1. a", 0.5, 0.4, 0.6), ForestRow(B, "b", -0.1, None, None, "does not <move>")]
    root = parse(curves.forest("c", "t", "d", rows, x_label="x"))
    assert len(list(root.iter("circle"))) == 2
    assert [t.text for t in root.iter("text") if t.get("class") == "remark"] == ["does not <move>"]
    root = parse(curves.strip({"a": A, "b": B}, {"a": 0.5, "b": None}, (0, 1)))
    assert len(list(root.iter("circle"))) == 1
    spots = [ScatterPoint(A, 1.0, 0.5, (0.4, 0.6), across=(0.0, 3.0)), ScatterPoint(B, 2.0, 0.5)]
    drawn = ElementTree.fromstring(str(curves.scatter("s", "t", "d", spots, x_label="x", y_label="y")))
    ways = [p.get("d", "") for p in drawn.iter("path") if p.get("class") == "reach"]
    assert len(ways) == 2
    left, right = (float(v) for v in ways[1].removeprefix("M").replace("H", " ").split(" ")[::2])
    dots = [float(c.get("cx", "0")) for c in drawn.iter("circle") if c.get("class") == "dot"]
    assert right - left == pytest.approx(3 * (dots[1] - dots[0]), abs=0.5)


@pytest.mark.parametrize("top", [1.0, 25.0, 2500.0, 250000.0])
def test_the_name_of_the_y_axis_stands_clear_of_the_longest_number(top: float) -> None:
    """The name is turned and about 15 px wide from the left edge; a digit takes some 6.4 px."""
    line = ChartLine(A, ((0.0, 0.0, None, None), (9.0, top, None, None)))
    chart = curves.line_chart("c", "t", "d", [line], x_label="x", y_label="y", unit=False)
    spot = curves.scatter(
        "s", "t", "d", [ScatterPoint(A, 1.0, 0.0), ScatterPoint(B, 2.0, top)], x_label="x", y_label="y"
    )
    for drawn in (chart, spot):
        texts = [t for t in ElementTree.fromstring(str(drawn)).iter("text") if t.get("text-anchor") == "end"]
        numbers = [t for t in texts if (t.text or "").replace(".", "").isdigit()]
        assert len(numbers) >= 3
        assert min(float(t.get("x", "0")) - 6.4 * len(t.text or "") for t in numbers) > 14
