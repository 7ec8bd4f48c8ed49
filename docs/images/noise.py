"""The picture of success against noise from the ends of episodes: python docs/images/noise.py manipulation ENDS

ENDS is what `python -m benchmarks.foresight` wrote for `none`, `oracle` and some levels of `degraded`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from worldgauge.core.intervals import rate_interval
from worldgauge.report.curves import ChartLine, SeriesStyle, line_chart
from worldgauge.report.study_page import svg_file
from worldgauge_lab.closedloop import NOISE, SUCCESS
from worldgauge_lab.closedloop_questions import QUESTIONS

LEVEL = "degraded?level="


def main(task: str, ends: Path) -> None:
    """A curve over levels of noise, and a line for no world model, on the episodes that all of them have."""
    found: dict[str, dict[str, tuple[bool, str]]] = defaultdict(dict)
    for line in map(json.loads, ends.read_text().splitlines()):
        if line["model"] in ("none", "oracle") or line["model"].startswith(LEVEL):
            found[line["model"]][line["task"]] = (bool(line["success"]), line["cluster"])
    shared = sorted(set.intersection(*map(set, found.values())))
    points = {}
    for model, ended in found.items():
        successes, clusters = zip(*(ended[task] for task in shared), strict=True)
        inside = rate_interval(successes, clusters)
        bounds = (None, None) if inside is None else (100 * inside.low, 100 * inside.high)
        points[model] = (100 * sum(successes) / len(shared), *bounds)
    levels = {"oracle": 0.0, **{model: float(model.removeprefix(LEVEL)) for model in points if "?" in model}}
    swept = tuple((levels[model], *points[model]) for model in sorted(levels, key=levels.__getitem__))
    flat = tuple((level, *points["none"]) for level in (0.0, swept[-1][0]))
    lines = [
        ChartLine(SeriesStyle("t0", "k1", task), swept),
        ChartLine(SeriesStyle("l0-0", "k1", "none", baseline=True), flat),
    ]
    told = "; ".join(f"{model}: {SUCCESS} {point[0]:.1f}" for model, point in points.items())
    drawn = line_chart("study", QUESTIONS["noise"], told, lines, x_label=NOISE, y_label=SUCCESS, unit=False, whole=True)
    out = Path(__file__).with_name(f"noise-{task}.svg")
    out.write_text(svg_file(drawn) + "\n", encoding="utf-8")
    print(f"{out}: {len(shared)} episodes; {told}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
