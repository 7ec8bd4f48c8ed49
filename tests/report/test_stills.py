import cv2
import numpy as np

from worldgauge.core.video import Clip
from worldgauge.report.film import GAP_PX, MOST, contact_sheet


def counting(frames: int, size: tuple[int, int] = (64, 36), fps: float = 10.0) -> Clip:
    """Frame k is grey of the value 5 k."""
    levels = (5 * np.arange(frames, dtype=np.uint8))[:, None, None, None]
    return Clip.from_array(np.broadcast_to(levels, (frames, size[1], size[0], 3)).copy(), fps)


def decoded(data: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def test_stills_are_spread_evenly_and_have_their_times() -> None:
    (row,), broken = contact_sheet({"a": counting(40)}, {"a": [0, 10, 30]}, budget=50_000)
    assert broken == []
    assert (row.frames, row.times_s, row.looked, row.length) == ((0, 10, 30), (0.0, 1.0, 3.0), 3, 40)
    picture = decoded(row.data)
    assert picture.shape[:2] == row.size[::-1]
    width = (row.size[0] + GAP_PX) // 3
    seen = [picture[20, k * width + 20].mean() for k in range(3)]
    assert np.abs(np.array(seen) - [0, 50, 150]).max() < 6
    rows, _ = contact_sheet({"truth": counting(41), "a": counting(41)}, {"a": [0, 1, 2, 3, 4]}, budget=50_000)
    assert [row.frames for row in rows] == [(0, 10, 20, 30, 40), (0, 1, 2, 3, 4)]
    (row,), _ = contact_sheet({"a": counting(40)}, {"a": list(range(33))}, budget=50_000)
    assert len(row.frames) == MOST
    assert (row.frames[0], row.frames[-1], row.looked) == (0, 32, 33)
    (row,), _ = contact_sheet({"a": counting(5)}, {"a": [-1, 0, 4, 5, 99]}, budget=50_000)
    assert row.frames == (0, 4)


def test_noise_gets_coarser_instead_of_larger() -> None:
    rng = np.random.default_rng(0)
    noise = Clip.from_array(rng.integers(0, 256, (9, 90, 160, 3), np.uint8), 10.0)
    (fine,), _ = contact_sheet({"a": noise}, {"a": range(9)}, budget=10**6)
    (coarse,), _ = contact_sheet({"a": noise}, {"a": range(9)}, budget=16_000)
    assert len(coarse.data) <= 16_000 < len(fine.data)
    assert coarse.size[0] < fine.size[0]


def test_a_film_that_does_not_decode_is_said() -> None:
    class Broken(Clip):
        def take(self, indices: object) -> object:
            from worldgauge.core.errors import DataError

            raise DataError("frame 1 does not decode")

    whole = counting(10)
    rows, broken = contact_sheet(
        {"a": Broken(whole._source, range(10), 10.0, (64, 36)), "b": whole}, {"a": [0, 1], "b": [0, 1]}, budget=50_000
    )
    assert [row.name for row in rows] == ["b"]
    assert broken == [("a", "frame 1 does not decode")]
