from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from support.scan_tree import BED, CHAIR, HM3D_KEY, HOUSE_NUMBER, MP3D_KEY, make_hm3d, make_mp3d
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.report.task_cards import _terms
from worldgauge.tools.doctor import AbsentError, check_scans
from worldgauge.worlds.scan import Scan, prepared, sources
from worldgauge.worlds.scan.semantics import Name, hm3d_table, house_table
from worldgauge.worlds.scan.sources import scan_scenes, split_of, told_of

FILE = Path("names.txt")
HEADER = "HM3D Semantic Annotations\n"


def test_rows_with_commas_and_other_ends_of_lines() -> None:
    rows = '1,A1B2C3,"chair, of wood",2\r\n\r\n2,000001,"tv_stand",-0\r\n'.replace("-0", "0")
    found = hm3d_table(HEADER.replace("\n", "\r\n") + rows, FILE)
    assert found == {1: Name("chair, of wood", 2, 0xC3B2A1), 2: Name("tv stand", 0, 0x010000)}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('1,A1B2C,"chair",2', "line 2 is '1,A1B2C"),
        ('x,A1B2C3,"chair",2', "line 2 has 'x' where a number"),
        ('70000,A1B2C3,"chair",2', "line 2 has '70000' where a number from 0 to 65535"),
        ('1,A1B2C3,"chair"', "line 2 is"),
        ('1,A1B2C3,"chair",2\n1,A1B2C4,"bed",2', "line 3 has the number or the colour of an earlier line"),
        ('1,A1B2C3,"chair",2\n2,A1B2C3,"bed",2', "line 3 has the number or the colour of an earlier line"),
    ],
)
def test_a_damaged_row_is_one_line(row: str, said: str) -> None:
    with pytest.raises(DataError, match=r"names\.txt: ") as error:
        hm3d_table(HEADER + row, FILE)
    assert said in str(error.value)
    with pytest.raises(DataError, match="does not begin with"):
        hm3d_table(row, FILE)


def test_a_house_names_objects_by_the_forty_categories() -> None:
    box = " 0 0 0 1 0 0 0 1 0 1 1 1 0"
    text = f"ASCII 1.1\nC 0 5 dining#chair 3 chest_of_drawers 0\nO 4 2 0{box}\nO 5 -1 -1{box}\nX nothing\n"
    assert house_table(text, FILE) == {4: Name("chest of drawers", 2), 5: Name("unknown", None)}
    for bad, said in (
        (text.replace("O 4 2 0", "O 4 2 9"), "names category 9, which is not there"),
        (text + f"O 4 1 0{box}", "has the number 4 of an earlier object"),
        (text + "O 4", "line 6 has 2 fields"),
        (text.replace("ASCII 1.1", "ASCII 1.0"), "does not begin with"),
    ):
        with pytest.raises(DataError, match=said):
            house_table(bad, FILE)


@pytest.mark.parametrize("kind", ["hm3d", "mp3d"])
def test_pixels_of_things_are_those_of_their_colour(kind: str, tmp_path: Path) -> None:
    {"hm3d": make_hm3d, "mp3d": make_mp3d}[kind](tmp_path / kind)
    source = sources.add(kind, tmp_path / kind)
    (files,) = sources.scenes_of(source)
    scan = Scan(files.key)
    boxes = {thing.instance: thing for thing in scan.landmarks}
    assert set(boxes) == {HOUSE_NUMBER, CHAIR, BED}
    assert np.allclose([boxes[CHAIR].low, boxes[CHAIR].high], [[2.0, 5.2, 0.0], [2.5, 5.7, 0.9]], atol=1e-5)
    for number, channel, eye in ((CHAIR, 0, (2.25, 3.6, 1.2)), (BED, 2, (2.4, 2.9, 4.0))):
        middle = boxes[number].centre
        yaw = float(np.arctan2(middle[1] - eye[1], middle[0] - eye[0]))
        for camera in (Camera.from_horizontal_fov(96, 72, 90), Panorama(128, 64)):
            view = scan.view(pose_from_yaw_pitch(eye, yaw), camera)
            seen = view.instance == number
            red, green, blue = (view.rgb[..., n].astype(int) for n in range(3))
            own = (red > 150) & (green < 60) if channel == 0 else (blue > 140) & (red < 60)
            assert seen.sum() > 30
            # But for pixels on edges, whose colour is mixed.
            assert (seen != own).mean() < 0.01
            assert (view.category[seen] == scan.categories.index(boxes[number].category)).all()


