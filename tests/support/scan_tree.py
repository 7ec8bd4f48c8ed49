"""Folders laid out as HM3D and Matterport3D are published, with a house of two storeys of our own in each.

The house and its navmesh are those of `vectors/scan`, made with Recast itself. A chair and a bed stand in it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from support.places import TESTS
from worldgauge.worlds._export_meshes import home_patches
from worldgauge.worlds._glb import Pages, Patch, write_glb
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.scan.mesh import ours

VECTORS = TESTS / "vectors" / "scan"
HM3D_KEY, MP3D_KEY = "00800-TEEsavR23oF", "17DRP5sb8fy"
CHAIR, BED = 7, 12
"""Their numbers."""
HOUSE_NUMBER = 3
COLOURS = {HOUSE_NUMBER: "20C040", CHAIR: "FF0080", BED: "0102FE"}
_CORNERS = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], np.float64)
_SIDES = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
_FACES = np.concatenate([_SIDES[:, [0, 1, 2]], _SIDES[:, [0, 2, 3]]])


@cache
def vectors() -> dict[str, list[dict[str, list[float]]]]:
    """Ways and steps in the house, as Detour gives them."""
    content: dict[str, list[dict[str, list[float]]]] = json.loads((VECTORS / "two_storeys.json").read_text())
    return content


def things() -> dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Vertices (V, 3) in our frame and triangles (T, 3) of the house, the chair and the bed, by number."""
    held = json.loads((VECTORS / "two_storeys.json").read_text())
    house = ours(np.array(held["vertices"], np.float64), "y"), np.array(held["triangles"])
    boxes = {CHAIR: ((2.0, 5.2, 0.0), (2.5, 5.7, 0.9)), BED: ((1.5, 0.3, 2.8), (3.3, 1.5, 3.3))}
    return {
        HOUSE_NUMBER: house,
        **{
            n: (np.array(low) + _CORNERS * (np.array(high) - np.array(low)), _FACES) for n, (low, high) in boxes.items()
        },
    }


def make_hm3d(folder: Path) -> Path:
    """A folder as of HM3D with one scene; returns the folder of the scene."""
    scene = folder / "val" / HM3D_KEY
    scene.mkdir(parents=True)
    _write_looks(scene / "TEEsavR23oF.basis.glb")
    shutil.copy(VECTORS / "two_storeys.navmesh", scene / "TEEsavR23oF.basis.navmesh")
    flat = [_flat(COLOURS[number]) for number in COLOURS]
    patches = [_patch(number, page, "part") for page, number in enumerate(COLOURS)]
    write_glb(scene / "TEEsavR23oF.semantic.glb", patches, Pages(tuple(flat), None, nearest=True), up="z")
    rows = [
        "HM3D Semantic Annotations",
        f'{HOUSE_NUMBER},{COLOURS[HOUSE_NUMBER]},"wall",0',
        f'{CHAIR},{COLOURS[CHAIR]},"chair",1',
        f'{BED},{COLOURS[BED]},"bed, double",2',
    ]
    (scene / "TEEsavR23oF.semantic.txt").write_bytes("\r\n".join(rows).encode() + b"\r\n")
    return scene


def make_hm3d_home(folder: Path) -> Path:
    """A folder as of HM3D with a home of ours: looks without names, names in a mesh of their own; returns its scene."""
    home = Home(1)
    patches, pages = home_patches(home.scene.looks, home.categories, 0.03, 92)
    scene = folder / "val" / HM3D_KEY
    scene.mkdir(parents=True)
    write_glb(
        scene / "TEEsavR23oF.basis.glb", [replace(one, instance=0, category="") for one in patches], pages, up="z"
    )
    named = list(dict.fromkeys((one.instance, one.category) for one in patches))
    colours = [f"{0x102030 + 0x010305 * n:06X}" for n in range(len(named))]
    flat = Pages(tuple(map(_flat, colours)), None, nearest=True)
    parts = [replace(one, page=named.index((one.instance, one.category)), instance=0, category="") for one in patches]
    write_glb(scene / "TEEsavR23oF.semantic.glb", parts, flat, up="z")
    rows = [f'{n + 1},{colours[n]},"{category}",0' for n, (_, category) in enumerate(named)]
    (scene / "TEEsavR23oF.semantic.txt").write_text("\n".join(["HM3D Semantic Annotations", *rows]) + "\n")
    return scene


def make_mp3d(folder: Path) -> Path:
    """A folder as of Matterport3D with one scene; returns the folder of the scene."""
    scene = folder / MP3D_KEY
    scene.mkdir(parents=True)
    _write_looks(scene / f"{MP3D_KEY}.glb")
    shutil.copy(VECTORS / "two_storeys.navmesh", scene / f"{MP3D_KEY}.navmesh")
    vertices, faces = [], []
    for number, (points, triangles) in things().items():
        first = sum(map(len, vertices))
        vertices.append(np.stack([-points[:, 1], points[:, 0], points[:, 2]], -1))  # z up as published
        faces += [f"3 {a + first} {b + first} {c + first} {number}" for a, b, c in triangles.tolist()]
    header = ["ply", "format ascii 1.0", f"element vertex {sum(map(len, vertices))}"]
    header += [*(f"property float {axis}" for axis in "xyz"), f"element face {len(faces)}"]
    header += ["property list uchar int vertex_indices", "property int object_id", "end_header"]
    points = [" ".join(f"{one:.6f}" for one in row) for row in np.concatenate(vertices).tolist()]
    (scene / f"{MP3D_KEY}_semantic.ply").write_text("\n".join([*header, *points, *faces]) + "\n")
    box = " 0 0 0 1 0 0 0 1 0 1 1 1 0 0 0 0 0 0 0 0"
    rows = [
        "ASCII 1.1",
        f"H {MP3D_KEY} - 0 0 0 0 0 3 3 2 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        "L 0 2 a 0 0 0 0 0 0 1 1 1 0 0 0 0 0",
        *(f"R {n} 0 0 0 b 0 0 0 0 0 0 1 1 1 2 0 0 0 0" for n in range(2)),
        f"O {HOUSE_NUMBER} 0 0{box}",
        f"O {CHAIR} 0 1{box}",
        f"O {BED} 1 2{box}",
        "C 0 1 wall#of#stone 1 wall 0 0 0 0 0",
        "C 1 2 dining#chair 3 chair 0 0 0 0 0",
        "C 2 3 four#poster 13 chest_of_drawers 0 0 0 0 0",
    ]
    (scene / f"{MP3D_KEY}.house").write_text("\n".join(rows) + "\n")
    return scene


def _write_looks(path: Path) -> None:
    """What is drawn: the house in checks, the things in one colour each."""
    checks = np.where((np.indices((64, 64)).sum(0) // 8 % 2 == 0)[..., None], (210, 190, 160), (90, 110, 140))
    pages = (checks.astype(np.uint8), _flat("B02020"), _flat("2030A0"))
    patches = [_patch(number, page, "") for page, number in enumerate(COLOURS)]
    write_glb(path, patches, Pages(pages, None), up="z")


def _patch(number: int, page: int, category: str) -> Patch:
    points, triangles = things()[number]
    corners = points[triangles].reshape(-1, 3)
    uv = np.stack([corners[:, 0] + corners[:, 1], corners[:, 2]], -1)
    order = np.arange(len(corners)).reshape(-1, 3)
    return Patch(0, category, page, corners.astype(np.float32), uv.astype(np.float32), order.astype(np.uint32), True)


def _flat(colour: str) -> NDArray[np.uint8]:
    return np.full((16, 16, 3), list(bytes.fromhex(colour)), np.uint8)
