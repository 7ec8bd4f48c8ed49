"""Rooms that a headset captured: one of our own, and those of the npm package @iwer/sem 2.4.0 (MIT)."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.captured_room import PARTS, SURFACES, Entity, captured_bytes, captured_room, entity, mesh
from support.commands import command
from support.places import TESTS
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import rotation_of_quaternion
from worldgauge.worlds.scan import Scan, sources
from worldgauge.worlds.scan.mesh import ScanMesh, ours, theirs
from worldgauge.worlds.scan.readers import read_mesh

MEETING = TESTS / "vectors" / "scan" / "captured" / "meeting_room.json"


def written(path: Path, room: Entity | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(captured_bytes(room))
    return path


def labels(found: ScanMesh) -> dict[str, list[str]]:
    """What the triangles of each surface are called, in their order."""
    names, ends = [found.categories[n] for n in found.category], np.cumsum([len(one) for one in SURFACES.values()])
    return {surface: names[end - len(SURFACES[surface]) : end] for surface, end in zip(SURFACES, ends, strict=True)}


def test_boxes_and_planes_name_the_triangles_in_them(tmp_path: Path) -> None:
    found = read_mesh(written(tmp_path / "room.json"))
    assert np.allclose(found.vertices.reshape(-1, 3), ours(np.concatenate(list(SURFACES.values())).reshape(-1, 3), "y"))
    named = labels(found)
    # The floor goes before the table that stands on it, and a small plane before the wall that it hangs on.
    assert set(named["floor"]) == {"floor"}
    assert set(named["table"]) == {"table"}
    near = SURFACES["ceiling"].mean(1)[:, 2] < 0.1
    assert named["ceiling"] == ["wall" if one else "void" for one in near], "there is no ceiling in the file"
    centres = SURFACES["wall behind"].mean(1)
    is_picture = (abs(centres[:, 0] - 1.5) < 0.43) & (abs(centres[:, 1] - 1.5) < 0.43)
    low = centres[:, 1] < 0.04 + 0.1
    for label, picture, floor in zip(named["wall behind"], is_picture, low, strict=True):
        assert label == ("picture" if picture else "floor" if floor else "wall")
    assert 0 < is_picture.sum() < PARTS**2
    # The plane of the table, which has a box as well, is no thing.
    assert sorted({int(n) for n in found.instance}) == [0, 1, 2, 4, 5]


def test_the_direction_of_a_surface_gives_its_colour(tmp_path: Path) -> None:
    found = read_mesh(written(tmp_path / "room.json"))
    assert found.colours is not None
    colours = found.colours.reshape(-1, 3, 4)
    assert (colours == colours[:, :1]).all()
    assert colours[0, 0].tolist() == [128, 128, 228, 255], "the floor faces up"
    assert colours[len(SURFACES["floor"]), 0].tolist() == [128, 128, 28, 255], "the ceiling faces down"
    assert any("no colours" in note for note in found.notes)


def test_a_room_that_is_turned_has_the_same_things(tmp_path: Path) -> None:
    room = captured_room()
    turn, by = np.array([0.0, 0.6, 0.0, 0.8]), np.array([3.0, 0.5, -2.0])
    matrix = rotation_of_quaternion(turn)
    for one in room["spatialEntities"]:
        held = one["locatable_META"]
        x, y, z, w = (held.get("orientation", {"w": 1.0}).get(name, 0.0) for name in "xyzw")
        tx, ty, tz, tw = turn
        both = (
            tw * x + tx * w + ty * z - tz * y,
            tw * y - tx * z + ty * w + tz * x,
            tw * z + tx * y - ty * x + tz * w,
            tw * w - tx * x - ty * y - tz * z,
        )
        place = matrix @ [held.get("position", {}).get(name, 0.0) for name in "xyz"] + by
        held["orientation"] = dict(zip("xyzw", map(float, both), strict=True))
        held["position"] = dict(zip("xyz", place.tolist(), strict=True))
    before, after = read_mesh(written(tmp_path / "a.json")), read_mesh(written(tmp_path / "b.json", room))
    assert np.array_equal(before.instance, after.instance)
    assert np.allclose(theirs(after.vertices, "y"), theirs(before.vertices, "y") @ matrix.T + by, atol=1e-5)


def test_a_captured_room_is_a_scan_of_a_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "rooms" / "mine.json")
    (tmp_path / "rooms" / "package.json").write_text('{"name": "rooms"}')
    scenes = list(sources.scenes_of(sources.add("rooms", tmp_path / "rooms")))
    assert [(one.key, one.up, one.geometry) for one in scenes] == [("rooms/mine", "y", path)]
    scan = Scan("rooms/mine")
    assert [thing.category for thing in scan.landmarks] == ["wall", "floor", "picture", "table"]
    assert 8 < scan.floor.free.sum() * 0.05**2 < 12
    path.unlink()
    with pytest.raises(UsageError, match="no scan was found in it: GLB, glTF, PLY or captured JSON files"):
        sources.add("rooms", tmp_path / "rooms")


def _numbers(values: object, kind: str) -> str:
    return base64.b64encode(np.asarray(values, kind).tobytes()).decode()


Damage = Callable[[list[Entity]], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "cut": (lambda held: held[5]["triangleMesh_META"].update(vertices="AAAA"), "vertices are not threes"),
    "no base64": (lambda held: held[5]["triangleMesh_META"].update(indices="é*"), "indices are not threes"),
    "no text": (lambda held: held[5]["triangleMesh_META"].update(indices=7), "indices are not threes"),
    "no mesh": (lambda held: held.pop(), "no spatialEntities have a triangleMesh_META with triangles"),
    "nothing in it": (lambda held: held[5].update(triangleMesh_META={}), "with triangles"),
    "count": (
        lambda held: held[5]["triangleMesh_META"].update(indices=_numbers([0, 1, 2**32 - 1], "<u4")),
        r"indices name vertex 4294967295, and there are \d+",
    ),
    "not finite": (
        lambda held: held[5]["triangleMesh_META"].update(vertices=_numbers([np.nan] * 3, "<f4")),
        "not finite",
    ),
    "far": (lambda held: held[5]["triangleMesh_META"].update(vertices=_numbers([1e30] * 3, "<f4")), "beyond 10000 m"),
    "huge number": (lambda held: held[0]["locatable_META"]["position"].update(x=10**400), "position is"),
    "infinite": (lambda held: held[4]["bounded3D_META"]["extent"].update(depth=float("1e999")), "not valid JSON"),
    "text": (lambda held: held[0]["bounded2D_META"]["offset"].update(x="1"), "offset is"),
    "nowhere": (lambda held: held[0].pop("locatable_META"), "orientation is None, not numbers"),
    "no direction": (lambda held: held[0]["locatable_META"].update(orientation={}), "orientation is zero"),
    "no bounds": (lambda held: held[0].update(bounded2D_META=None), "offset is None"),
    "many": (lambda held: held.extend([{}] * 1000), "1006 spatialEntities pass the limit of 1000"),
    "no entity": (lambda held: held.append(3), "no list of objects"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_one_line_that_names_the_file_and_the_part(name: str, tmp_path: Path) -> None:
    damage, words = DAMAGES[name]
    room = captured_room()
    damage(room["spatialEntities"])
    with pytest.raises(DataError, match=words) as caught:
        read_mesh(written(tmp_path / "room.json", room))
    assert "room.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_or_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "room.json"
    for text, words in (("[]", "it holds"), ("{}", "spatialEntities is no list"), ('{"a', "not valid JSON")):
        path.write_text(text)
        with pytest.raises(DataError, match=words):
            read_mesh(path)
    with path.open("wb") as file:
        file.truncate(2**25 + 1)
    with pytest.raises(DataError, match="pass the limit of 33554432"):
        read_mesh(path)


def test_a_plane_or_box_of_no_size_names_nothing(tmp_path: Path) -> None:
    room = captured_room()
    room["spatialEntities"][0] = entity("WALL_FACE", [1.5, 1.25, 0], (0.0, 0.0, 0.0, 1.0), [0, 0], [-3, -3])
    assert 1 not in read_mesh(written(tmp_path / "a.json", room)).instance
    room["spatialEntities"] = [mesh(SURFACES["table"])]
    assert not read_mesh(written(tmp_path / "b.json", room)).instance.any()


def test_things_of_a_captured_room_lie_where_they_are(tmp_path: Path) -> None:
    """Plane and box of one thing are stored apart: each table's plane must be the top of what its box names."""
    found, rows = read_mesh(MEETING), json.loads(MEETING.read_text())["spatialEntities"]
    (plane,) = [row for row in rows if row["semanticLabel_META"] == "TABLE" and "bounded2D_META" in row]
    height = plane["locatable_META"]["position"]["y"]
    corners = theirs(found.vertices, "y").reshape(-1, 3, 3)
    named = {name: corners[found.category == n] for n, name in enumerate(found.categories)}
    assert abs(named["table"][..., 1].max() - height) < 0.1
    assert np.ptp(named["floor"][..., 1].mean(1)) < 0.25
    assert np.median(named["ceiling"][..., 1]) > 2.7
    cross = np.cross(named["wall"][:, 1] - named["wall"][:, 0], named["wall"][:, 2] - named["wall"][:, 0])
    area = np.sqrt((cross * cross).sum(1))
    upright = np.abs(cross[:, 1]) < 0.3 * area
    assert area[upright].sum() > 0.8 * area.sum(), "walls stand"


