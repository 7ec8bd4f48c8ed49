"""What the recogniser is shown: boxes that hold what their label says."""

import numpy as np

from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, scene_seed
from worldgauge_lab.network_recogniser import clear_views, labelled_views


def test_boxes_lie_in_the_image_and_labels_are_in_view() -> None:
    home = Home(scene_seed("train", 3))
    views = list(labelled_views(home, 12, np.random.default_rng(1)))
    assert len(views) == 12
    assert sum(len(view.boxes) for view in views) > 20
    for view in views:
        height, width = view.image.shape[:2]
        assert len(view.boxes) == len(view.labels)
        assert view.present.shape == (len(LABELS),)
        for x0, y0, x1, y1 in view.boxes:
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height


def test_same_generator_same_views() -> None:
    home = Home(scene_seed("train", 3))
    one, other = (list(labelled_views(home, 4, np.random.default_rng(5))) for _ in range(2))
    assert all(np.array_equal(a.image, b.image) and a.boxes == b.boxes for a, b in zip(one, other, strict=True))


def test_clear_views_show_one_thing() -> None:
    home = Home(scene_seed("train", 3))
    views = list(clear_views(home, 12, np.random.default_rng(2)))
    assert 2 < len(views) <= 12
    for view in views:
        assert len(view.boxes) == len(view.labels) == 1
