"""Checks of a Target-Bench folder: counts and statistics by label, and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import DataError
from worldgauge.core.image import png_size
from worldgauge.core.video import problems
from worldgauge.engine.collection import DataReport, DataTable, Finding, Spread, data_report, grouped, mean_text, spread
from worldgauge.suites.targetbench.format.read import discover_horizons, labels_beside, labels_file
from worldgauge.suites.targetbench.format.scenario import HORIZONS_S, Label, Scenario, open_video

PUBLISHED = {"all": 125, "explicit": 73, "implicit": 52}
"""Scenarios of the published benchmark (paper, section 3; the labels follow from tables 1 and 2)."""

LEAST_ANCHOR_M = 0.05
"""Below this no decoder can tell its scale from the history."""

ANCHOR_TOLERANCE = 0.05
FASTEST_M_S = 3.0


@dataclass(frozen=True)
class LabelStatistics:
    """The usable scenarios of one label; `published` is their number in the benchmark.

    History is before the current frame, path after it; `anchor_m` and `end_m` are their lengths in a straight line.
    """

    label: str
    scenarios: int
    published: int | None
    rows: Spread | None
    history_s: Spread | None
    anchor_m: Spread | None
    path_m: Spread | None
    end_m: Spread | None
    speed_m_s: Spread | None


def check(root: Path, *, decode: bool = False) -> DataReport:
    """Statistics and findings of a folder; pictures and videos are opened."""
    scenarios, *others = discover_horizons(root)
    valid = [scenario for scenario in scenarios if scenario.fault is None]
    later = {f"{h:g}": [s for s in found if s.fault is None] for h, found in zip(HORIZONS_S[1:], others, strict=True)}
    frames, of_files = _of_files(valid, decode)
    labels, broken = labels_beside(Path(root))
    findings = [
        *([] if scenarios else [Finding("error", f"holds no scenario folder of the form {_FORM}")]),
        *grouped("error", "not usable", ((s.id, s.fault) for s in scenarios if s.fault)),
        *grouped("warning", "usable", ((s.id, text) for s in valid for text in s.warnings if text != broken)),
        *grouped("warning", "odd", _odd_paths(valid)),
        *of_files,
        *_of_labels(Path(root), scenarios, labels, broken),
    ]
    for name, group in later.items():
        if len(group) < len(valid):
            text = f"{len(group)} of {len(valid)} usable scenarios have the horizon of {name} s"
            findings.append(Finding("info", text))
    rows, categories = list(_rows(scenarios)), Counter(scenario.category for scenario in valid)
    horizons = {"8": len(valid), **{name: len(group) for name, group in later.items()}}
    facts = {
        "n_scenarios": len(scenarios),
        "n_valid": len(valid),
        "n_frames": frames,
        "horizons": horizons,
        "categories": dict(sorted(categories.items())),
        "rows": [asdict(row) for row in rows],
    }
    notes = (
        "anchor: straight from the first frame to the current one; end: straight from there to the end of the path",
        f"usable by horizon: {', '.join(f'{seconds} s: {count}' for seconds, count in horizons.items())}; "
        f"{len(categories)} categories",
    )
    table = DataTable("means over usable scenarios", _COLUMNS, tuple(map(_table_row, rows)), notes)
    return data_report("scenarios", "n_scenarios", findings, table, facts)


_FORM = "<scene>_custom_segment_<start>_<end>"
_COLUMNS = (
    *("", "scenarios", "published", "rows"),
    *("history,\ns", "anchor,\nm", "path,\nm", "end,\nm", "speed,\nm/s"),
)


def _table_row(row: LabelStatistics) -> tuple[str, ...]:
    means = row.rows, row.history_s, row.anchor_m, row.path_m, row.end_m, row.speed_m_s
    return row.label, str(row.scenarios), str(row.published or "-"), *map(mean_text, means)


def _rows(scenarios: Sequence[Scenario]) -> Iterator[LabelStatistics]:
    for label in ("all", "explicit", "implicit", "unknown"):
        group = [scenario for scenario in scenarios if label in ("all", scenario.label)]
        if not group:
            continue
        usable = [scenario for scenario in group if scenario.fault is None]
        walked = [geometry.length(scenario.future_xy) for scenario in usable]
        yield LabelStatistics(
            label=label,
            scenarios=len(group),
            published=PUBLISHED.get(label),
            rows=spread(len(scenario.path_xy) for scenario in usable),
            history_s=spread(scenario.history_s for scenario in usable),
            anchor_m=spread(scenario.anchor_distance_m for scenario in usable),
            path_m=spread(walked),
            end_m=spread(float(np.linalg.norm(scenario.path_xy[-1])) for scenario in usable),
            speed_m_s=spread(
                length / ((len(scenario.future_xy) - 1) * scenario.dt)
                for length, scenario in zip(walked, usable, strict=True)
            ),
        )


def _odd_paths(valid: Sequence[Scenario]) -> Iterator[tuple[str, str]]:
    for scenario in valid:
        xy, anchor = scenario.path_xy, scenario.anchor_distance_m
        if anchor < LEAST_ANCHOR_M:
            yield scenario.id, f"the anchor distance of {anchor:.3f} m is too short to give a decoder its scale"
        measured = float(np.linalg.norm(xy[scenario.history_rows] - xy[0]))
        if abs(measured - anchor) > max(ANCHOR_TOLERANCE * anchor, 0.02):
            yield scenario.id, f"the anchor distance is {anchor:.2f} m in the metadata, {measured:.2f} m in the path"
        fastest = float(np.linalg.norm(np.diff(xy, axis=0), axis=1).max()) / scenario.dt
        if fastest > FASTEST_M_S:
            yield scenario.id, f"the path jumps: {fastest:.1f} m/s between two rows"


def _of_files(valid: Sequence[Scenario], decode: bool) -> tuple[int, list[Finding]]:
    """Frames in all videos, and what is wrong with videos and pictures."""
    frames = 0
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    for scenario in valid:
        sizes = set()
        try:
            for picture in (scenario.first_frame, scenario.current_frame):
                if picture is not None:
                    sizes.add(png_size(picture))
            if scenario.video is None:
                continue
            clip = open_video(scenario)
        except DataError as error:
            errors.append((scenario.id, str(error).replace(f"{scenario.folder}/", "")))
            continue
        frames += len(clip)
        rows = len(scenario.path_xy)
        if len(clip) != rows:
            warnings.append((scenario.id, f"the video has {len(clip)} frames, the path {rows} rows"))
        # Players want even sides, so a video may have one row or column more than the pictures.
        sizes.add((clip.width, clip.height))
        if any(max(a) - min(a) > 1 for a in zip(*sizes, strict=True)):
            warnings.append((scenario.id, f"pictures and video differ in size: {sorted(sizes)}"))
        if decode and (found := problems(scenario.video)):
            errors.append((scenario.id, f"the video decodes with {len(found)} complaints: {Path(found[0]).name}"))
    return frames, [*grouped("error", "not usable", errors), *grouped("warning", "odd", warnings)]


def _of_labels(
    root: Path, scenarios: Sequence[Scenario], labels: Mapping[str, Label], broken: str | None
) -> Iterator[Finding]:
    if broken is not None:
        yield Finding("error", broken)
        return
    unknown = [scenario.id for scenario in scenarios if scenario.label == "unknown"]
    path = labels_file(root)
    if path is not None:
        strangers = sorted(set(labels) - {scenario.folder.name for scenario in scenarios})
        if strangers:
            text = f"{path.name} names {len(strangers)} scenarios that are not there (first: {strangers[0]})"
            yield Finding("warning", text)
    if unknown:
        where = "no labels file" if path is None else path.name
        text = f"{len(unknown)} scenarios have no label (first: {unknown[0]}; {where}): they count only overall"
        yield Finding("info", text)
