import io
from collections.abc import Iterator
from typing import Any

import av
import numpy as np
import pytest

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.video import Clip
from worldgauge.report.film import STRIP_PX, TILE_PX, columns_for, make_film


def plain(colour: tuple[int, int, int], frames: int = 10, size: tuple[int, int] = (64, 36)) -> Clip:
    return Clip.from_array(np.full((frames, size[1], size[0], 3), colour, np.uint8), 20.0)


def decode(data: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def middle(frame: np.ndarray, tile: int, columns: int, height: int) -> np.ndarray:
    row, column = divmod(tile, columns)
    return frame[row * (height + STRIP_PX) + STRIP_PX + height // 2, column * TILE_PX + TILE_PX // 2]


def test_tiles_are_in_step_until_a_clip_ends() -> None:
    clips = {"truth": plain((200, 30, 30)), "a": plain((30, 200, 30)), "b": plain((30, 30, 200))}
    film = make_film(clips, budget=400_000)
    frames = decode(film.data)
    assert (film.frames, film.step, film.length, len(frames)) == (10, 1, 10, 10)
    assert frames[0].shape == (film.tile[1] + STRIP_PX, 3 * TILE_PX, 3)
    for tile, colour in enumerate([(200, 30, 30), (30, 200, 30), (30, 30, 200)]):
        assert np.abs(middle(frames[5], tile, film.columns, film.tile[1]).astype(int) - colour).max() < 25
    film = make_film({"truth": plain((200, 30, 30)), "a": plain((30, 200, 30), frames=3)}, budget=400_000)
    frames = decode(film.data)
    assert [middle(frames[k], 1, film.columns, film.tile[1])[1] > 150 for k in range(10)] == [True] * 3 + [False] * 7
    held = middle(frames[9], 1, film.columns, film.tile[1]).astype(int)
    assert np.abs(held - (12, 80, 12)).max() < 25, "the last frame, darkened"
    words = frames[9][STRIP_PX + film.tile[1] - 20 :, TILE_PX + 5 : TILE_PX + 130]
    assert words.max() > 180, "and the time of its end"


@pytest.mark.parametrize(("frames", "marked"), [(9, False), (8, True)])
def test_what_lacks_one_frame_has_not_ended_early(frames: int, marked: bool) -> None:
    film = make_film({"truth": plain((200, 30, 30)), "a": plain((30, 200, 30), frames=frames)}, budget=400_000)
    assert (middle(decode(film.data)[9], 1, film.columns, film.tile[1])[1] < 120) == marked


def test_start_images_and_other_shapes() -> None:
    clips = {"start": plain((200, 30, 30), frames=1), "a": plain((30, 200, 30)), "b": plain((30, 30, 200), frames=15)}
    film = make_film(clips, budget=400_000, lead="b")
    frames = decode(film.data)
    assert (film.frames, film.length, len(frames)) == (15, 15, 15)
    for frame in (frames[0], frames[14]):
        assert np.abs(middle(frame, 0, film.columns, film.tile[1]).astype(int) - (200, 30, 30)).max() < 25
    assert middle(frames[9], 1, film.columns, film.tile[1])[1] > 150
    assert middle(frames[12], 1, film.columns, film.tile[1])[1] < 120
    assert middle(frames[14], 2, film.columns, film.tile[1])[2] > 150
    film = make_film({"truth": plain((200, 30, 30)), "a": plain((30, 200, 30), size=(36, 36))}, budget=400_000)
    tile = decode(film.data)[0][STRIP_PX:, TILE_PX:]
    assert tile[:, :20].max() < 90
    assert middle(decode(film.data)[0], 1, film.columns, film.tile[1])[1] > 150


@pytest.mark.parametrize(("fps", "frames"), [(5.0, 10), (40.0, 80), (29.97, 60)])
def test_another_rate_is_shown_in_step_by_time(fps: float, frames: int) -> None:
    """Half of each film is green: it turns at the same second, however many frames that is."""
    turning = np.zeros((frames, 36, 64, 3), np.uint8)
    turning[: round(fps)], turning[round(fps) :] = (30, 200, 30), (30, 30, 200)
    clips = {"truth": plain((200, 30, 30), frames=40), "a": Clip.from_array(turning, fps)}
    film = make_film(clips, budget=400_000)
    shown = [middle(frame, 1, film.columns, film.tile[1]) for frame in decode(film.data)]
    assert film.length == len(shown) == 40
    assert shown[17][1] > 150
    assert shown[23][2] > 150
    assert shown[39][2] > 150, "the last frame stands until the end"


def test_long_films_and_noise_keep_to_the_budget() -> None:
    film = make_film({"truth": plain((90, 90, 90), frames=500)}, budget=400_000)
    assert film.frames <= 120
    assert film.frames * film.step >= 500
    assert film.frames / film.fps == pytest.approx(500 / 20, rel=0.02)
    rng = np.random.default_rng(0)
    noise = Clip.from_array(rng.integers(0, 256, (60, 144, 256, 3), np.uint8), 20.0)
    film = make_film({"truth": plain((90, 90, 90), 60, (256, 144)), "noise": noise}, budget=150_000)
    assert len(film.data) < 220_000
    assert [columns_for(n) for n in (1, 3, 5, 6, 9, 10, 11)] == [1, 3, 5, 3, 5, 5, 4]
    with pytest.raises(UsageError):
        make_film({}, budget=1)


@pytest.mark.parametrize("frames", [60, 700, 2300])
def test_long_films_of_many_keep_to_the_budget_too(frames: int) -> None:
    """Few frames a second must not mean many bits for each."""
    rng = np.random.default_rng(0)
    grain = rng.integers(0, 256, (50, 36, 64, 3), np.uint8)
    noise = Clip.from_array(grain[np.arange(frames) % 50], 24.0)
    film = make_film({f"c{k}": noise for k in range(6)}, budget=100_000)
    assert len(film.data) < 150_000
    assert film.frames >= 50
    assert film.frames / film.fps == pytest.approx(frames / 24, rel=0.05)


def test_same_clips_same_bytes_on_every_machine() -> None:
    clips = {"truth": plain((200, 30, 30)), "ünïcode <b>": plain((30, 200, 30))}
    assert make_film(clips, budget=100_000) == make_film(clips, budget=100_000)
    assert b"mbtree=0" in make_film({"truth": plain((90, 90, 90))}, budget=100_000).data


def test_a_clip_that_breaks_holds_what_there_was_and_says_why() -> None:
    class Breaking(Clip):
        def __getitem__(self, index: Any) -> Any:
            return self

        def __iter__(self) -> Iterator[np.ndarray]:
            yield np.full((36, 64, 3), (30, 200, 30), np.uint8)
            raise DataError("frame 1 does not decode")

    whole = plain((30, 200, 30))
    broken = Breaking(whole._source, range(10), 20.0, (64, 36))
    film = make_film({"truth": plain((200, 30, 30)), "a": broken}, budget=400_000)
    frames = decode(film.data)
    assert film.broken == (("a", "frame 1 does not decode"),)
    assert middle(frames[0], 1, film.columns, film.tile[1])[1] > 150
    assert middle(frames[9], 1, film.columns, film.tile[1]).max() < 120
