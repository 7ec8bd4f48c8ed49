"""What the recogniser looks at."""

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.closedloop.recognition.recogniser import box_features, in_mirror, scene_features


def picture(seed: int = 0, size: int = 192) -> np.ndarray:
    rough = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8)
    return cv2.resize(rough, (size, size), interpolation=cv2.INTER_CUBIC)


def test_resolution_plays_little_part() -> None:
    large = picture(size=384)
    small = cv2.resize(large, (128, 128), interpolation=cv2.INTER_AREA)
    off = box_features(large, (90, 120, 240, 300)) - box_features(small, (30, 40, 80, 100))
    assert np.abs(off).max() < 0.05
    assert np.abs(scene_features(large) - scene_features(small)).max() < 0.05


def test_the_box_matters_and_so_does_the_image() -> None:
    image = picture()
    one = box_features(image, (20, 20, 80, 90))
    assert one.dtype == np.float32
    assert np.isfinite(one).all()
    assert np.abs(one - box_features(image, (60, 20, 120, 90))).max() > 0.1
    assert np.abs(one - box_features(picture(1), (20, 20, 80, 90))).max() > 0.1
    assert np.array_equal(one, box_features(image.copy(), (20, 20, 80, 90)))


@pytest.mark.parametrize("box", [(0, 0, 1, 1), (191, 191, 192, 192), (0, 0, 192, 192), (-20, 50, 10, 60)])
def test_boxes_at_the_border(box: tuple[int, int, int, int]) -> None:
    assert np.isfinite(box_features(picture(), box)).all()


@pytest.mark.parametrize("box", [(10, 10, 10, 20), (30, 10, 20, 20), (192, 0, 200, 10), (0, -9, 10, 0)])
def test_boxes_without_a_pixel_are_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ShapeError, match="expected a box"):
        box_features(picture(), box)


def test_other_images_are_refused() -> None:
    with pytest.raises(ShapeError, match="expected an image"):
        scene_features(picture().astype(np.float32))  # type: ignore[arg-type]
    assert np.isfinite(scene_features(np.zeros((1, 3, 3), np.uint8))).all()


def test_the_mirror_of_a_mirror_is_the_same() -> None:
    image, box = picture(), (20, 30, 80, 90)
    mirrored, there = in_mirror(image, box)
    assert there == (112, 30, 172, 90)
    assert np.array_equal(mirrored[:, 112:172], image[:, 20:80][:, ::-1])
    assert np.array_equal(in_mirror(mirrored, there)[0], image)
    assert in_mirror(mirrored, there)[1] == box
