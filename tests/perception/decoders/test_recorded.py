"""Decoders that are given the poses: from a file, or from the world."""

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decode_cached, open_decoder

FRAMES = 25
CASES = Path(__file__).parents[2] / "cases"


def poses_of_walk(pitch: float = 0.0) -> FloatArray:
    """A quarter of a circle of 4 m to the left, in a world with z up."""
    angle = np.linspace(0, np.pi / 2, FRAMES)
    at = np.stack([4 * np.sin(angle), 4 - 4 * np.cos(angle), np.full(FRAMES, 1.5)], -1) + np.array([7.0, 8.0, 0.0])
    return pose_from_yaw_pitch(at, angle, pitch)


def request_of(n: int = FRAMES, **fields: Any) -> DecodeRequest:
    given = {"name": "model/walk", **fields}
    return DecodeRequest(Clip.from_array(np.zeros((n, 4, 6, 3), np.uint8), 5.0), None, 1.0, **given)


def expected() -> FloatArray:
    angle = np.linspace(0, np.pi / 2, FRAMES)[::3]
    return np.stack([4 * np.cos(angle) - 4, 4 * np.sin(angle)], -1)


def test_exact_is_the_path_of_the_world_on_the_ground() -> None:
    path = open_decoder("exact").decode(request_of(poses=poses_of_walk()))
    assert path.status == "ok"
    np.testing.assert_allclose(path.xy, expected(), atol=1e-12)
    assert path.frame_indices.tolist() == list(range(0, 25, 3))
    assert path.diagnostics["turn_deg"] == pytest.approx(-90, abs=1e-3)
    path = open_decoder("exact").decode(request_of(poses=poses_of_walk(pitch=-0.5)))
    np.testing.assert_allclose(path.xy, expected(), atol=1e-12)
    still = np.tile(poses_of_walk()[:1], (FRAMES, 1, 1))
    path = open_decoder("exact").decode(request_of(poses=still))
    assert path.status == "stationary"
    np.testing.assert_array_equal(path.xy, np.zeros((9, 2)))
    turning = pose_from_yaw_pitch(np.zeros((FRAMES, 3)), np.linspace(0, 1, FRAMES))
    turned = open_decoder("exact").decode(request_of(poses=turning))
    assert turned.status == "ok"
    assert turned.diagnostics["turn_deg"] == pytest.approx(-np.degrees(1), abs=1e-3)


@pytest.mark.parametrize("poses", [None, poses_of_walk()[:-1], np.full((FRAMES, 4, 4), np.nan)])
def test_exact_fails_where_it_does_not_know(poses: FloatArray | None) -> None:
    path = open_decoder("exact").decode(request_of(poses=poses))
    assert path.status == "failed"
    assert path.xy is None
    assert "pose" in path.reason


def npz(folder: Path, stem: str = "model/walk", **arrays: Any) -> Path:
    file = folder / f"{stem}.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, **arrays)
    return file


def test_poses_of_every_form_are_read(tmp_path: Path) -> None:
    npz(tmp_path, poses=poses_of_walk())
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of())
    assert path.status == "ok"
    np.testing.assert_allclose(path.xy, expected(), atol=1e-12)
    assert path.diagnostics["file"] == "walk.npz"
    from scipy.spatial.transform import Rotation

    poses = poses_of_walk()
    (tmp_path / "a.json").write_text(
        json.dumps({"format": "worldgauge-poses", "version": 1, "poses": poses.tolist(), "metric": True})
    )
    rows = np.c_[np.arange(FRAMES) / 5.0, poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]).as_quat()]
    np.savetxt(tmp_path / "b.txt", rows, header="seconds tx ty tz qx qy qz qw")
    decoder = open_decoder("precomputed", folder=tmp_path)
    for name in ("a", "b"):
        np.testing.assert_allclose(decoder.decode(request_of(name=name)).xy, expected(), atol=1e-9)


