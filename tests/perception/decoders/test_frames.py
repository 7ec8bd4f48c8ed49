"""Which frames a decoder looks at."""

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.perception.decoders.frames import evenly_spaced, every_second


@pytest.mark.parametrize("case", cases("target_scale", "frame_sampling"))
def test_frames_are_those_of_the_released_decoders(case: dict) -> None:
    assert evenly_spaced(case["total_frames"], 9).tolist() == case["expect_evenly_spaced_9"]
    assert every_second(case["total_frames"], case["fps"]).tolist() == case["expect_every_second_0_to_8"]


def test_evenly_spaced_frames_by_hand() -> None:
    assert evenly_spaced(10, 4).tolist() == [0, 3, 6, 9]
    assert (evenly_spaced(3, 9).tolist(), evenly_spaced(1, 9).tolist()) == ([0, 1, 2], [0])
    assert evenly_spaced(5, 1).tolist() == [0]


@pytest.mark.parametrize("n_frames", [2, 8, 9, 10, 97, 250])
def test_points_of_a_path_are_among_twice_as_many_frames(n_frames: int) -> None:
    assert np.isin(evenly_spaced(n_frames, 9), evenly_spaced(n_frames, 17)).all()


@pytest.mark.parametrize("bad", [(0, 9), (5, 0), (-1, 9)])
def test_no_frames_is_an_error(bad: tuple[int, int]) -> None:
    with pytest.raises(UsageError):
        evenly_spaced(*bad)
    with pytest.raises(UsageError, match="rate"):
        every_second(10, 0.0)
    with pytest.raises(UsageError, match="rate"):
        every_second(10, float("nan"))
