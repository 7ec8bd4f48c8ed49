"""Memories: which frames are fetched, by poses made by hand."""

import numpy as np

from worldgauge_train.nets.memory import memories


def line(n: int) -> np.ndarray:
    """A walk along x, a tenth of a metre a frame."""
    path = np.zeros((n, 5))
    path[:, 0] = 0.1 * np.arange(n)
    return path


def test_the_nearest_are_fetched_and_none_close_to_another_in_time() -> None:
    fetch = memories.get("fetched")(3)
    target = np.array([4.0, 0, 0, 0, 0])
    assert fetch.picks(line(100), target).tolist() == [40, 28, 52]
    assert fetch.picks(line(20), target).tolist() == [19, 7, 19]
    assert fetch.picks(line(1), target).tolist() == [0, 0, 0]


def test_an_angle_of_30_degrees_counts_as_two_metres() -> None:
    fetch = memories.get("fetched")(1)
    path = line(60)
    path[40:, 3] = np.deg2rad(20)  # frames 40 to 59 look elsewhere: 20 degrees are 1.33 m
    target = np.array([4.5, 0, 0, 0, 0])
    assert fetch.picks(path, target).tolist() == [39]  # 0.6 m away
    path[40:, 3] = np.deg2rad(8)
    assert fetch.picks(path, target).tolist() == [45]


def test_a_loop_brings_its_first_frames_back() -> None:
    angles = np.linspace(0, 2 * np.pi, 121)
    path = np.stack([3 * np.sin(angles), 3 - 3 * np.cos(angles), 0 * angles, angles, 0 * angles], 1)
    assert memories.get("fetched")(2).picks(path[:80], path[120])[0] == 0


def test_the_window_alone_fetches_nothing() -> None:
    for name in ("window", "state"):
        assert memories.get(name)(2).frames == 0
        assert len(memories.get(name)(2).picks(line(9), line(1)[0])) == 0