def test_poses_without_a_unit_get_it_from_the_anchor(tmp_path: Path) -> None:
    poses = poses_of_walk()
    anchor = poses[0].copy()
    anchor[0, 3] -= 1.0
    for each in (poses, anchor):
        each[..., :3, 3] *= 0.01
    npz(tmp_path, poses=poses, anchor=anchor)
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of())
    assert path.scale == pytest.approx(100.0)
    np.testing.assert_allclose(path.xy, expected(), atol=1e-9)
    near = anchor.copy()
    near[:3, 3] = poses[0, :3, 3] + [0, 0, 1e-5]
    npz(tmp_path, poses=poses, anchor=near)
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of())
    assert (path.status, path.xy) == ("no_scale", None)


def test_content_goes_before_the_name_and_some_frames_may_have_no_pose(tmp_path: Path) -> None:
    npz(tmp_path, poses=poses_of_walk()[::-1])
    npz(tmp_path, "c0ffee", poses=poses_of_walk())
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of(content="c0ffee"))
    np.testing.assert_allclose(path.xy, expected(), atol=1e-12)
    poses = poses_of_walk()
    npz(tmp_path, "some", poses=poses[::6], frames=np.arange(0, FRAMES, 6))
    npz(tmp_path, "nine", poses=poses[::3])
    npz(tmp_path, "half", poses=poses[:13], frames=np.arange(13))
    decoder = open_decoder("precomputed", folder=tmp_path)
    np.testing.assert_allclose(decoder.decode(request_of(name="nine")).xy, expected(), atol=1e-12)
    some = decoder.decode(request_of(name="some"))
    np.testing.assert_allclose(some.xy[::2], expected()[::2], atol=1e-12)
    np.testing.assert_allclose(some.xy, expected(), atol=0.08)
    half = decoder.decode(request_of(name="half"))
    assert half.status == "partial"
    assert "frame 12 of 25" in half.reason
    np.testing.assert_allclose(half.xy, expected()[:5], atol=1e-12)


@pytest.mark.parametrize("case", [c for c in cases("target_scale", "cases") if c.values[0]["kind"] == "vipe"])
def test_the_layout_of_a_released_decoder(tmp_path: Path, case: dict) -> None:
    rows = np.array(case["inputs"]["poses_tx_ty_tz_qx_qy_qz_qw"])
    npz(tmp_path, poses=rows)
    released = open_decoder("precomputed", folder=tmp_path, layout="vipe", compat="released").decode(request_of())
    np.testing.assert_allclose(released.xy, case["expect"]["trajectory_2d"], rtol=1e-12)
    ours = open_decoder("precomputed", folder=tmp_path, layout="vipe").decode(request_of())
    np.testing.assert_array_equal(ours.xy[0], [0, 0])


