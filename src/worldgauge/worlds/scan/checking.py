"""A look at a scan: what is wrong with it and what is worth knowing, and its page of plan, views and panoramas."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.core.image import Image, png
from worldgauge.core.io import write_file
from worldgauge.worlds.scan import MOST_UNREAD, Scan
from worldgauge.worlds.scan.heightfield import CELL_M, LEAST_M2, Heightfield, heightfield_of
from worldgauge.worlds.scan.mesh import Up, ours

VIEWS = 50
"""Views by which holes are counted."""
SIZE_M = 1.5, 300.0
_OTHER_AXIS = 1.7
"""How much more floor another axis must give to be proposed."""
_HOLES = 0.2
_EYE_M = 1.0
_SUNK_M, _BEHIND = 0.08, 0.3
"""A floor lies deeper than it is walked on where it is not drawn; and how much of it may."""
_OFF_M, _OFF = 0.5, 0.05
"""How far corners of a navmesh may lie off the mesh, and how many of them farther."""
_SCALES = ((0.001, "millimetres"), (0.01, "centimetres"), (0.0254, "inches"))


@dataclass
class Findings:
    """What a look at a scan found."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether it can be used as it is."""
        return not self.problems


def look_over(scan: Scan) -> Findings:
    """Look a scan over."""
    found, prepared = Findings(), scan.prepared
    scene = prepared.scene
    corners = scene.corners.reshape(-1, 3)
    low, high = corners.min(0).astype(float), corners.max(0).astype(float)
    size = high - low
    found.hints += prepared.notes
    found.facts |= {
        "triangles": len(scene.corners),
        "size_m": [round(float(one), 2) for one in size],
        "textures": int(np.count_nonzero(scene.levels[:, 0] >= 0) and len(set(scene.looks[scene.looks[:, 0] >= 0, 0]))),
        "vertex_colours": len(scene.tints) > 0,
        "things": len(scan.landmarks),
        "categories": len(scan.categories) - 1,
        "unread_textures": round(prepared.unread, 4),
        "digest": prepared.digest,
    }
    if prepared.unread > MOST_UNREAD:
        found.problems.append(f"{prepared.unread:.0%} of its area has no texture; see the notes")
    if not found.facts["textures"] and not found.facts["vertex_colours"]:
        found.hints.append("it has neither textures nor colours of vertices: materials give one colour each")
    longest = float(size.max())
    if not SIZE_M[0] <= longest <= SIZE_M[1]:
        found.problems.append(f"it is {longest:.4g} m long, and rooms are {SIZE_M[0]:g} to {SIZE_M[1]:g} m")
        for scale, unit in _SCALES:
            if 2.0 <= longest * scale <= 60.0:
                found.problems.append(f"if its unit is {unit}: --scale {scale:g}")
    try:
        fields = scan.heightfield
    except WorldgaugeError as error:
        found.problems.append(str(error))
        return found
    _check_floor(found, fields, scene.corners, scan.reading.up)
    _check_navmesh(found, scan)
    if fields.storeys:
        _check_views(found, scan)
    return found


def places_of(scan: Scan, count: int, rng: np.random.Generator) -> FloatArray:
    """Places (count, 3) on the indoor floors of a scan where a walker stands, at eye height."""
    plan = scan.floor
    cells = np.argwhere(plan.clearance_m >= 0.25)
    if not len(cells):
        cells = np.argwhere(plan.free)
    chosen = cells[rng.integers(len(cells), size=count)]
    heights = plan.height_m[chosen[:, 0], chosen[:, 1]].astype(np.float64) + _EYE_M
    return np.column_stack([plan.points_of(chosen), heights])


