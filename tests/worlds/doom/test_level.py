"""Levels of a WAD file: what is read, where one can walk, and what a camera sees of rooms worked out by hand."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.worlds.doom.level import SURFACES, UNIT_M, cast, floor_of, read_level, sectors_at

SKY, STONE = b"F_SKY1", b"FLOOR4_8"
ROOMS = (  # floor, ceiling and their flats
    (0, 128, STONE, STONE),
    (16, 96, b"NUKAGE1", SKY),
)
POINTS = ((0, 0), (256, 0), (256, 256), (0, 256), (512, 0), (512, 256))
LINES = (  # from, to, right and left room, type; clockwise around the right one
    (1, 0, 0, None, 0),
    (0, 3, 0, None, 0),
    (3, 2, 0, None, 0),
    (2, 1, 0, 1, 0),
    (1, 4, None, 1, 0),
    (4, 5, None, 1, 26),
    (5, 2, None, 1, 0),
)
EYE = np.array([128.0, 128.0, 41.0])
CAMERA = Camera(64, 48, 32.0, 32.0, 32.0, 24.0)


def tables(lines=LINES, rooms=ROOMS, points=POINTS, things=((128, 64, 0, 2035, 7),)) -> dict[str, bytes]:
    """The lumps of a level of two square rooms, the east one open to the sky, with a pool, behind a step of 16."""
    sides, rows = [], []
    for start, end, right, left, kind in lines:
        numbers = []
        for room in (left, right):  # a line without a right room is turned round
            numbers.append(0xFFFF if room is None else len(sides))
            if room is not None:
                sides.append(struct.pack("<hh8s8s8sH", 0, 0, b"-", b"-", b"-", room))
        left_side, right_side = numbers
        if right is None:
            start, end, right_side, left_side = end, start, left_side, right_side
        rows.append(struct.pack("<7H", start, end, 4 if left is not None else 1, kind, 0, right_side, left_side))
    return {
        "THINGS": b"".join(struct.pack("<hhHHH", *thing) for thing in things),
        "LINEDEFS": b"".join(rows),
        "SIDEDEFS": b"".join(sides),
        "VERTEXES": b"".join(struct.pack("<hh", *point) for point in points),
        "SECTORS": b"".join(struct.pack("<hh8s8shhh", *room[:2], *room[2:], 160, 0, 0) for room in rooms),
    }


def wad(lumps: dict[str, bytes]) -> bytes:
    """A WAD file with one level, E1M1."""
    data, rows = bytearray(12), [struct.pack("<ii8s", 0, 0, b"E1M1")]
    for name, content in lumps.items():
        rows.append(struct.pack("<ii8s", len(data), len(content), name.encode()))
        data += content
    struct.pack_into("<4sii", data, 0, b"PWAD", len(rows), len(data))
    return bytes(data) + b"".join(rows)


def level_of(tmp_path: Path, data: bytes | None = None, name: str = "e1m1"):
    (tmp_path / "x.wad").write_bytes(wad(tables()) if data is None else data)
    return read_level.__wrapped__(tmp_path / "x.wad", name)


def test_a_level_is_read_as_it_was_written(tmp_path: Path) -> None:
    level = level_of(tmp_path)
    assert level.heights.tolist() == [[0, 128], [16, 96]]
    assert level.sky.tolist() == level.liquid.tolist() == [False, True]
    assert level.lines[3].tolist() == [256, 256, 256, 0, 0, 1]
    assert level.doors.tolist() == [False] * 5 + [True, False]
    assert level.blocking.tolist() == [True, True, True, False, True, True, True]
    assert level.things.tolist() == [[128, 64, 16]]


def test_points_are_in_the_room_that_surrounds_them(tmp_path: Path) -> None:
    level = level_of(tmp_path)
    assert sectors_at(level, 100.0, np.array([-5.0, 5.0, 250.0, 260.0, 500.0, 520.0])).tolist() == [-1, 0, 0, 1, 1, -1]
    assert sectors_at(level, 300.0, np.array([100.0])).tolist() == [-1]


def test_a_walker_keeps_off_walls_and_barrels_and_goes_up_a_step(tmp_path: Path) -> None:
    floor = floor_of(level_of(tmp_path))

    def is_free(x: float, y: float) -> bool:
        i, j = floor.cells_of(np.array([x, y]) * UNIT_M)
        return bool(floor.free[i, j])

    assert is_free(128, 128)
    assert is_free(256, 128)
    assert is_free(400, 128)
    assert not is_free(10, 128)
    assert not is_free(128, 66)
    assert not is_free(540, 128)
    assert float(floor.height_at(np.array([400.0, 128.0]) * UNIT_M)) == pytest.approx(16 * UNIT_M)


@pytest.mark.parametrize(
    ("rooms", "lines"),
    [
        (((0, 128, STONE, STONE), (25, 128, STONE, STONE)), LINES),
        (((0, 128, STONE, STONE), (0, 55, STONE, STONE)), LINES),
        (ROOMS, (*LINES[:3], (2, 1, 0, 1, 97), *LINES[4:])),
    ],
    ids=["a high step", "a low opening", "a teleporter"],
)
def test_a_walker_stays_in_its_room(tmp_path: Path, rooms, lines) -> None:
    floor = floor_of(level_of(tmp_path, wad(tables(lines, rooms))))
    i, j = floor.cells_of(np.array([256.0, 128.0]) * UNIT_M)
    assert not floor.free[i, j]


def test_a_closed_room_is_seen_as_worked_out_by_hand(tmp_path: Path) -> None:
    level = level_of(tmp_path)
    depth, surface = cast(level, level.heights, EYE, math.pi, CAMERA)  # west: a wall 128 units away
    assert depth[24, 32] == pytest.approx(128)
    assert SURFACES[surface[24, 32] - 1] == "wall"
    # The floor is 41 below the eye: its depth in the lowest row, 23.5 pixels below the middle, is 41 * 32 / 23.5.
    assert depth[47, 32] == pytest.approx(41 * 32 / 23.5)
    assert SURFACES[surface[47, 32] - 1] == "floor"
    assert depth[0, 32] == pytest.approx(87 * 32 / 23.5)
    assert SURFACES[surface[0, 32] - 1] == "ceiling"
    # The border of floor and wall is where 41 * 32 / rows is 128: 10.25 rows below the middle.
    assert [SURFACES[surface[row, 32] - 1] for row in (33, 34)] == ["wall", "floor"]


def test_through_an_opening_are_a_step_a_pool_a_door_and_the_sky(tmp_path: Path) -> None:
    level = level_of(tmp_path)
    depth, surface = cast(level, level.heights, EYE, 0.0, CAMERA)  # east: the opening is 128 units away, the door 384
    column = surface[:, 32]
    names = ["none", *SURFACES]
    # Rows of the opening at 128: up to 32 * 55 / 128 = 13.75 above the middle, and 32 * 25 / 128 = 6.25 below it.
    # Behind it at 384 the wall reaches up to 32 * 55 / 384 = 4.58, and down to 32 * 25 / 384 = 2.08.
    expected = {0: "ceiling", 9: "wall", 12: "sky", 18: "sky", 20: "door", 25: "door", 27: "water", 29: "water"}
    expected |= {31: "wall", 33: "wall", 35: "floor"}
    assert {row: names[column[row]] for row in expected} == expected
    assert np.isinf(depth[12, 32])
    assert depth[20, 32] == pytest.approx(384)
    assert depth[29, 32] == pytest.approx(25 * 32 / 5.5)
    assert depth[9, 32] == depth[31, 32] == pytest.approx(128)
    # What moves is seen where it is now: the opening is shut by a ceiling that came down.
    depth, surface = cast(level, np.array([[0.0, 128.0], [16.0, 16.0]]), EYE, 0.0, CAMERA)
    assert names[surface[20, 32]] == "wall"
    assert depth[20, 32] == pytest.approx(128)


def test_depth_is_that_of_rays_through_planes(tmp_path: Path) -> None:
    """An independent way: intersect every ray with the four walls, the floor and the ceiling of one room."""
    level = level_of(tmp_path, wad(tables((*LINES[:3], (2, 1, 0, None, 0)), ROOMS[:1])))
    rng = np.random.default_rng(0)
    for _ in range(20):
        eye, yaw = np.array([*rng.uniform(20, 236, 2), rng.uniform(10, 118)]), float(rng.uniform(-4, 4))
        depth, _ = cast(level, level.heights, eye, yaw, CAMERA)
        x, y = np.meshgrid((np.arange(64) + 0.5 - 32) / 32, (np.arange(48) + 0.5 - 24) / 32)
        c, s = math.cos(yaw), math.sin(yaw)
        rays = np.stack([c + x * s, s - x * c, -y], -1)
        with np.errstate(divide="ignore"):
            low, high = (np.zeros(3) - eye) / rays, (np.array([256, 256, 128]) - eye) / rays
        assert np.allclose(depth, np.maximum(low, high).min(-1), rtol=1e-9)


def damaged() -> dict[str, bytes]:
    whole, lumps = wad(tables()), tables()
    start = struct.unpack_from("<i", whole, 8)[0]

    def changed(at: int, form: str, *values: int) -> bytes:
        data = bytearray(whole)
        struct.pack_into(form, data, at, *values)
        return bytes(data)

    return {
        "empty": b"",
        "header only": whole[:12],
        "another file": b"RIFF" + whole[4:],
        "negative count": changed(4, "<i", -1),
        "huge count": changed(4, "<i", 2**31 - 1),
        "directory outside": changed(8, "<i", 2**31 - 1),
        "directory before the data": changed(8, "<i", -16),
        "huge lump": changed(start + 2 * 16 + 4, "<i", 2**31 - 1),
        "negative lump": changed(start + 2 * 16 + 4, "<i", -14),
        "lump before the file": changed(start + 2 * 16, "<i", -4),
        "half a row": changed(start + 2 * 16 + 4, "<i", 13),
        "no lines": wad({**lumps, "LINEDEFS": b""}),
        "no sectors": wad({name: data for name, data in lumps.items() if name != "SECTORS"}),
        "a vertex too many": wad({**lumps, "VERTEXES": lumps["VERTEXES"][:8]}),
        "a side too many": wad({**lumps, "SIDEDEFS": lumps["SIDEDEFS"][:60]}),
        "a sector too many": wad({**lumps, "SECTORS": lumps["SECTORS"][:26]}),
    }


@pytest.mark.parametrize("name", damaged())
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        level_of(tmp_path, damaged()[name])


def test_a_level_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="level map01 cannot be read"):
        level_of(tmp_path, name="map01")
    with pytest.raises(DataError, match="cannot be read"):
        read_level.__wrapped__(tmp_path / "none.wad", "e1m1")


def test_every_cut_and_random_bytes_end_in_a_level_or_a_refusal(tmp_path: Path) -> None:
    whole, rng = wad(tables()), np.random.default_rng(0)
    cases = [whole[:size] for size in range(0, len(whole), 7)]
    for _ in range(200):
        data = bytearray(whole)
        for at in rng.integers(len(data), size=3):
            data[at] = int(rng.integers(256))
        cases.append(bytes(data))
    refused = 0
    for data in cases:
        try:
            level = level_of(tmp_path, data)
        except DataError:
            refused += 1
            continue
        depth, _ = cast(level, level.heights, EYE, 0.3, Camera(8, 6, 4.0, 4.0, 4.0, 3.0))
        assert not np.isnan(depth).any()
    assert len(whole) // 7 <= refused < len(cases)


def test_a_level_too_large_for_its_floor_is_refused(tmp_path: Path) -> None:
    far = tuple((-32_000 if x == 0 else 32_000, 0 if y == 0 else 32_000) for x, y in POINTS)
    with pytest.raises(DataError, match="too large to walk in"):
        floor_of(level_of(tmp_path, wad(tables(points=far))))
