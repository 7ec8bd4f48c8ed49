import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from worldgauge.report.svg import Scale, apart, picture, spread, tag


def test_elements_are_escaped_and_spoken() -> None:
    made = tag("text", "<script>alert('1')</script>", class_='"><b>')
    assert "<script>" not in made
    assert ElementTree.fromstring(str(made)).text == "<script>alert('1')</script>"
    assert ElementTree.fromstring(str(made)).attrib == {"class": '"><b>'}
    root = ElementTree.fromstring(str(picture("c1", 10, 20, "A & B", "what", tag("g"))))
    assert [child.text for child in root[:2]] == ["A & B", "what"]
    assert root.attrib["aria-labelledby"] == f"{root[0].attrib['id']} {root[1].attrib['id']}"


def test_scales_ranges_and_labels_apart() -> None:
    scale = Scale(0, 2, 100, 0)
    assert (scale(0), scale(1), scale(2)) == (100, 50, 0)
    log = Scale(0.1, 10, 0, 100, log=True)
    assert (log(1), Scale(3, 3, 0, 10)(3)) == (pytest.approx(50), 5)
    assert Scale(0, 1, 0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert Scale(0, 83, 0, 1).ticks(4) == pytest.approx([0, 50])
    assert all(0.3 <= t <= 4 for t in Scale(0.3, 4, 0, 1, log=True).ticks())
    assert spread([0.2, 0.9], zero=True, unit_top=True) == (0.0, 1.0)
    assert spread([0.0, 0.1], zero=True, unit_top=True)[1] == pytest.approx(0.106), "1 is too far to be shown"
    low, high = spread([3.0, 7.0])
    assert low < 3 < 7 < high
    assert spread([]) == (0.0, 1.0)
    low, high = spread([2.0, math.inf])
    assert low < 2 < high
    placed = apart([5.0, 5.0, 5.1, 50.0], 10, 0, 100)
    ordered = sorted(placed)
    assert all(b - a >= 9.99 for a, b in pairwise(ordered))
    assert placed[3] == 50.0
    assert min(placed) >= -0.01
