"""A look at a scan as one page: what was found, its plan, views and panoramas."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import numpy as np

from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.image import Image, png
from worldgauge.core.io import write_file
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.checking import Findings, contact_sheet, places_of, plan_picture

_TEMPLATE = Path(__file__).with_name("check.html.j2")
_TIMED = Camera.from_horizontal_fov(640, 360, 90)


def write_page(path: Path, scan: Scan, found: Findings, rows: list[tuple[str, str]]) -> None:
    """Write the page of a look at a scan. It loads nothing.

    Args:
        path: The file.
        scan: The scan.
        found: What was found.
        rows: Label and value of each fact, for people.

    Raises:
        DataError: The file cannot be written.
    """
    from jinja2 import Template

    pictures = []
    if found.facts.get("storeys_m"):
        rng = np.random.default_rng(0)
        pictures = [("Its floor from above; free floor is light", plan_picture(scan, 800))]
        pictures.append(("Views from places on its floor, and a panorama", contact_sheet(scan, rng)))
        for n, place in enumerate(places_of(scan, 2, rng), 1):
            pose = pose_from_yaw_pitch(place, rng.uniform(-np.pi, np.pi))
            around = scan.view(pose, Panorama(1024, 512)).rgb
            pictures.append((f"Panorama {n}, from {', '.join(f'{one:.1f}' for one in place)} m", around))
        rows = [*rows, ("a view of 640x360 here", f"{_view_ms(scan):.0f} ms of processor time")]
    page = Template(_TEMPLATE.read_text(encoding="utf-8"), autoescape=True).render(
        name=scan.key,
        ok=found.ok,
        problems=found.problems,
        hints=found.hints,
        rows=rows,
        pictures=[(caption, _source(picture)) for caption, picture in pictures],
    )
    write_file(path, page)


def _view_ms(scan: Scan) -> float:
    """Processor time of a view, the best of three."""
    pose, best = pose_from_yaw_pitch(places_of(scan, 1, np.random.default_rng(1))[0], 0.0), np.inf
    for _ in range(3):
        start = time.process_time()
        scan.view(pose, _TIMED)
        best = min(best, 1e3 * (time.process_time() - start))
    return float(best)


def _source(picture: Image) -> str:
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode("ascii")
