"""COLMAP image lists, against the vector file and written and read again."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import DataError
from worldgauge.perception.colmap import read_images_txt, write_images_txt
from worldgauge.suites.mind.format.files import our_pose


def text_of(case: dict[str, Any]) -> str:
    rng, n = np.random.default_rng(case["seed"]), case["n"]
    q, t = rng.normal(size=(n, 4)), 2 * rng.normal(size=(n, 3))
    if not case["unnormalised"]:
        q /= np.linalg.norm(q, axis=1, keepdims=True)
    orders = {"sorted": lambda: range(n), "reversed": lambda: range(n)[::-1], "shuffled": lambda: rng.permutation(n)}
    lines = ["# Image list with two lines of data per image:", f"# Number of images: {n}"]
    for j, i in enumerate(orders[case["order"]]()):
        lines.append(f"{j + 1} {' '.join(f'{v:.9f}' for v in (*q[i], *t[i]))} 1 images/frame_{i:06d}.jpg")
        lines += [""] if case["second_line"] else []
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", cases("mind_images_txt", "cases"))
def test_the_released_reader(case: dict[str, Any]) -> None:
    text = text_of(case)
    assert len(text) == case["text_chars"], "the recipe of the vectors"
    _, poses = read_images_txt(text, reader="released")
    assert len(poses) == case["poses_returned"]
    np.testing.assert_allclose(poses[:, :3, 3], case["centres"], atol=1e-8)
    np.testing.assert_allclose(poses[0, :3, :3], case["R_first"], atol=1e-8)
    np.testing.assert_allclose(poses[-1, :3, :3], case["R_last"], atol=1e-8)


@pytest.mark.parametrize("case", cases("mind_images_txt", "cases"))
def test_ours_loses_no_pose(case: dict[str, Any]) -> None:
    names, poses = read_images_txt(text_of(case))
    assert (len(poses), names) == (case["n"], tuple(sorted(names)))


def test_lines_of_points_are_no_poses() -> None:
    pose = "1 1 0 0 0 1 2 3 1 a b.jpg"
    points = "10.5 20.5 -1 30.5 40.5 7 50.5 60.5 -1 70.5 80.5 3"
    whole: tuple[tuple[Literal["ours", "released"], str], ...] = (("ours", "a b.jpg"), ("released", "a"))
    for reader, name in whole:
        names, poses = read_images_txt(f"{pose}\n{points}\n", reader=reader)
        assert names == (name,)
        np.testing.assert_allclose(poses[0, :3, 3], [-1, -2, -3])


READERS: tuple[Literal["ours", "released"], ...] = ("ours", "released")


@pytest.mark.parametrize("reader", READERS)
def test_names_may_be_numbers(reader: Literal["ours", "released"]) -> None:
    text = "".join(f"{i} 1 0 0 0 {i} 0 0 1 {i:06d}\n10 20 -1\n" for i in (2, 1, 3))
    names, poses = read_images_txt(text, reader=reader)
    assert names == ("000001", "000002", "000003")
    np.testing.assert_allclose(poses[:, 0, 3], [-1, -2, -3])


@pytest.mark.parametrize("reader", READERS)
def test_an_indented_comment_is_no_pose(reader: Literal["ours", "released"]) -> None:
    names, _ = read_images_txt("  # id qw qx qy qz tx ty tz camera name\n1 1 0 0 0 1 2 3 1 a.jpg\n", reader=reader)
    assert names == ("a.jpg",)


def test_released_reading_of_zeros_and_blanks() -> None:
    _, poses = read_images_txt("1 0 0 0 0 1 2 3 1 a.jpg\n\n", reader="released")
    np.testing.assert_allclose(poses[0, :3], [[1, 0, 0, -1], [0, 1, 0, -2], [0, 0, 1, -3]])
    text = "1 1 0 0 0 1 0 0 1 frame 2.jpg\n\n2 1 0 0 0 2 0 0 1 frame 1.jpg\n\n"
    assert read_images_txt(text).names == ("frame 1.jpg", "frame 2.jpg")
    names, poses = read_images_txt(text, reader="released")
    assert names == ("frame", "frame"), "so they stay in the order of the file"
    np.testing.assert_allclose(poses[:, 0, 3], [-1, -2])


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-180, 180), st.floats(-89, 89), st.floats(-1e3, 1e3)), min_size=1, max_size=5))
def test_written_and_read(rows: list[tuple[float, float, float]]) -> None:
    poses = our_pose([(x, -2 * x, 0.5 * x) for _, _, x in rows], [(0, p, y) for y, p, _ in rows])
    with TemporaryDirectory() as folder:
        names, found = read_images_txt(write_images_txt(Path(folder) / "images.txt", poses))
    np.testing.assert_allclose(found, poses, atol=1e-9)
    assert names[0] == "images/frame_000000.jpg"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# nothing\n", "holds no pose"),
        ("1 1 0 0 0 nan 0 0 1 a.jpg\n", "line 1"),
        ("1 0 0 0 0 1 0 0 1 a.jpg\n", "line 1: not finite, or a quaternion of zeros"),
        ("0.1 1 0 0 0 1 0 0 1 1\n", "line 1: id and camera must be whole numbers"),
        ("1.0 1 0 0 0 1 0 0 0.5 1\n", "line 1: id and camera must be whole numbers"),
        ("1 w 0 0 0 1 0 0 1 a.jpg\n", "line 1"),
        (f"1 1 0 0 0 {math.inf} 0 0 1 a.jpg\n", "line 1"),
    ],
)
def test_bad_lists(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_images_txt(text)


def test_lists_without_a_pose_or_with_two(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"images\.txt"):
        read_images_txt(tmp_path / "images.txt")
    with pytest.raises(DataError, match=r"'a\.jpg' is listed twice"):
        read_images_txt("1 1 0 0 0 0 0 0 1 a.jpg\n\n2 1 0 0 0 0 0 1 1 a.jpg\n\n")


ORDERS = {
    "unpadded": [f"frame_{n}.jpg" for n in range(24)],
    "several numbers": [f"scene_{a}_frame_{b}.png" for a in (2, 10) for b in (9, 10, 100)],
    "mixed digits": ["a8.jpg", "a09.jpg", "a10.jpg", "a0011.jpg"],
    "folders": [f"cam{a}/{b}.png" for a in (0, 9, 10) for b in (1, 2, 10)],
    "a folder before its longer name": ["cam/10.png", "cam-2/1.png"],
    "clock": ["1700000000.25.png", "1700000000.3.png", "1700000000.3333.png", "1700000001.png"],
}


@pytest.mark.parametrize("names", ORDERS.values(), ids=ORDERS)
def test_images_are_in_natural_order(names: list[str], tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(len(names))
    rows = [f"{n + 1} 1 0 0 0 0 0 {-0.1 * n} 1 {names[n]}  \n" for n in order]
    path = tmp_path / "images.txt"
    path.write_bytes("\ufeff# Image list\r\n".encode() + "\r\n".join(rows).encode())
    found, poses = read_images_txt(path)
    assert list(found) == names
    np.testing.assert_allclose(poses[:, 2, 3], 0.1 * np.arange(len(names)), atol=1e-12)


def test_rotations_are_those_of_scipy() -> None:
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(4)
    turns, moves = Rotation.random(9, random_state=5), rng.normal(size=(9, 3))
    rows = np.c_[turns.as_quat(scalar_first=True) * rng.uniform(-3, 3, (9, 1)), moves]
    text = "".join(f"{n} {' '.join(map(repr, row.tolist()))} 1 {n}.png\n\n" for n, row in enumerate(rows))
    _, poses = read_images_txt(text)
    np.testing.assert_allclose(poses[:, :3, :3], turns.inv().as_matrix(), atol=1e-12)
    np.testing.assert_allclose(poses[:, :3, 3], -turns.inv().apply(moves), atol=1e-12)
