"""Revision by image distance: the vectors, numpy, invariances, the degenerate."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.metrics import ranked_by_distance

CLIPS = st.lists(st.lists(st.floats(0, 1), max_size=6), min_size=1, max_size=5)


@pytest.mark.parametrize(
    "case", [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "lpips_revision"]
)
def test_rankings_of_the_reference(case: dict[str, Any]) -> None:
    found = ranked_by_distance(case["distances"])
    assert found.best == case["expected"]["index"]
    assert list(found.rewards) == pytest.approx([float(reward) for reward in case["expected"]["rewards"]], abs=1e-6)


@given(CLIPS)
def test_is_the_mean_of_padded_rows(clips: list[list[float]]) -> None:
    found = ranked_by_distance(clips)
    longest = max(len(clip) for clip in clips)
    for clip, reward in zip(clips, found.rewards, strict=True):
        if clip:
            padded = np.pad(clip, (0, longest - len(clip)), mode="edge")
            assert reward == pytest.approx(1 - padded.mean())
        else:
            assert reward == -math.inf
    assert found.rewards[found.best] >= max(found.rewards) - 1e-9


@given(CLIPS)
def test_the_order_of_candidates_does_not_change_their_rewards(clips: list[list[float]]) -> None:
    assert ranked_by_distance(clips[::-1]).rewards == ranked_by_distance(clips).rewards[::-1]


def test_the_degenerate() -> None:
    assert ranked_by_distance([[], []]) == ((-math.inf, -math.inf), 0)
    assert ranked_by_distance([[0.1, 0.2, 0.3], [0.2]]).best == 0, "equal but for the last bit: the first wins"
    with pytest.raises(UsageError, match="no candidates"):
        ranked_by_distance([])
    with pytest.raises(UsageError, match="finite"):
        ranked_by_distance([[math.nan]])
