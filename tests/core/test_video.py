"""Clips: what was written comes back, in any order."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.decodes import count_decodes
from support.films import HEIGHT, KINDS, WIDTH, N, scene, write, write_all
from worldgauge.core import video as clips
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.image import png
from worldgauge.core.video import AHEAD, Clip, Writer, ahead, problems, resize, side_by_side


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    error = np.mean((a.astype(float) - b) ** 2)
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("video"))


@pytest.fixture(scope="module")
def decoded(files: dict[str, Path]) -> dict[str, np.ndarray]:
    return {kind: Clip.open(path).to_array() for kind, path in files.items()}


@pytest.mark.parametrize(
    ("kind", "least"), [("mjpg", 36.0), ("lossless", np.inf), ("viewable", 30.0), ("archive", 38.0)]
)
def test_round_trip(decoded: dict[str, np.ndarray], kind: str, least: float) -> None:
    assert decoded[kind].shape == (N, HEIGHT, WIDTH, 3)
    assert psnr(decoded[kind], scene()) >= least


@pytest.mark.parametrize("kind", KINDS)
def test_header_is_as_published(files: dict[str, Path], kind: str) -> None:
    clip = Clip.open(files[kind])
    assert (len(clip), clip.fps, clip.width, clip.height) == (N, 20.0, WIDTH, HEIGHT)
    with av.open(str(files[kind])) as container:
        codec = container.streams.video[0].codec_context.name
    assert codec == ("mjpeg" if kind == "mjpg" else "h264")
    assert problems(files[kind]) == []


@settings(max_examples=25, deadline=None)
@given(order=st.lists(st.integers(0, N - 1), min_size=1, max_size=12), kind=st.sampled_from(sorted(KINDS)))
def test_any_order_gives_the_frames_of_the_sequence(
    files: dict[str, Path], decoded: dict[str, np.ndarray], order: list[int], kind: str
) -> None:
    clip = Clip.open(files[kind])
    for index in order:
        np.testing.assert_array_equal(clip[index], decoded[kind][index])
    np.testing.assert_array_equal(list(clip.take(order)), decoded[kind][order])


def test_any_order_with_frames_that_lean_on_later_ones(tmp_path: Path) -> None:
    path = tmp_path / "b.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20, options={"bf": "3", "g": "12", "preset": "medium"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for frame in scene():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    clip = Clip.open(path)
    sequence = clip.to_array()
    assert len(sequence) == N
    for index in np.random.default_rng(0).permutation(N):
        np.testing.assert_array_equal(clip[int(index)], sequence[index])


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_slices_are_those_of_a_list(
    files: dict[str, Path], decoded: dict[str, np.ndarray], data: st.DataObject
) -> None:
    bounds = st.none() | st.integers(-N - 3, N + 3)
    cut = slice(data.draw(bounds), data.draw(bounds), data.draw(st.none() | st.integers(-5, 5).filter(bool)))
    clip = Clip.open(files["mjpg"])[cut]
    expected = decoded["mjpg"][cut]
    assert len(clip) == len(expected)
    if len(expected):
        np.testing.assert_array_equal(clip[-1], expected[-1])
        np.testing.assert_array_equal(clip[0:1].to_array(), expected[0:1])
    with pytest.raises(IndexError):
        clip[len(expected)]


@pytest.mark.parametrize("kind", KINDS)
def test_two_decoders_agree(files: dict[str, Path], decoded: dict[str, np.ndarray], kind: str) -> None:
    reader = cv2.VideoCapture(str(files[kind]))
    frames = []
    while (step := reader.read())[0]:
        frames.append(step[1][..., ::-1])
    # The same decoder underneath, but two colour conversions.
    assert len(frames) == N
    assert np.abs(np.array(frames, int) - decoded[kind]).max() <= (0 if kind == "lossless" else 3)


def test_an_archive_says_how_its_colours_were_converted(files: dict[str, Path]) -> None:
    with av.open(str(files["archive"])) as container:
        codec = container.streams.video[0].codec_context
        assert (codec.pix_fmt, codec.colorspace, codec.color_range) == ("yuv444p", 6, 1)  # BT.601, limited range


@pytest.mark.parametrize("kind", KINDS)
def test_same_frames_same_bytes(tmp_path: Path, files: dict[str, Path], kind: str) -> None:
    again = tmp_path / f"again.{KINDS[kind]}"
    with Writer(again, fps=20, kind=kind) as out:
        for frame in scene():  # frame by frame, not as a chunk
            out.write(frame)
    assert again.read_bytes() == files[kind].read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_same_bytes_whatever_memory_held_before(tmp_path: Path, kind: str) -> None:
    # x264's macroblock tree read memory it had not written: 14 different files in 25 runs at this size.
    frames, contents = scene(30, 90, 160), set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        litter = [rng.bytes(int(size)) for size in rng.integers(100, 200_000, 100)]
        del litter
        contents.add(write(tmp_path / f"x.{KINDS[kind]}", frames, kind).read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (33, 47), (17, 16)])
def test_odd_sizes_and_single_frames(tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    frames = scene(1, *size)
    clip = Clip.open(write(tmp_path / f"x.{KINDS[kind]}", frames, kind))
    even = tuple(side + side % 2 for side in size)
    assert (len(clip), (clip.height, clip.width)) == (1, even if kind == "viewable" else size)
    if kind == "lossless":
        np.testing.assert_array_equal(clip.to_array(), frames)


def test_frames_belong_to_the_caller(files: dict[str, Path], decoded: dict[str, np.ndarray]) -> None:
    clip = Clip.open(files["lossless"])
    clip[4][:] = 0
    np.testing.assert_array_equal(clip[4], decoded["lossless"][4])


LONG_CLIP = """
import resource, sys
import numpy as np
from worldgauge.core.video import Clip, Writer
frame = np.random.default_rng(0).integers(0, 255, (360, 640, 3), dtype=np.uint8)
frame = frame.repeat(8, 0)[:360].repeat(8, 1)[:, :640].copy()
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with Writer(sys.argv[1], fps=20, kind="mjpg") as out:
    out.write(frame)
    next(iter(Clip.from_array(frame[None], 20)))
    start = None
    for t in range(250):
        out.write(np.roll(frame, t, 1))
        start = start or (peak() if t == 10 else None)