def test_names_of_another_scan_are_refused(tmp_path: Path) -> None:
    scene = make_mp3d(tmp_path / "mp3d")
    sources.add("mp3d", tmp_path / "mp3d")
    mesh = scene / f"{MP3D_KEY}_semantic.ply"
    head, _, body = mesh.read_text().partition("end_header\n")
    lines = body.splitlines()
    lines[0] = "90.0 0.0 0.0"
    mesh.write_text(head + "end_header\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"off the scan: it is that of another scene"):
        Scan(f"mp3d/{MP3D_KEY}")


def test_splits_are_published_or_by_hash_and_folders_give_theirs(tmp_path: Path) -> None:
    assert [split_of(f"hm3d/{n:05d}-TEEsavR23oF") for n in (0, 799, 800, 899, 900)] == [
        *("train", "train", "val", "val", "test")
    ]
    assert [split_of(f"mp3d/{id}") for id in ("17DRP5sb8fy", "2azQ1b91cZZ", "2t7WUuJeko7")] == ["train", "val", "test"]
    others = [split_of(f"mine/flat-{n}") for n in range(1000)]
    assert [round(others.count(name), -2) for name in ("train", "val", "test")] == [800, 100, 100]
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")
    assert scan_scenes("scan", "hm3d", "val") == (f"hm3d/{HM3D_KEY}",)
    assert scan_scenes("scan", f"hm3d/{HM3D_KEY}", "test") == (f"hm3d/{HM3D_KEY}",), "what is named is taken"
    with pytest.raises(Exception, match="no scene of 'hm3d' is in split test"):
        scan_scenes("scan", "hm3d", "test")
    with pytest.raises(Exception, match="go together"):
        scan_scenes("scan", 60, "test")
    assert told_of((f"hm3d/{HM3D_KEY}",), ground=True)["floor"] == "navmesh"
    assert told_of(("example/room",), ground=True) == {"floor": "heightfield"}
    assert "Matterport" in told_of((f"hm3d/{HM3D_KEY}",))["licence"]


def test_the_digest_of_a_file_is_remembered_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.glb"
    file.write_bytes(b"one")
    os.utime(file, (1e9, 1e9))
    monkeypatch.setattr(prepared, "_SETTLED_NS", -1)
    first = prepared.digest_of_kept(file)
    prepared._digest.cache_clear()
    monkeypatch.setattr(prepared, "digest_of_file", lambda path: pytest.fail("it is kept"))
    assert prepared.digest_of_kept(file) == first == sha256(b"one").hexdigest()
    monkeypatch.undo()
    file.write_bytes(b"two")
    assert prepared.digest_of_kept(file) == sha256(b"two").hexdigest()
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(file / "no_folder"))
    os.utime(file, (2e9 / 2 + 5, 1e9 + 5))
    assert prepared.digest_of_kept(file) == sha256(b"two").hexdigest(), "what cannot be kept is found again"


def test_films_of_scans_tell_their_terms(tmp_path: Path) -> None:
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")
    (told,) = _terms(WorldFacts("scan", {"scene": f"hm3d/{HM3D_KEY}"}))
    assert told.startswith(f"Frames are of the scan hm3d/{HM3D_KEY}, which is used under the Matterport terms")
    assert not list(_terms(WorldFacts("scan", {"scene": "example/room"})))
    assert not list(_terms(WorldFacts("indoor", {"seed": 1})))
    assert not list(_terms(None))


def test_the_doctor_looks_at_registered_folders(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="worldgauge world add NAME DIR"):
        check_scans()
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")
    assert check_scans().startswith("hm3d 1 scenes (1 with navmesh, 1 with names); ")
    shutil.rmtree(tmp_path / "hm3d")
    with pytest.raises(WorldgaugeError, match="is gone: worldgauge world remove hm3d"):
        check_scans()
