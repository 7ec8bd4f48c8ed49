"""A page of a suite that plans paths: several metrics in one table, paths on maps, stills, diagnostics."""

import base64
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from report.outline import Outline, between, words_of
from report.toyplans import FRAMES, SAYS, ToyPlans, write_plans
from worldgauge.core.errors import DataError, UsageError
from worldgauge.engine.suite.contract import TaskDetails
from worldgauge.report import write_report


@pytest.fixture(scope="module")
def text(plan_page: Path) -> str:
    return plan_page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outline(text: str) -> Outline:
    return Outline(text)


def card(text: str, number: int = 1) -> str:
    return between(text, f'<details class="walk" id="walk-{number}"', "application/json")


def test_columns_of_several_metrics(text: str) -> None:
    table = between(text, 'id="headline-caption"', "</table>")
    assert "Table 1, profile released, decoder toy" in table
    assert re.findall(r'class="turn" title="(.) ', table) == ["↓", "↓", "↑"]
    assert re.findall(r'class="label">([^<]*)<', table)[-1] == "true path itself"
    rows = {
        name: cells.count("best of its column")
        for name, cells in re.findall(r'class="label">([^<]*)<(.*?)</tr>', table, re.S)
    }
    # The truth and a yardstick that no run stands behind have better numbers, and compete with nobody.
    assert rows == {name: 3 * (name == "planner") for name in rows}
    assert "no direction" not in table
    table = between(text, 'id="headline-caption"', "</table>")
    strayer = re.search(r'class="label">strayer<(.*?)</tr>', table, re.S)
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', strayer[1])]
    assert min(places[:2]) > 80
    assert places[2] < 10


def test_the_verdict_goes_by_the_headline_in_the_words_of_the_suite(text: str, outline: Outline) -> None:
    headline = re.search(r"<h1>(.*?)</h1>", text, re.S)
    assert headline[1].startswith("planner is first of 3 models with overall score 0.")
    assert "Ranks and comparisons on this page go by overall score. Bold is the best" in words_of(text)
    assert "ADE (m) over generated frames" in "".join(outline.text)
    ranks = re.search(r'id="ranking-d">truth: rank [^,]*, 0\.\d+; planner', text)
    assert ranks is not None
    said = " ".join(" ".join(outline.text[outline.text.index("Skip to the summary") :]).split())
    assert "mean over scenarios" in said
    assert not re.search("trajector|way back|way out|remember|[Ww]alks|walked", said.split('"use strict"')[0])


def test_published_tables_and_counts(text: str) -> None:
    result = between(text, 'id="result"', "</section>")
    assert result.index("Published, other data") < result.index("Table 1 as published") < result.index("Sora 2")
    assert text.count("Table 1 as published") == 1
    by_profile = between(text, "<summary>By profile", "</details>")
    assert "as published" not in by_profile, "a second table of the metric is not the paper's"
    assert "Table 2, explicit" in between(text, 'id="all"', "</section>")
    table = between(text, "What became of the decoded paths", "</table>")
    assert "n = " not in table
    rows = {
        name: re.findall(r'class="mean">([^<]*)<', cells)
        for name, cells in re.findall(r'class="label">([^<]*)<(.*?)</tr>', table, re.S)
    }
    assert rows["planner"] == ["2", "0", "0", "0", "0"]
    assert rows["sleeper"] == ["0", "1", "0", "0", "1"]
    assert rows["vague"] == ["0", "0", "0", "2", "0"]


def test_a_word_that_is_written_nowhere_is_refused(
    plan_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyPlans, "vocabulary", {"taks": "scenario"})
    with pytest.raises(UsageError, match="did you mean task"):
        write_report([plan_runs], tmp_path)


def test_the_map_shows_every_path_and_says_who_has_none(text: str) -> None:
    drawn = ElementTree.fromstring(between(card(text), '<svg viewBox="0 0 3', "</svg>\n") + "</svg>")
    plans = [g for g in drawn.iter("g") if (g.get("class") or "").startswith("plan ")]
    assert len(plans) == len(SAYS) - 1 + 2, "all but vague, and two yardsticks"
    rings = [g for g in plans if not list(g.iter("polyline"))]
    assert len(rings) == 3, "sleeper, still and doing nothing stay where they are"
    (true,) = [p for p in drawn.iter("polyline") if p.get("class") == "way-back"]
    assert len(true.get("points", "").split()) == FRAMES
    (corridor,) = [g for g in drawn.iter("g") if g.get("class") == "corridor"]
    assert len(list(corridor)) == 20
    names = [t.text for t in drawn.iter("text")]
    assert {"start", "chair", "metres", "0", "2", "4"} <= set(names)
    legend = words_of(between(card(text), '<ul class="key"', "</ul>"))
    assert " ".join(legend.split()) == (
        "history truth path planner sleeper strayer truth still straight do nothing straight line corridor "
        "without a path: vague"
    )
    assert re.search(r"Not wholly on the map: strayer \(1\d m from its start\)", card(text))
    spoken = re.search(r'id="walk-1-map-d">(.*?)</desc>', text)
    assert re.search(r"sleeper ends 4\.\d+ m from the end of the true path", spoken[1])