COLLECTIONS = {
    "worldinworld": ("--navigation", "2", "--recognition", "0", "--questions", "0"),
    "targetbench": ("--per-scene", "1", "--fps", "2"),
}


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """A registered folder with one captured room. Its name is its own: worlds stay open within a process."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    shutil.copy(MEETING, folder)
    done = command(tmp_path, "world", "add", "meeting", folder)
    assert "meeting: 1 scenes in the layout 'files', y up" in done.stdout
    return folder


def collected(folder: Path, suite: str, keys: str, *more: str) -> str:
    done = command(
        folder, "collect", suite, "--world", "scan", "--scenes", keys, "--size", "64x36", *more, "--out", suite
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("rooms")
@pytest.mark.parametrize("suite", COLLECTIONS)
def test_a_captured_room_is_collected_in(suite: str, tmp_path: Path) -> None:
    told = collected(tmp_path, suite, "meeting/meeting_room", *COLLECTIONS[suite])
    assert "failed" not in told
    manifest = json.loads((tmp_path / suite / "worldgauge.json").read_text())
    assert [one["params"] for one in manifest["worlds"].values()] == [{"scene": "meeting/meeting_room"}]
    # Floors and walls have no wording: they are named, and end no scenario.
    assert ("are no targets: ceiling, floor, wall" in told) is (suite == "targetbench")


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five rooms of the package, from the registry."""
    if (npm := shutil.which("npm")) is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("sem")
    packed = subprocess.run([npm, "pack", "@iwer/sem@2.4.0"], cwd=folder, capture_output=True, text=True, timeout=300)
    if packed.returncode:
        pytest.skip(f"the package cannot be fetched: {packed.stderr[-200:]}")
    with tarfile.open(folder / "iwer-sem-2.4.0.tgz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "captures"


FLOORS_M2 = {"living_room": 17.7, "meeting_room": 14.6, "music_room": 20.3, "office_large": 11.1}
EVERYWHERE = {
    "worldinworld": (("--navigation", "4", "--recognition", "0", "--questions", "0"), "view_px=32", "panorama_px=64"),
    "loopnav": (("--ranges", "3", "--types", "ABA", "--per-combination", "1"),),
    "targetbench": (("--per-scene", "1", "--fps", "5"), "horizon_s=4", "cross_check=never"),
}
"""What is collected of each suite in four rooms, four episodes; and settings of its run."""


@pytest.mark.slow
def test_the_published_rooms_are_those_of_the_vector_and_one_is_too_small(captures: Path, tmp_path: Path) -> None:
    assert (captures / MEETING.name).read_bytes() == MEETING.read_bytes()
    for path in sorted(captures.iterdir()):
        done = command(tmp_path, "world", "check", path, "--json")
        told = json.loads(done.stdout)
        if path.stem in FLOORS_M2:
            assert told["ok"], told["problems"]
            assert abs(told["facts"]["floor_m2"] - FLOORS_M2[path.stem]) < 0.2
        else:
            assert (path.stem, done.returncode) == ("office_small", 1)
            assert told["problems"] == ["no indoor floor of 4 m² or more was found"]


@pytest.mark.slow
@pytest.mark.parametrize("suite", EVERYWHERE)
def test_suites_run_in_the_published_rooms(suite: str, captures: Path, tmp_path: Path) -> None:
    command(tmp_path, "world", "add", "rooms", captures)
    options, *settings = EVERYWHERE[suite]
    told = collected(tmp_path, suite, ",".join(f"rooms/{name}" for name in FLOORS_M2), *options)
    assert "failed" not in told
    given = [word for one in settings for word in ("--set", one)]
    done = command(tmp_path, "run", suite, "--data", suite, "--model", "freeze", "--no-baselines", *given, "--out", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "freeze: 4 expected = 4 scored + 0 skipped + 0 failed" in done.stdout
    small = command(
        tmp_path, "collect", suite, "--world", "scan", "--scenes", "rooms/office_small", *options, "--out", "small"
    )
    assert "the scan has no indoor floor" in small.stdout + small.stderr
