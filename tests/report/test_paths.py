"""A page of a suite with two perspectives: flags, bars, a paper's tables, films without a truth, infinite values."""

import json
import re
from pathlib import Path

import pytest

from report.outline import Outline, between, words_of
from report.toypaths import ERROR, KEYS, PAPER


@pytest.fixture(scope="module")
def text(path_page: Path) -> str:
    return path_page.read_text(encoding="utf-8")


def card(text: str, task: str) -> str:
    found = re.findall(r'<details class="walk".*?</details>\n', text, re.S)
    return next(one for one in found if f'aria-label="Scores of {task}"' in one)


def test_the_flagged_win_nothing(text: str) -> None:
    table = between(text, 'id="headline-caption"', "</table>")
    rows = dict(re.findall(r'class="label">([^<]*)<(.*?)</tr>', table, re.S))
    assert {name for name, row in rows.items() if 'class="chip flag"' in row} == {"oracle", "freeze"}
    assert {name for name, row in rows.items() if "best of its column" in row} == {"memory"}
    matrix = between(text, 'class="matrix"', "</table>")
    assert matrix.count('class="chip flag"') == 2
    assert re.search(r'id="ranking-d">truth: rank [^;]*;.*oracle: no rank, pose-conditioned', text)
    said = words_of(between(text, "<h1>", "</header>"))
    # So few clips cannot show more, once p-values are corrected for all pairs.
    assert "None of 3 models redraws what it has seen" in said
    assert "Not in the running: oracle (pose-conditioned) and freeze (does not move)." in said


def test_tables_and_panels_of_their_columns(text: str) -> None:
    assert words_of(between(text, '<h2 id="result-h"', "</h2>")).split(">")[-1].strip() == "MSE by perspective"
    panels = between(text, '<section id="frames"', "</section>")
    assert re.findall(r"<figcaption>([^<]*)</figcaption>", panels) == ["first", "third"]
    part = between(text, "<summary>Error of a step", "</details>")
    assert part.index('class="chart bars"') < part.index("<table")
    assert part.count('class="bar k') == 10 * len(KEYS) - 1, "one cell has no mean"
    assert "1 model is only in the table" in words_of(part)
    assert "one without a cap goes on beyond the axis" in words_of(part)
    assert "does not move" in between(part, '<ul class="names"', "</ul>")
    assert text.count('class="chart bars"') == 1
    for perspective in ("first", "third"):
        part = between(text, f"<summary>Paper's columns, {perspective} person".replace("'", "&#39;"), "\n  </details>")
        own, printed = part.split("Published, other data")
        assert "walker" in own
        assert "Small World" in printed
        assert f"{perspective} person" in printed
        heads = [re.findall(r'<th scope="col">([^<]*) <span', half) for half in (own, printed)]
        assert heads[0] == heads[1] == list(PAPER)
        widths = re.findall(r'style="width: (max\([^"]*\))"', part)
        assert len(widths) == 2
        assert len(set(widths)) == 1, "columns stand under columns"
    assert "published only" not in text


def test_small_and_infinite_values(text: str) -> None:
    table = between(text, 'id="headline-caption"', "</table>")
    rows = dict(re.findall(r'class="label">([^<]*)<(.*?)</tr>', table, re.S))
    assert all(
        re.fullmatch(r"0\.\d{4}", mean) for row in rows.values() for mean in re.findall(r'class="mean">([^<]*)', row)
    )
    assert "Infinite values of single frames" not in text, "the headline has none"
    said = words_of(card(text, "first/memory/0"))
    assert "psnr: infinite in single frames, which are not on the curve" in said
    data = json.loads(re.search(r"-data\">(.*?)</script>", card(text, "first/memory/0"), re.S)[1])
    curve = next(c for c in data["curves"] if c["name"] == "mse")
    most = max(v for line in curve["lines"].values() for _, v in line)
    assert most <= curve["range"][1] < 2 * most


def test_cards_of_tasks_without_a_truth_or_data(text: str) -> None:
    part = card(text, "first/mirror/0")
    names = re.findall(r'<span class="label">([^<]*)</span>', between(part, 'class="tiles"', 'class="controls"'))
    assert names[0] == "start image"
    assert set(names[1:]) == set(ERROR), "who saw the truth is shown, where it is not shown itself"
    data = json.loads(re.search(r"-data\">(.*?)</script>", part, re.S)[1])
    assert data["length"] == 48, "as long as most films"
    assert "Most videos last 2.0 s, dreamer 1.0 s and leaky-walker-7b 3.0 s" in words_of(part)
    assert 'class="walker"' in part, "who stands where the image was taken"
    part = card(text, "first/mirror/1")
    assert "The ground truth is not shown: the &lt;start image&gt; of this path cannot be read" in part
    assert part.count("<canvas") == len(ERROR)
    assert 'class="mapbox"' not in part
    legend = between(text, 'aria-label="Follow a model"', "</div>")
    inked = re.findall(r'swatch k0 ref" aria-hidden="true"></span>([^<]*)<', legend)
    assert inked == ["truth"]


def test_cards_have_their_own_scores_and_the_page_is_sound(text: str, path_page: Path) -> None:
    heads = {
        kind: re.findall(
            r"<th scope=\"col\">([a-z]+)", between(card(text, f"first/{kind}/0"), "<caption>Scores", "</thead>")
        )
        for kind in ("memory", "mirror")
    }
    assert heads == {"memory": ["mse", "psnr"], "mirror": ["consistency"]}
    strip = between(card(text, "first/mirror/0"), '<svg viewBox="0 0 160 16"', "</svg>")
    assert strip.count("<circle") == len(ERROR), "by its own first metric"
    outline = Outline(text)
    assert outline.open == []
    ids = [a["id"] for _, a in outline.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert path_page.stat().st_size < 4_000_000
