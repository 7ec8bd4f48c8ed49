"""Agreement of two labellings: by hand, against scikit-image's counting, invariances, degenerate inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from worldgauge.core.errors import ShapeError
from worldgauge.suites.loopnav.metrics.sgcs import category_iou, confusion, pixel_accuracy

LABELS = arrays(np.uint16, (4, 5), elements=st.integers(0, 3))


def test_by_hand() -> None:
    exact = np.array([[1, 1, 1, 2], [2, 0, 0, 3]], np.uint16)
    got = np.array([[1, 1, 2, 2], [0, 0, 1, 3]], np.uint16)
    counts = confusion(got, exact, 3)
    assert counts.tolist() == [[1, 1, 0, 0], [0, 2, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert pixel_accuracy(counts) == pytest.approx(4 / 6)
    assert category_iou(counts) == [pytest.approx(2 / 4), pytest.approx(1 / 3), pytest.approx(1.0)]


@given(LABELS, LABELS)
def test_as_masks_say(got: np.ndarray, exact: np.ndarray) -> None:
    counts = confusion(got, exact, 3)
    labelled = exact > 0
    expected = (got[labelled] == exact[labelled]).mean() if labelled.any() else None
    assert pixel_accuracy(counts) == (None if expected is None else pytest.approx(expected))
    for i, value in enumerate(category_iou(counts), start=1):
        union = ((got == i) | (exact == i)).sum()
        assert value == (pytest.approx(((got == i) & (exact == i)).sum() / union) if union else None)


@given(LABELS, LABELS)
def test_frames_add_up_and_order_does_not_matter(one: np.ndarray, other: np.ndarray) -> None:
    both = confusion(np.vstack([one, other]), np.vstack([other, one]), 3)
    assert np.array_equal(both, confusion(one, other, 3) + confusion(other, one, 3))
    assert np.array_equal(confusion(one[::-1], other[::-1], 3), confusion(one, other, 3))


def test_degenerate() -> None:
    none = np.zeros((2, 2), np.uint16)
    assert pixel_accuracy(confusion(none, none, 3)) is None
    assert category_iou(confusion(none, none, 3)) == [None, None, None]
    with pytest.raises(ShapeError, match="equal"):
        confusion(none, none[:1], 3)
    with pytest.raises(ShapeError, match="above 3"):
        confusion(none + 4, none, 3)