def test_words_of_a_card(text: str) -> None:
    scores = words_of(between(card(text), "<caption>Scores of", "</thead>"))
    assert "path/ fde (m) ↓" in scores.replace("path/fde", "path/ fde")
    assert "lower is better" in scores
    assert "“Walk to the &lt;chair&gt; of room 0.”" in card(text)
    assert "Missing: path/ade and path/fde: no scale." in words_of(card(text))


def test_diagnostics_are_a_table_of_plain_words(text: str) -> None:
    table = between(card(text), "How each answer was read", "</table>")
    heads = [words_of(h).strip() for h in re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", table)]
    assert heads[1:] == [
        "status",
        "reason",
        "registered",
        "points per frame",
        "reprojection (px)",
        "scale",
        "stretched",
    ]
    assert "the &lt;anchor&gt; was not placed" in table
    vague = re.search(r'class="label">vague<(.*?)</tr>', table, re.S)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", vague[1]) == [
        "no_scale", "the &lt;anchor&gt; was not placed", "17 of 17", "41.30", "0.830", "–", "no",
    ]  # fmt: skip


def test_stills_and_films_of_a_card(text: str) -> None:
    found = Outline(card(text))
    images = found.all("img")
    assert len(images) == len(SAYS), "the ground truth, and all but the model that is the truth"
    assert (images[0]["alt"] or "").startswith("ground truth: 9 frames of 40, numbers 0, 4, 9,")
    assert any((i["alt"] or "").startswith("strayer: 9 frames of 20, numbers 0, 2, 4") for i in images)
    for image in images:
        kind, data = (image["src"] or "").split(",")
        assert kind == "data:image/webp;base64"
        picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
        assert f"{picture.shape[1]} {picture.shape[0]}" == f"{image['width']} {image['height']}"
    data = [json.loads(found) for found in re.findall(r'-data">(.*?)</script>', text)]
    assert [each["length"] for each in data] == [FRAMES] * 2
    assert [curve["name"] for curve in data[0]["curves"]] == ["ADE (m)"]
    assert max(x for line in data[0]["curves"][0]["lines"].values() for x, _ in line) < FRAMES
    said = words_of(card(text))
    assert "The ground truth lasts 4.0 s, strayer 2.0 s, vague 6.0 s, still 5.0 s and straight 5.0 s" in said


def test_pages_are_sound_and_repeat(
    plan_page: Path, text: str, outline: Outline, plan_runs: Path, tmp_path: Path
) -> None:
    assert outline.open == []
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?\s*(?:https?:)?//", text)
    assert all(image.get("alt") for image in outline.all("img"))
    ids = [a["id"] for _, a in outline.tags if a.get("id")]
    assert (len(ids), list(plan_page.parent.iterdir())) == (len(set(ids)), [plan_page])
    assert write_report([plan_runs], tmp_path).read_bytes() == plan_page.read_bytes()


def test_an_exhibit_that_cannot_be_made_leaves_the_rest(
    plan_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> TaskDetails:
        raise DataError("the <paths> are gone")

    monkeypatch.setattr(ToyPlans, "task_details", gone)
    made = write_report([plan_runs], tmp_path).read_text(encoding="utf-8")
    assert made.count("Paths and diagnostics are not shown: the &lt;paths&gt; are gone") == 2
    assert made.count('class="mapbox"') == 2
    assert "<img" not in made


def test_one_subject_alone_is_enough(tmp_path: Path) -> None:
    write_plans(tmp_path / "vague", "vague", each=1)
    made = write_report([tmp_path], tmp_path / "page").read_text(encoding="utf-8")
    assert Outline(made).open == []
    assert "vague has overall score 0.000" in made
    assert "without a path: vague" in made