def test_what_is_no_file_of_poses_is_a_failed_video(tmp_path: Path) -> None:
    poses = poses_of_walk()
    broken = poses.copy()
    broken[3, 0, 0] = np.nan
    wrong: dict[str, dict[str, Any]] = {
        "empty": {},
        "names": {"cameras": poses},
        "shape": {"poses": poses[:, :3]},
        "nan": {"poses": broken},
        "late": {"poses": poses[1:], "frames": np.arange(1, FRAMES)},
        "twice": {"poses": poses[:2], "frames": np.array([0, 0])},
        "far": {"poses": poses[:2], "frames": np.array([0, 99])},
        "fractions": {"poses": poses[:2], "frames": np.array([0.0, 1.0])},
        "many": {"poses": np.concatenate([poses, poses])},
        "objects": {"poses": np.array([{"a": 1}], dtype=object)},
        "unit": {"poses": poses, "metric": False},
        "words": {"poses": poses, "metric": "yes"},
    }
    for name, arrays in wrong.items():
        npz(tmp_path, name, **arrays)
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 not really")
    (tmp_path / "noise.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "short.txt").write_text("0 1 2 3\n")
    (tmp_path / "letters.txt").write_text("0 1 2 3 a b c d\n")
    decoder = open_decoder("precomputed", folder=tmp_path)
    for name in (*wrong, "noise", "deep", "short", "letters", "missing"):
        path = decoder.decode(request_of(name=name))
        assert (path.status, path.xy) == ("failed", None), name
        assert "\n" not in path.reason
        assert path.reason


@pytest.mark.parametrize("compat", ["", "released"])
@pytest.mark.parametrize("layout", ["vggt", "spatracker", "vipe"])
def test_what_no_camera_gives_is_a_failed_video(tmp_path: Path, layout: str, compat: str) -> None:
    poses = poses_of_walk()
    broken, tiny, huge, infinite = (poses.copy() for _ in range(4))
    broken[4], infinite[4] = np.nan, np.inf
    tiny[:2, :3, :3] *= 1e-300
    huge[3, :3, 3] = 1e200
    rows = np.ones((9, 7))
    bad: dict[str, Any] = {
        "nan": np.where(np.arange(9)[:, None] == 4, np.nan, rows) if layout == "vipe" else broken,
        "infinite": np.where(np.arange(9)[:, None] == 4, np.inf, rows) if layout == "vipe" else infinite,
        "zero": np.zeros((9, 7)) if layout == "vipe" else np.zeros((9, 4, 4)),
        "tiny": rows * 1e-300 if layout == "vipe" else tiny,
        "huge": rows * 1e200 if layout == "vipe" else huge,
        "shape": np.zeros((9, 3)),
        "number": np.array(1.0),
        "none": np.zeros((0, 4, 4)),
        "text": np.array(["a"] * 9),
        "complex": np.ones((9, 4, 4), complex),
    }
    decoder = open_decoder("precomputed", folder=tmp_path, layout=layout, compat=compat)
    for name, values in bad.items():
        npz(tmp_path, name, poses=values)
        path = decoder.decode(request_of(name=name))
        if (compat, layout) == ("released", "vggt") and name in ("zero", "tiny"):
            # The released rules look at no rotation; an anchor in the same place as the start gives no size.
            assert path.status == "no_scale" if name == "zero" else np.isfinite(path.xy).all()
            continue
        assert (path.status, path.xy) == ("failed", None), name
        assert path.reason
        assert "\n" not in path.reason


def test_files_that_break_their_readers_are_failed_videos(tmp_path: Path) -> None:
    head = '{"format": "worldgauge-poses", "version": 1, '
    texts = {
        "object": '"poses": {"a": 1}}',
        "null": '"poses": null}',
        "text": '"poses": "abc"}',
        "true": '"poses": true}',
        "large": f'"poses": [[[1{"0" * 400}]]]}}',
        "ragged": '"poses": [[1], [1, 2]]}',
        "anchor": f'"poses": {np.eye(4)[None].tolist()}, "anchor": {{"a": 1}}}}',
        "frames": f'"poses": {np.eye(4)[None].tolist()}, "frames": {{"a": 1}}}}',
        "metric": f'"poses": {np.eye(4)[None].tolist()}, "metric": [true, false]}}',
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(head + text)
    good = npz(tmp_path, "good", poses=poses_of_walk())
    with zipfile.ZipFile(tmp_path / "packed.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("poses.npy", zipfile.ZipFile(good).read("poses.npy"))
    packed = bytearray((tmp_path / "packed.npz").read_bytes())
    packed[60:160] = bytes(range(155, 255))
    (tmp_path / "damaged.npz").write_bytes(bytes(packed))
    with zipfile.ZipFile(tmp_path / "enormous.npz", "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4, 4), }"
        archive.writestr("poses.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    (tmp_path / "late.txt").write_text("0 0 0 0 0 0 0 1\n1e300 0 0 0 0 0 0 1\n")
    decoder = open_decoder("precomputed", folder=tmp_path)
    for name in (*texts, "damaged", "enormous", "late"):
        path = decoder.decode(request_of(name=name))
        assert (path.status, path.xy) == ("failed", None), name
        assert path.reason
        assert "\n" not in path.reason


def test_poses_that_give_no_path(tmp_path: Path) -> None:
    poses = poses_of_walk()
    for name, value in (("nan", np.nan), ("zero", 0.0)):
        wrong = poses.copy()
        wrong[4] = value
        npz(tmp_path, name, poses=wrong[::2], frames=np.arange(0, FRAMES, 2))
        path = open_decoder("precomputed", folder=tmp_path).decode(request_of(name=name))
        assert (path.status, path.xy) == ("failed", None)
        assert "frame 2" in path.reason
    decoder = open_decoder("precomputed", folder=tmp_path)
    for count, said in ((1, "1 frame from the start was"), (2, "2 frames from the start were"), (3, "only 3 frames")):
        npz(tmp_path, poses=poses_of_walk()[:count], frames=np.arange(count))
        path = decoder.decode(request_of())
        assert (path.status, path.xy) == ("failed", None)
        assert said in path.reason
    npz(tmp_path, poses=poses_of_walk()[:4], frames=np.arange(4))
    assert decoder.decode(request_of()).status == "partial"
    poses = poses_of_walk()
    poses[:, :3, 3] *= 3
    npz(tmp_path, poses=poses)
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of(max_speed_m_s=3.0))
    assert (path.status, path.xy) == ("failed", None)
    assert "3.9 m/s" in path.reason
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("poses.npy", bytes(65 << 20))
    path = open_decoder("precomputed", folder=tmp_path).decode(request_of(name="bomb"))
    assert "unpacks" in path.reason


@pytest.mark.parametrize("name", ["../walk", "a/../../walk", "/etc/walk", "a\\walk", "c:walk", ""])
def test_names_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    npz(tmp_path, "walk", poses=poses_of_walk())
    (tmp_path / "inside").mkdir()
    path = open_decoder("precomputed", folder=tmp_path / "inside").decode(request_of(name=name))
    assert path.status == "failed"
    assert "name" in path.reason


def test_settings_that_cannot_be_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        open_decoder("precomputed", folder=tmp_path / "missing")
    with pytest.raises(UsageError, match="no layout"):
        open_decoder("precomputed", folder=tmp_path, layout="colmap")
    with pytest.raises(UsageError, match="released"):
        open_decoder("precomputed", folder=tmp_path, compat="released")


def test_what_lies_in_the_folder_is_one_of_its_settings(tmp_path: Path) -> None:
    """By names, sizes and times, at any depth: scores are looked up by it."""
    decoder = open_decoder("precomputed", folder=tmp_path)
    seen = [decoder.settings["files"]]
    (tmp_path / "model").mkdir()
    for change in (
        lambda: (tmp_path / "model" / "a.txt").write_text("1"),
        lambda: (tmp_path / "model" / "a.txt").write_text("12"),
        lambda: os.utime(tmp_path / "model" / "a.txt", ns=(1, 1)),
        lambda: (tmp_path / "model" / "a.txt").rename(tmp_path / "a.txt"),
        lambda: (tmp_path / "a.txt").unlink(),
    ):
        change()
        seen.append(decoder.settings["files"])
    assert (len(set(seen[:-1])), seen[-1]) == (5, seen[0])
    (tmp_path / "notes.md").write_text("no poses")
    assert decoder.settings["files"] == seen[0]


def test_poses_that_are_replaced_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    decoder = open_decoder("precomputed", folder=tmp_path)
    npz(tmp_path, poses=poses_of_walk())
    before = decode_cached(decoder, request_of(), "abc")
    npz(tmp_path, poses=poses_of_walk()[::-1])
    after = decode_cached(decoder, request_of(), "abc")
    assert not np.allclose(before.xy, after.xy)


def straight(n: int = 24) -> DecodeRequest:
    return DecodeRequest(Clip.from_array(np.zeros((n, 4, 6, 3), np.uint8), 12.0), None, None, n_points=n)


def decode_text(folder: Path, text: str | bytes, n: int = 24) -> DecodedPath:
    (folder / "path.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return open_decoder("precomputed", folder=folder).decode(dataclasses.replace(straight(n), name="path"))


def tum(seconds: Any, blank: str = " ", end: str = "\n") -> str:
    rows = [[repr(float(t)), "0", "0", f"{0.1 * n:.1f}", "0", "0", "0", "1"] for n, t in enumerate(seconds)]
    return "# timestamp tx ty tz qx qy qz qw" + end + end.join(blank.join(row) for row in rows) + end


STAMPS = np.arange(24) / 12
TUM = {
    "mark": (CASES / "tum_bom.txt").read_bytes(),
    "epoch": (CASES / "tum_epoch.txt").read_bytes(),
    "carriage returns": tum(STAMPS, end=" \r\n"),
    "old carriage returns": tum(STAMPS, end="\r"),
    "tabs, blanks and blank lines": tum(STAMPS, blank=" \t ", end="\t\n\n"),
    "clock with noise": tum(1403636579.7635 + STAMPS + np.random.default_rng(0).normal(0, 0.004, 24)),
    "clock before zero": tum(STAMPS - 40.0),
    "one frame late": tum(STAMPS + 1 / 12),
    "rounding": tum(STAMPS + 1e-9),
}


@pytest.mark.parametrize("text", TUM.values(), ids=TUM)
def test_tum_files(tmp_path: Path, text: str | bytes) -> None:
    path = decode_text(tmp_path, text)
    assert (path.status, path.reason) == ("ok", "")
    np.testing.assert_allclose(path.xy[:, 1], 0.1 * np.arange(24), atol=1e-9)


@pytest.mark.parametrize("hertz", [5.0, 10.0, 29.97, 100.0])
def test_poses_of_another_rate_lie_between_frames(tmp_path: Path, hertz: float) -> None:
    seconds = np.arange(0, 2.2, 1 / hertz)
    rows = [f"{t + 1.7e9:.6f} 0 0 {1.2 * t:.9f} 0 0 0 1" for t in seconds]
    path = decode_text(tmp_path, "\n".join(rows[: len(seconds[seconds <= 2.0])]))
    assert path.status == "ok"
    np.testing.assert_allclose(path.xy[:, 1], 0.1 * np.arange(24), atol=1e-6)


def test_stamps_with_gaps_and_lists_of_two_cameras(tmp_path: Path) -> None:
    path = decode_text(tmp_path, tum(1.7e9 + np.delete(STAMPS, [5, 6, 7])))
    np.testing.assert_allclose(path.xy[[4, 8, 23], 1], [0.4, 0.5, 2.0], atol=1e-9)
    assert path.diagnostics["interpolated"] == [5, 6, 7]
    rows = [f"{n + 1} 1 0 0 0 0 0 0 1 cam{n % 2}/{n // 2}.png\n" for n in range(24)]
    assert "the images of one camera" in decode_text(tmp_path, "\n".join(rows)).reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (tum(STAMPS, blank=","), "blanks between"),
        (tum(STAMPS, blank=", "), "blanks between"),
        ("timestamp tx ty tz qx qy qz qw\n" + tum(STAMPS), "eight numbers"),
        (tum(STAMPS)[:-6], "eight numbers"),
        (tum(STAMPS[6:]), "the time of frame 6"),
        (tum(np.repeat(STAMPS, 2)), "times must ascend"),
        (tum(STAMPS[::-1]), "times must ascend"),
        (tum(1e18 + STAMPS), "below 1e"),
        (tum(STAMPS).encode("utf-16"), "UTF-16"),
        (tum(STAMPS).encode("utf-16-be"), "UTF-16"),
    ],
)
def test_what_no_tum_file_holds(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = decode_text(tmp_path, text)
    assert path.status == "failed"
    assert said in path.reason


LISTS = {
    "frame_{}.jpg": True,
    "cam0/{}.png": True,
    "frame_{:04d}.jp2": True,
    "frame.{:04d}": True,
    "{}_left.png": True,
    "frame_{}_of_24.jpg": False,
    "cam{}/view.png": False,
    "17000000{:02d}.25.png": False,
    "17000000000{:02d}.png": False,
}


@pytest.mark.parametrize(("form", "is_numbered"), LISTS.items())
def test_image_lists_by_the_numbers_of_their_frames(tmp_path: Path, form: str, is_numbered: bool) -> None:
    rows = [f"{n + 1} 1 0 0 0 0 0 {-0.1 * n} 1 {form.format(n)}\n" for n in range(24)]
    path = decode_text(tmp_path, "\n".join(reversed(rows)))
    assert path.status == ("ok" if is_numbered else "failed"), path.reason
    if is_numbered:
        np.testing.assert_allclose(path.xy[:, 1], 0.1 * np.arange(24), atol=1e-9)
    else:
        assert "number" in path.reason