def contact_sheet(scan: Scan, rng: np.random.Generator) -> Image:
    """Six views, a panorama and a plan, from places on its floor, on one sheet (900, 1200, 3) uint8."""
    camera, around = Camera.from_horizontal_fov(400, 225, 90), Panorama(900, 450)
    places = places_of(scan, 7, rng)
    yaws = rng.uniform(-np.pi, np.pi, 7)
    views = [scan.view(pose_from_yaw_pitch(place, yaw), camera).rgb for place, yaw in zip(places, yaws, strict=True)]
    sheet = np.full((900, 1200, 3), 24, np.uint8)
    for n, view in enumerate(views[:6]):
        top, left = 225 * (n // 3), 400 * (n % 3)
        sheet[top : top + 225, left : left + 400] = view
    sheet[450:, :900] = scan.view(pose_from_yaw_pitch(places[6], yaws[6]), around).rgb
    plan = plan_picture(scan, 300)
    sheet[450 : 450 + plan.shape[0], 900 : 900 + plan.shape[1]] = plan[:450]
    return sheet


def plan_picture(scan: Scan, width: int) -> Image:
    """The floor of its storey from above, x to the right and y up: free floor is light, things are outlined."""
    import cv2

    plan = scan.floor
    drawn = np.where(plan.free[..., None], np.array([236, 236, 228]), np.array([64, 68, 76])).astype(np.uint8)
    inside = np.argwhere(plan.free)
    low, high = np.maximum(inside.min(0) - 10, 0), np.minimum(inside.max(0) + 11, plan.free.shape)
    for thing in scan.landmarks:
        if thing.low[2] > scan.heightfield.storeys[scan.storey or scan.heightfield.main_storey] + 2.0:
            continue
        a, b = plan.cells_of(thing.low[:2]), plan.cells_of(thing.high[:2])
        colour = tuple(int(40 + 37 * (sum(thing.category.encode()) * k % 6)) for k in (1, 5, 11))
        cv2.rectangle(drawn, (int(a[1]), int(a[0])), (int(b[1]), int(b[0])), colour, 1)
    shown = drawn[low[0] : high[0], low[1] : high[1]].swapaxes(0, 1)[::-1]
    height = max(round(width * shown.shape[0] / shown.shape[1]), 1)
    return np.asarray(cv2.resize(shown, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)


def _check_floor(found: Findings, fields: Heightfield, corners: NDArray[np.float32], up: Up) -> None:
    found.facts |= {
        "floor_m2": round(fields.area_m2, 1),
        "storeys_m": [round(one, 2) + 0.0 for one in fields.storeys],
        "islands": [
            {"m2": round(one.area_m2, 1), "height_m": round(one.height_m, 2) + 0.0, "indoor": one.is_indoor}
            for one in fields.islands
        ],
    }
    if not fields.storeys:
        found.problems.append(f"no indoor floor of {LEAST_M2:g} m² or more was found")
    other: Up = "z" if up == "y" else "y"
    area = _area_read(corners, other)
    if area > _OTHER_AXIS * max(fields.area_m2, LEAST_M2):
        line = f"another axis may be up: {area:.0f} m² of floor instead of {fields.area_m2:.0f} with --up {other}"
        (found.hints if fields.storeys else found.problems).append(line)


def _check_navmesh(found: Findings, scan: Scan) -> None:
    """Whether the published floor lies on what can be stood on in the mesh."""
    from scipy.spatial import cKDTree

    try:
        navmesh = scan.navmesh
    except WorldgaugeError as error:
        found.problems.append(str(error))
        return
    if navmesh is None:
        found.hints.append(
            "no floor is published for it; its own is found in the mesh, and results on it are not comparable"
        )
        return
    found.facts["navmesh_m2"] = round(navmesh.area_m2, 1)
    fields = scan.heightfield
    if not len(fields.cell):
        return
    at = np.stack(np.divmod(fields.cell, fields.shape[1]), -1) * CELL_M + fields.origin + CELL_M / 2
    stood = cKDTree(np.column_stack([at, fields.height_m]))
    floor = navmesh.surface
    corners = floor.corners[np.arange(floor.corners.shape[1]) < floor.sides[:, None]]
    away, _ = stood.query(ours(corners, "y"))
    if (share := float((away > _OFF_M).mean())) > _OFF:
        found.problems.append(
            f"{share:.0%} of its navmesh lies over {_OFF_M} m off the mesh: it is of another scene, or --up is wrong"
        )


def _area_read(corners: NDArray[np.float32], up: Up) -> float:
    """Area of floor had the file been read with the other axis up; see `mesh.ours`."""
    x, y, z = corners.reshape(-1, 3).astype(np.float64).T
    points = np.stack([z, y, -x] if up == "z" else [-z, y, x], -1)
    try:
        return heightfield_of(points.reshape(-1, 9)).area_m2
    except WorldgaugeError:
        return 0.0


def _check_views(found: Findings, scan: Scan) -> None:
    """Count holes, and floor that is seen from behind, in random views."""
    rng = np.random.default_rng(0)
    camera = Camera.from_horizontal_fov(64, 64, 90)
    places = places_of(scan, VIEWS, rng)
    yaws, pitches = rng.uniform(-np.pi, np.pi, VIEWS), rng.uniform(-0.7, 0.3, VIEWS)
    holes = 0
    for place, yaw, pitch in zip(places, yaws, pitches, strict=True):
        holes += int(np.isinf(scan.view(pose_from_yaw_pitch(place, yaw, pitch), camera).depth).sum())
    down = Camera.from_horizontal_fov(3, 3, 1)
    feet = np.array([scan.view(pose_from_yaw_pitch(place, 0.0, -np.pi / 2), down).depth[1, 1] for place in places])
    behind = float((feet > _EYE_M + _SUNK_M).mean())
    found.facts["floor_from_behind"] = round(behind, 2)
    if behind > _BEHIND:
        found.problems.append(f"{behind:.0%} of its floor is seen from behind, and so not drawn: --two-sided")
    share = holes / (VIEWS * camera.width * camera.height)
    found.facts["holes"] = round(share, 4)
    if share > _HOLES:
        found.hints.append(f"{share:.0%} of the pixels of random views meet nothing; try --two-sided")


_TEMPLATE = Path(__file__).with_name("check.html.j2")
_TIMED = Camera.from_horizontal_fov(640, 360, 90)


def write_page(path: Path, scan: Scan, found: Findings, rows: list[tuple[str, str]]) -> None:
    """Write the page of a look at a scan. It loads nothing."""
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
        pose, taken = pose_from_yaw_pitch(places_of(scan, 1, np.random.default_rng(1))[0], 0.0), []
        for _ in range(3):
            start = time.process_time()
            scan.view(pose, _TIMED)
            taken.append(1e3 * (time.process_time() - start))
        rows = [*rows, ("a view of 640x360 here", f"{min(taken):.0f} ms of processor time")]
    page = Template(_TEMPLATE.read_text(encoding="utf-8"), autoescape=True).render(
        name=scan.key,
        ok=found.ok,
        problems=found.problems,
        hints=found.hints,
        rows=rows,
        pictures=[(caption, base64.b64encode(png(picture)).decode("ascii")) for caption, picture in pictures],
    )
    write_file(path, page)
