import re
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.errors import RunError
from worldgauge_lab.validate_metrics.page import plot, render_metric_study, write_metric_study
from worldgauge_lab.validate_metrics.results import (
    CHANGE,
    KEEP,
    STRENGTHS,
    THINGS_CHANGE,
    MetricRow,
    MetricStudy,
    PerturbationColumn,
    curves_of,
    selectivity_of,
)

UNITS = [f"scene {k}" for k in range(6)]
KINDS = {**dict.fromkeys(KEEP, "keeps"), **dict.fromkeys((*CHANGE, *THINGS_CHANGE), "changes"), "noise": "degrades"}


def column(name, reason=None):
    kind = "moves" if name == "step_aside" else KINDS[name]
    return PerturbationColumn(name, kind, f"what {name} does", {s: f"{s:g} of <{name}>" for s in STRENGTHS}, reason)


def row(metric, rng, changes):
    drops = {
        name: {s: s * (changes if kind == "changes" else 0.2) + rng.normal(0, 0.01, 6) for s in STRENGTHS}
        for name, kind in KINDS.items()
    }
    drops["swap"][4.0][:] = np.nan
    both = (selectivity_of(drops, UNITS, which) for which in (CHANGE, THINGS_CHANGE))
    return MetricRow(metric, "higher", False, 0.5, curves_of(drops, UNITS, frozenset({"noise"})), *both)


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    pictures = [np.full((9, 16, 3), 40 * k, np.uint8) for k in range(6)]
    return MetricStudy(
        "6 drawn <scenes>",
        6,
        6,
        0,
        (*map(column, KINDS), column("step_aside", "nowhere to walk")),
        (row("keen", rng, 0.9), row("dull", rng, -0.1), MetricRow("lpips_alex", "lower", reason="pull <it>")),
        dict.fromkeys(KINDS, (*pictures[:5], None)),
    )


def test_page_holds_table_curves_pictures_numbers_and_what_is_missing(study):
    page = render_metric_study(study, "worldgauge validate-metric all")
    assert page.count('class="panels"') == 1
    assert len(re.findall(r'id="curve-(keen|dull)-t"', page)) == 2
    assert page.count("data:image/webp;base64,") == len(KINDS)
    assert page.count('<th scope="row" class="who">noise</th>') == 2
    assert "pull &lt;it&gt;" in page
    assert "nowhere to walk" in page
    assert "worldgauge validate-metric all" in page
    assert "n = 6 scenes" in page
    assert "not in this frame" in page
    assert "6 skipped" in page


def test_page_asks_the_network_for_nothing_and_escapes(study):
    page = render_metric_study(study)
    assert "<scenes>" not in page
    assert "of <" not in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<script" not in page


def test_stronger_responses_are_stronger_colours_and_negative_ones_none(study):
    page = render_metric_study(study)
    shades = [[float(s) for s in re.findall(r'style="--r:([\d.]+)"', line)] for line in page.split("<tr>")]
    keen, dull = (each for each in shades if each)
    place = list(KINDS).index("deletion")
    assert keen[place] == pytest.approx(0.9, abs=0.02)
    assert dull[place] == 0.0
    assert "blind" in page


def test_page_of_a_study_without_any_metric(study):
    bare = replace(study, rows=study.rows[2:], examples={})
    page = render_metric_study(bare)
    assert "pull &lt;it&gt;" in page
    assert "What was shown" in page


def test_written_whole_and_the_same_bytes(study, tmp_path):
    path = write_metric_study(study, tmp_path / "new" / "page.html")
    assert path.read_text("utf-8") == render_metric_study(study)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError):
        write_metric_study(study, tmp_path / "file" / "page.html")


def test_plot_is_one_file_that_stands_alone(study):
    from xml.etree import ElementTree

    drawn = plot(study, ["keen"])
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert "curve-keen-t" in drawn
    assert "curve-dull-t" not in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert "curve-dull-t" in plot(study)


def test_name_of_a_drawing_gives_the_drawing(study, tmp_path):
    assert write_metric_study(study, tmp_path / "curves.svg").read_text("utf-8") == plot(study)