clip = Clip.open(sys.argv[1])
seen = sum(1 for _ in clip)
grown = (peak() - start) / 1024
assert seen == 251 and grown < 60, (seen, grown)  # all frames at once are 165 MiB
"""


def test_memory_does_not_grow_with_the_clip(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LONG_CLIP, str(tmp_path / "x.avi")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_uncompressed_frames_belong_to_the_caller_too(tmp_path: Path) -> None:
    path = tmp_path / "raw.avi"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("png", rate=20)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "rgb24"
        for frame in scene(2):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
    clip = Clip.open(path)
    clip[1][:] = 0
    np.testing.assert_array_equal(clip[1], scene(2)[1])


def test_arrays_make_clips_too() -> None:
    clip = Clip.from_array(scene(), fps=10)
    np.testing.assert_array_equal(clip[3:9:2].to_array(), scene()[3:9:2])
    np.testing.assert_array_equal(list(clip.take([5, 1])), scene()[[5, 1]])
    assert clip.resized(32, 24)[0].shape == (24, 32, 3)
    with pytest.raises(ShapeError, match="uint8"):
        Clip.from_array(scene().astype(np.float32), fps=10)


def test_resizing_averages_when_it_shrinks() -> None:
    frame = scene(1)[0]
    halves = frame.reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean((1, 3))
    assert np.abs(resize(frame, WIDTH // 2, HEIGHT // 2) - halves).max() <= 0.5
    assert resize(frame, WIDTH, HEIGHT) is frame
    assert resize(frame, 2 * WIDTH, HEIGHT).shape == (HEIGHT, 2 * WIDTH, 3)


@pytest.mark.parametrize(
    ("ratio", "size"), [((1, 1), (48, 48)), ((4, 3), (64, 48)), ((2, 1), (64, 32)), ((1, 2), (24, 48))]
)
def test_cropping_takes_the_centre(ratio: tuple[int, int], size: tuple[int, int]) -> None:
    clip = Clip.from_array(scene(3), fps=10)
    cropped = clip.cropped(*ratio)
    x, y = (WIDTH - size[0]) // 2, (HEIGHT - size[1]) // 2
    expected = scene(3)[:, y : y + size[1], x : x + size[0]]
    assert (cropped.width, cropped.height) == size
    np.testing.assert_array_equal(cropped.to_array(), expected)
    np.testing.assert_array_equal(cropped[1:][0], expected[1])
    half = cropped.resized(size[0] // 2, size[1] // 2)[2]
    np.testing.assert_array_equal(half, resize(expected[2], size[0] // 2, size[1] // 2))


def test_pictures_and_levels_survive_as_png() -> None:
    rng = np.random.default_rng(3)
    picture = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    levels = rng.integers(0, 1 << 16, (5, 7), dtype=np.uint16)
    for shown in (picture, picture[:, ::-1], levels):
        back = cv2.imdecode(np.frombuffer(png(shown), np.uint8), cv2.IMREAD_UNCHANGED)
        np.testing.assert_array_equal(back[..., ::-1] if shown.ndim == 3 else back, shown)
    for wrong in (picture[..., 0], picture.astype(np.float32), picture[..., :2], picture[:0], levels[..., None]):
        with pytest.raises(ShapeError, match=r"a picture needs \(H, W, 3\) uint8"):
            png(wrong)


def test_clips_side_by_side_are_read_ahead_in_threads_of_their_own(files: dict[str, Path]) -> None:
    clips = [Clip.open(files[kind]) for kind in ("mjpg", "lossless")]
    smaller = clips[0].resized(16, 12)
    pairs = list(side_by_side(smaller, clips[1]))
    assert len(pairs) == N
    for got, want in zip(pairs, zip(smaller, clips[1], strict=True), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    assert list(side_by_side(clips[0][:0], clips[1][:0])) == []
    with pytest.raises(ShapeError, match="clips of 3, 2 frames"):
        next(side_by_side(clips[0][:3], clips[1][:2]))


def test_no_more_is_read_ahead_than_said_and_no_thread_is_left() -> None:
    asked: list[tuple[int, int]] = []

    def render(index: int) -> np.ndarray:
        asked.append((index, threading.get_ident()))
        if index == 9:
            raise DataError("frame 9 is gone")
        return np.full((2, 2, 3), index, np.uint8)

    before = threading.active_count()
    clip = Clip.rendered(render, 12, 20, (2, 2))
    pairs = side_by_side(clip, Clip.from_array(np.zeros((12, 2, 2, 3), np.uint8), 20))
    next(pairs)
    pairs.close()
    assert threading.active_count() == before
    assert max(index for index, _ in asked) <= AHEAD
    assert threading.get_ident() not in {thread for _, thread in asked}
    seen = []
    with pytest.raises(DataError, match="frame 9 is gone"):
        seen.extend(int(one[0, 0, 0]) for one, _ in side_by_side(clip, clip))
    assert seen == list(range(9))
    assert threading.active_count() == before


def test_items_are_read_ahead_and_errors_come_in_their_place() -> None:
    read: list[tuple[int, int]] = []

    def items() -> Iterator[int]:
        for number in range(9):
            read.append((number, threading.get_ident()))
            yield number
        raise DataError("item 9 is gone")

    before = threading.active_count()
    some = ahead(items())
    assert next(some) == 0
    some.close()
    assert threading.active_count() == before
    assert len(read) <= AHEAD + 1
    assert threading.get_ident() not in {thread for _, thread in read}
    seen = []
    with pytest.raises(DataError, match="item 9 is gone"):
        seen.extend(ahead(items()))
    assert list(ahead(range(7))) == list(range(7))
    assert list(ahead([])) == []


def test_held_frames_are_decoded_once(
    files: dict[str, Path], decoded: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    decodes = count_decodes(monkeypatch)
    clip = Clip.open(files["lossless"])[2:].holding([0, 3, 4])
    for _ in range(2):
        assert np.array_equal(clip[2:6].to_array(), decoded["lossless"][4:8])
        assert np.array_equal(clip[0], decoded["lossless"][2])
        assert np.array_equal(
            clip.resized(WIDTH, HEIGHT).picked([4, 0, 3, 3], 5).to_array(), clip.to_array()[[4, 0, 3, 3]]
        )
    assert {index for (_, index), times in decodes.items() if times == 1} == {2, 5, 6}


def test_a_clip_holds_no_more_than_its_bytes(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "HELD_BYTES", 2 * WIDTH * HEIGHT * 3)
    decodes = count_decodes(monkeypatch)
    clip = Clip.open(files["lossless"]).holding(range(5))
    frames = clip[:5].to_array()
    assert np.array_equal(clip[:5].to_array(), frames)
    assert [times for _, times in sorted(decodes.items())] == [1, 1, 2, 2, 2]
