"""Tables and pictures of docs/explanation/metric_sensitivity.md, from the stored values of `benchmarks.changes`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.changes import (
    CHANGES,
    HEADLINES,
    LOWER,
    TASKS,
    TRUTH,
    Summary,
    Values,
    kind_of,
    markdown,
    shown,
    summaries,
    table,
)
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import run_label
from worldgauge.report import svg

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "explanation" / "metric_sensitivity.md"
DETAILS = Path(__file__).parent / "results" / "metric_sensitivity.md"
"""The page with the value of every change."""
CHART, STRIP = DOCS / "images" / "metric_sensitivity.svg", DOCS / "images" / "metric_sensitivity.jpg"
TITLES = {"loopnav": "LoopNav", "mind": "MIND", "targetbench": "Target-Bench"}
TITLES |= {task: f"World-in-World {task.partition('/')[2]}" for task in TASKS}
INK, PALE, HARMLESS_INK, REAL_INK = "#222222", "#777777", "#0b6bcb", "#c2410c"
"""Of pictures on a white ground, so that they look alike on light and dark pages."""
WIDTH, LEFT, RIGHT, ROW, TOP = 910, 285, 740, 46, 34
COLUMNS, TILE, CAPTION_PX = 5, (240, 135), 36
SHARE = 0.6
"""Of the video, where its frame is shown."""


def write(found: Mapping[str, Values], folder: Path | None) -> None:
    """Write the tables and the chart; and the strip of frames, if `folder` has the videos of LoopNav."""
    for page in (PAGE, DETAILS):
        page.write_text(filled(page.read_text("utf-8"), found), "utf-8")
    CHART.write_text(chart(summaries(found)) + "\n", "utf-8")
    if folder is not None:
        strip(folder / "loopnav" / "runs", found["loopnav"]).save(STRIP, quality=72, optimize=True)


def filled(page: str, found: Mapping[str, Values]) -> str:
    """The page with each table between its two marks replaced."""
    tables = {"violations": violations(found), "wrong": wrong_pairs(found)}
    tables |= {suite: table(measured) for suite, measured in found.items()}
    for name, text in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        page = re.sub(pattern, lambda match, text=text: f"{match[1]}{text}{match[2]}", page, flags=re.DOTALL)
    return page


def violations(found: Mapping[str, Values]) -> str:
    """A row per metric: its violations, the worst harmless change and the best real one."""
    lines = [["suite", "metric", "n", "violations", "of single tasks", "worst harmless", "best real"], ["---"] * 7]
    for (suite, metric), summary in summaries(found).items():
        name = f"**{metric}**" if HEADLINES[suite] == metric else metric
        worst, best = extremes(metric, summary)
        cells = [f"{change}, {shown(summary.means[change])}" for change in (worst, best)]
        count = f"{len(summary.wrong)} of {summary.pairs}"
        share = f"{100 * summary.wrong_share:.1f} %"
        lines.append([TITLES[suite], name, str(len(found[suite].clusters)), count, share, *cells])
    return markdown(lines)


def wrong_pairs(found: Mapping[str, Values]) -> str:
    """A line per violation."""
    wrong = [
        f"- {TITLES[suite]}, {metric}: {one} ({shown(summary.means[one])}) is not better than {other} "
        f"({shown(summary.means[other])})."
        for (suite, metric), summary in summaries(found).items()
        for one, other in summary.wrong
    ]
    return "\n".join(wrong or ["No pair of means is in the wrong order."])


def extremes(metric: str, summary: Summary) -> tuple[str, str]:
    """The worst harmless change and the best real one."""
    sign = -1 if metric in LOWER else 1
    ranked = sorted(
        (change for change, value in summary.means.items() if not np.isnan(value)),
        key=lambda change: sign * summary.means[change],
    )
    by_kind = {kind: [change for change in ranked if kind_of(change) == kind] for kind in ("harmless", "real")}
    return by_kind["harmless"][0], by_kind["real"][-1]


def chart(found: Mapping[tuple[str, str], Summary]) -> str:
    """A row per metric from its worst value to its best, as one SVG file."""
    parts = [
        svg.tag("rect", width=WIDTH, height=TOP + ROW * len(found) + 8, fill="white"),
        _text(LEFT, 18, "harmless changes (above)", HARMLESS_INK),
        _text(LEFT + 190, 18, "real changes (below)", REAL_INK),
        _text(RIGHT, 18, "● ground truth", INK, "end"),
    ]
    for row, ((suite, metric), summary) in enumerate(found.items()):
        middle = TOP + ROW * row + ROW / 2
        values = {change: value for change, value in summary.means.items() if kind_of(change) in ("harmless", "real")}
        values = {change: value for change, value in values.items() if not np.isnan(value)}
        ends = sorted((summary.means[TRUTH], *values.values()), reverse=metric in LOWER)
        worst, best, truth = ends[0], ends[-1], summary.means[TRUTH]
        scale = svg.Scale(worst, best, LEFT, RIGHT)
        parts += [
            _text(
                12, middle + 4, f"{TITLES[suite]}: {metric}", INK, weight="bold" if HEADLINES[suite] == metric else None
            ),
            svg.tag("line", x1=LEFT, x2=RIGHT, y1=middle, y2=middle, stroke=PALE),
            _text(LEFT - 6, middle + 4, shown(worst), PALE, "end", 11),
            _text(RIGHT + 6, middle + 4, shown(best), PALE, size=11),
            svg.tag("circle", cx=scale(truth), cy=middle, r=3.5, fill=INK),
            _text(WIDTH - 12, middle + 4, _count(summary), INK, "end"),
        ]
        for change, value in values.items():
            up = kind_of(change) == "harmless"
            at, ink = scale(value), HARMLESS_INK if up else REAL_INK
            line = {"x1": at, "x2": at, "y1": middle, "y2": middle + (-12 if up else 12)}
            parts.append(
                svg.tag(
                    "g",
                    svg.tag("title", f"{change}: {shown(value)}"),
                    svg.tag("line", **line),
                    stroke=ink,
                    stroke_width=2.5,
                )
            )
        worst_harmless, best_real = extremes(metric, summary)
        parts += [
            _text(scale(values[worst_harmless]) - 4, middle - 5, worst_harmless, HARMLESS_INK, "end", 11),
            _text(scale(values[best_real]) + 4, middle + 13, best_real, REAL_INK, size=11),
        ]
    text = "; ".join(f"{TITLES[suite]} {metric}: {_count(one)}" for (suite, metric), one in found.items())
    drawn = svg.picture("reactions", WIDTH, TOP + ROW * len(found) + 8, "Harmless and real changes", text, *parts)
    return str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)


def _count(summary: Summary) -> str:
    return f"{len(summary.wrong)} violation{'' if len(summary.wrong) == 1 else 's'}"


def _text(
    x: float, y: float, text: str, ink: str, anchor: str = "start", size: int = 13, weight: str | None = None
) -> object:
    return svg.tag("text", text, x=round(x, 1), y=y, fill=ink, text_anchor=anchor, font_size=size, font_weight=weight)


def strip(runs: Path, measured: Values) -> Image.Image:
    """One frame of a loop under each change, with the means of the headline and of SSIM below."""
    record = sorted(path.name for path in (runs / run_label(TRUTH) / "records").iterdir())[0]
    changes = (TRUTH, *CHANGES)
    height = TILE[1] + CAPTION_PX
    sheet = Image.new("RGB", (COLUMNS * TILE[0], -(-len(changes) // COLUMNS) * height), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for number, change in enumerate(changes):
        left, top = number % COLUMNS * TILE[0], number // COLUMNS * height
        clip = Clip.open(runs / run_label(change) / "records" / record / "rollout.mp4")
        sheet.paste(
            Image.fromarray(clip[round(SHARE * (len(clip) - 1))]).resize((TILE[0] - 4, TILE[1] - 4)),
            (left + 2, top + 2),
        )
        ink = {"harmless": HARMLESS_INK, "real": REAL_INK}.get(kind_of(change), INK)
        pairs = ((name, np.mean(measured.values[name][change])) for name in (HEADLINES["loopnav"], "SSIM"))
        means = [f"{name} {value:.2f}".replace("-0.00", "0.00") for name, value in pairs]
        draw.text((left + 4, top + TILE[1] - 2), change, ink, font)
        draw.text((left + 4, top + TILE[1] + 14), ", ".join(means), INK, font)
    return sheet
