"""Pictures of the build suite: which names are inside, what is read, what is refused."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.mineanybuild import format as build


@pytest.fixture
def picture() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.kron(rng.integers(0, 256, (5, 7, 3)), np.ones((8, 8, 1))).astype(np.uint8)


@pytest.mark.parametrize("name", ["images/a/b.png", "./images/a/b.png", "/data/images/a/b.png", "data/images/a/b.png"])
def test_all_spellings_are_one_file(tmp_path: Path, picture: np.ndarray, name: str) -> None:
    build.write_image(tmp_path, "images/a/b.png", picture)
    assert (tmp_path / "data/images/a/b.png").exists()
    np.testing.assert_array_equal(build.read_image(tmp_path, name), picture)
    assert build.image_size(tmp_path, name) == (56, 40)


@pytest.mark.parametrize("name", ["../x.png", "/data/../../x.png", "", "/", "data", "a\\b.png", "C:/x.png", "a\nb.png"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="no name of a picture"):
        build.read_image(tmp_path, name)
    with pytest.raises(DataError, match="no name of a picture"):
        build.write_image(tmp_path, name, np.zeros((2, 2, 3), np.uint8))


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path, picture: np.ndarray) -> None:
    build.write_image(tmp_path / "other", "x.png", picture)
    (tmp_path / "root/data").mkdir(parents=True)
    (tmp_path / "root/data/x.png").symlink_to(tmp_path / "other/data/x.png")
    with pytest.raises(DataError, match="leads out of"):
        build.read_image(tmp_path / "root", "x.png")


def test_jpeg_is_read_and_close(tmp_path: Path, picture: np.ndarray) -> None:
    build.write_image(tmp_path, "x.jpg", picture)
    assert (tmp_path / "data/x.jpg").read_bytes()[:3] == b"\xff\xd8\xff"
    read = build.read_image(tmp_path, "x.jpg")
    assert build.image_size(tmp_path, "x.jpg") == (56, 40)
    assert np.abs(read.astype(int) - picture).mean() < 8
    build.write_image(tmp_path, "y.jpg", picture)
    assert (tmp_path / "data/x.jpg").read_bytes() == (tmp_path / "data/y.jpg").read_bytes()


def test_transparent_becomes_white_and_grey_becomes_colour(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    bgra = np.zeros((2, 2, 4), np.uint8)
    bgra[0, 0] = 10, 20, 30, 255
    bgra[0, 1] = 10, 20, 30, 0
    bgra[1, 0] = 100, 100, 100, 51
    cv2.imwrite(str(tmp_path / "data/alpha.png"), bgra)
    read = build.read_image(tmp_path, "alpha.png")
    assert read[0, 0].tolist() == [30, 20, 10]
    assert read[0, 1].tolist() == [255, 255, 255]
    assert read[1, 0].tolist() == [224, 224, 224], "a fifth of 100 and four fifths of 255"
    cv2.imwrite(str(tmp_path / "data/grey.png"), np.full((3, 4), 77, np.uint8))
    assert build.read_image(tmp_path, "grey.png").tolist() == np.full((3, 4, 3), 77).tolist()
    cv2.imwrite(str(tmp_path / "data/deep.png"), np.full((3, 4, 4), 65535, np.uint16))
    assert build.read_image(tmp_path, "deep.png").tolist() == np.full((3, 4, 3), 255).tolist()


def test_damaged_foreign_and_missing_pictures_say_so(tmp_path: Path, picture: np.ndarray) -> None:
    build.write_image(tmp_path, "x.png", picture)
    path = tmp_path / "data/x.png"
    whole = path.read_bytes()
    path.write_bytes(whole[:60])
    with pytest.raises(DataError, match="damaged"):
        build.read_image(tmp_path, "x.png")
    path.write_bytes(b"GIF89a" + whole)
    with pytest.raises(DataError, match="neither a PNG nor a JPEG"):
        build.read_image(tmp_path, "x.png")
    path.write_bytes(b"\xff\xd8\xff")
    with pytest.raises(DataError, match="neither a PNG nor a JPEG"):
        build.image_size(tmp_path, "x.png")
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        build.read_image(tmp_path, "x.png")


@pytest.mark.parametrize("name", ["x.png", "x.jpg"])
def test_a_picture_without_its_end_is_refused_wherever_it_is_cut(
    tmp_path: Path, picture: np.ndarray, name: str
) -> None:
    build.write_image(tmp_path, name, picture)
    path = tmp_path / "data" / name
    whole = path.read_bytes()
    for kept in np.linspace(1, len(whole) - 8, 25).astype(int):
        path.write_bytes(whole[:kept])
        with pytest.raises(DataError):
            build.read_image(tmp_path, name)


def test_pictures_beyond_the_limits_are_refused_before_decoding(
    tmp_path: Path, picture: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.write_image(tmp_path, "x.png", picture)
    path = tmp_path / "data/x.png"
    data = bytearray(path.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="60000x60000 pixels"):
        build.read_image(tmp_path, "x.png")
    monkeypatch.setattr(build, "MAX_IMAGE_BYTES", 20)
    with pytest.raises(DataError, match="passes the limit of 20 bytes"):
        build.read_image(tmp_path, "x.png")


def test_only_pictures_are_written(tmp_path: Path, picture: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"\.png or \.jpg"):
        build.write_image(tmp_path, "x.gif", picture)
    with pytest.raises(ShapeError, match="uint8"):
        build.write_image(tmp_path, "x.png", picture.astype(float))
    with pytest.raises(ShapeError, match="uint8"):
        build.write_image(tmp_path, "x.jpg", picture[..., 0])


@pytest.mark.parametrize("seed", range(4))
def test_mutated_pictures_are_read_or_refused(tmp_path: Path, picture: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name in ("x.png", "x.jpg"):
        build.write_image(tmp_path, name, picture)
        path = tmp_path / "data" / name
        whole = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(40):
            spoilt = whole.copy()
            spoilt[rng.integers(0, len(whole), 4)] = rng.integers(0, 256, 4)
            path.write_bytes(spoilt[: int(rng.integers(1, len(whole) + 1))].tobytes())
            try:
                found = build.read_image(tmp_path, name)
            except DataError:
                continue
            assert (found.dtype, found.ndim) == (np.uint8, 3)
