"""Instances of label images and of masks agree, with each other and with numpy."""

import numpy as np
import pytest

from worldgauge.perception.instances import CATEGORIES, instances_from_labels, instances_from_masks


@pytest.mark.parametrize("seed", range(3))
def test_labels_and_masks_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    category = np.kron(rng.integers(0, 11, (9, 16)), np.ones((4, 5), int)).astype(np.uint16)
    instance = np.kron(rng.integers(0, 2, (9, 16)) * 60_000, np.ones((4, 5), int)).astype(np.uint16)
    expected, masks = {}, {}
    for index, name in enumerate(CATEGORIES, start=1):
        for number in (0, 60_000):
            mask = (category == index) & (instance == number)
            masks.setdefault(name, []).append(mask)
            if mask.any():
                rows, columns = np.nonzero(mask)
                expected.setdefault(name, []).append([columns.mean(), rows.mean(), mask.sum()])
    for scene in (instances_from_labels(category, instance), instances_from_masks(masks)):
        assert {k: v.rows() for k, v in scene.items()} == {
            k: [pytest.approx(row, abs=1e-9) for row in v] for k, v in expected.items()
        }


def test_many_and_small_instances():
    instance = np.arange(12 * 20, dtype=np.uint16).reshape(12, 20)
    scene = instances_from_labels(np.ones((12, 20), np.uint16), instance, ("tree",))
    assert scene["tree"].rows() == [[x, y, 1] for y in range(12) for x in range(20)]
    category = np.ones((4, 8), np.uint16)
    instance = np.zeros((4, 8), np.uint16)
    instance[0, :3] = 1
    assert len(instances_from_labels(category, instance, ("tree",), min_area=4)["tree"]) == 1
    assert len(instances_from_masks({"tree": [instance == 1, instance == 0]}, min_area=4)["tree"]) == 1
