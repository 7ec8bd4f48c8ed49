"""Clips and writers: what goes in comes out, in any order; what is broken says so and leaves nothing behind."""

import os
import re
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge import _decoding
from worldgauge.errors import DataError, ShapeError
from worldgauge.video import Clip, Writer, problems, resize

KINDS = {"mjpg": "avi", "lossless": "mp4", "viewable": "mp4"}
N, HEIGHT, WIDTH = 37, 48, 64  # more than one key frame interval of "lossless" and "viewable"


def scene(n: int = N, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """Smooth gradient with a block that moves and a frame number in grey levels: no two frames alike."""
    rows, columns = np.mgrid[:height, :width]
    frames = np.empty((n, height, width, 3), np.uint8)
    for t in range(n):
        frames[t] = np.stack([rows * 2 % 200, columns * 2 % 200, (rows + columns) % 200], -1)
        frames[t, : height // 2, : width // 2] = 5 * t % 250
        x = 2 * t % max(width - 8, 1)
        frames[t, height // 2 : height // 2 + 8, x : x + 8] = (250, 20, 20)
    return frames


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    error = np.mean((a.astype(float) - b) ** 2)
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


def write(path: Path, frames: np.ndarray, kind: str) -> Path:
    with Writer(path, fps=20, kind=kind) as out:
        out.write(frames)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("video")


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, Path]:
    return {kind: write(folder / f"{kind}.{suffix}", scene(), kind) for kind, suffix in KINDS.items()}


@pytest.fixture(scope="module")
def decoded(files: dict[str, Path]) -> dict[str, np.ndarray]:
    return {kind: Clip.open(path).to_array() for kind, path in files.items()}


@pytest.mark.parametrize(("kind", "least"), [("mjpg", 36.0), ("lossless", np.inf), ("viewable", 30.0)])
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
from worldgauge.video import Clip, Writer
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


# What is broken


def test_no_file_and_no_video_are_one_clear_line(tmp_path: Path) -> None:
    contents = {
        "empty.avi": b"",
        "text.mp4": b"this is not a video\n" * 40,
        "noise.avi": np.random.default_rng(1).bytes(4000),
        "list.mp4": b"#EXTM3U\n#EXTINF:1,\nother.mp4\n#EXT-X-ENDLIST\n",
        "concat.avi": b"ffconcat version 1.0\nfile other.mp4\n",
    }
    write(tmp_path / "other.mp4", scene(3), "viewable")
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=name):
            Clip.open(path)
        assert len(problems(path)) >= 1
    for path in (tmp_path / "absent.avi", tmp_path):
        with pytest.raises(DataError, match="no such video"):
            Clip.open(path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_is_an_error_or_a_shorter_clip(tmp_path: Path, files: dict[str, Path], kind: str) -> None:
    whole, sequence = files[kind].read_bytes(), Clip.open(files[kind])
    path = tmp_path / files[kind].name
    outcomes = set()
    for size in [*np.linspace(0, len(whole) - 1, 40).astype(int), *range(len(whole) - 1200, len(whole) - 700, 7)]:
        path.write_bytes(whole[: max(size, 0)])
        try:
            clip = Clip.open(path)
        except DataError as error:
            outcomes.add("frame" if "is cut off" in str(error) else str(error)[len(str(path)) :][:25])
            assert problems(path)
            continue
        # Cut between two frames: the ones that are left are whole.
        np.testing.assert_array_equal(clip[len(clip) - 1], sequence[len(clip) - 1])
        assert (len(clip) < N) == any("its header states 37 frames" in line for line in problems(path))
        outcomes.add("shorter" if len(clip) < N else "index only")
    # Without its index, or with a wrong one, an mp4 does not open; an AVI does.
    assert ({"frame", "shorter"} <= outcomes) == (kind == "mjpg")


def test_damage_inside_a_stream_is_found_in_the_decoder_log(tmp_path: Path, files: dict[str, Path]) -> None:
    for kind in ("mjpg", "lossless"):
        data = bytearray(files[kind].read_bytes())
        middle = len(data) // 2
        data[middle : middle + 1500] = bytes(1500)
        path = tmp_path / files[kind].name
        path.write_bytes(data)
        found = problems(path)
        assert found, kind
        assert all(str(path) in line for line in found)


def test_looking_for_problems_leaves_the_log_as_it_was(files: dict[str, Path]) -> None:
    before = av.logging.get_level(), av.logging.get_skip_repeated()
    problems(files["mjpg"])
    assert (av.logging.get_level(), av.logging.get_skip_repeated()) == before


def jpegs(path: Path, sides: list[int]) -> Path:
    """An AVI whose header states the first frame's size, whatever the others are."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=20)
        stream.width = stream.height = sides[0]
        stream.pix_fmt = "yuvj420p"
        for i, side in enumerate(sides):
            packet = av.Packet(cv2.imencode(".jpg", np.zeros((side, side, 3), np.uint8))[1].tobytes())
            packet.stream, packet.time_base, packet.is_keyframe = stream, Fraction(1, 20), True
            packet.pts = packet.dts = i
            container.mux(packet)
    return path


def test_a_frame_of_another_size_is_named(tmp_path: Path) -> None:
    clip = Clip.open(jpegs(tmp_path / "x.avi", [64, 128, 64]))
    with pytest.raises(DataError, match=r"x\.avi: frame 1 is 128x128"):
        clip[1]
    assert clip[2].shape == (64, 64, 3), "one bad frame does not spoil the next"
    with pytest.raises(DataError, match="frame 1"):
        clip.to_array()


def test_a_frame_that_is_not_a_picture_is_named(tmp_path: Path, files: dict[str, Path]) -> None:
    data = files["mjpg"].read_bytes()
    at = [match.start() for match in re.finditer(b"\xff\xd8\xff", data)][5]
    path = tmp_path / "x.avi"
    path.write_bytes(data[:at] + bytes(400) + data[at + 400 :])
    clip = Clip.open(path)
    with pytest.raises(DataError, match=r"x\.avi: frame 5"):
        clip[5]
    np.testing.assert_array_equal(clip[6], Clip.open(files["mjpg"])[6])
    assert any("5" in line for line in problems(path))


def test_limits_hold_before_memory_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = jpegs(tmp_path / "small.avi", [64, 64])
    monkeypatch.setattr(_decoding, "MAX_PIXELS", 32 * 32)
    with pytest.raises(DataError, match="limit"):
        Clip.open(small)
    monkeypatch.setattr(_decoding, "MAX_PIXELS", 100 * 100)
    with pytest.raises(DataError, match="frame 1"):  # the header says 64x64, the frame is larger than the limit
        Clip.open(jpegs(tmp_path / "grows.avi", [64, 512]))[1]
    monkeypatch.setattr(_decoding, "MAX_FRAMES", 3)
    with pytest.raises(DataError, match="more than 3 frames"):
        Clip.open(jpegs(tmp_path / "long.avi", [64] * 4))


def test_a_header_that_lies_about_its_size(tmp_path: Path) -> None:
    data = jpegs(tmp_path / "true.avi", [64, 64]).read_bytes()
    lie = tmp_path / "lie.avi"
    for side in (60_000, 0x7FFFFFFF):
        lie.write_bytes(data.replace(struct.pack("<II", 64, 64), struct.pack("<II", side, side)))
        with suppress(DataError):
            # Where the decoder trusts the picture, not the header, that is as good.
            assert Clip.open(lie)[0].shape == (64, 64, 3)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
def test_flipped_bytes_never_escape_as_another_error(
    files: dict[str, Path], folder: Path, data: st.DataObject, kind: str
) -> None:
    content = bytearray(files[kind].read_bytes())
    places = st.integers(0, len(content) - 1) | st.integers(0, 600)
    for place in data.draw(st.lists(places, min_size=1, max_size=8)):
        content[place] = data.draw(st.integers(0, 255))
    path = folder / f"flipped.{KINDS[kind]}"
    path.write_bytes(content)
    with suppress(DataError):
        clip = Clip.open(path)
        for index in {0, len(clip) // 2, len(clip) - 1}:
            assert clip[index].dtype == np.uint8
    assert all(isinstance(line, str) for line in problems(path))


# Writing


def test_frames_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.avi"
    out = Writer(path, fps=20, kind="mjpg")
    out.write(scene(1))
    with pytest.raises(ShapeError, match="frame 1"):
        out.write(scene(1, 20, 20))
    out.abandon()
    for wrong in (scene(1)[0].astype(np.float32), scene(1)[0, ..., :1], np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(ShapeError, match="uint8"), Writer(path, fps=20, kind="mjpg") as out:
            out.write(wrong)
    assert list(tmp_path.iterdir()) == []


def test_nothing_appears_before_the_end_or_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.mp4"
    out = Writer(path, fps=20, kind="lossless")
    out.write(scene(3))
    assert not path.exists()
    out.close()
    out.close()
    assert path.exists()
    with pytest.raises(DataError, match="closed"):
        out.write(scene(1))
    before = path.read_bytes()
    with suppress(RuntimeError), Writer(path, fps=20, kind="lossless") as out:
        out.write(scene(2))
        raise RuntimeError
    assert path.read_bytes() == before
    with pytest.raises(DataError, match="no frame"), Writer(tmp_path / "y.mp4", fps=20, kind="viewable"):
        pass
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / "absent" / "x.avi", scene(1), "mjpg")
    assert list(tmp_path.iterdir()) == [path]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from worldgauge.errors import DataError
from worldgauge.video import Writer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, kind, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
frames = np.random.default_rng(0).integers(0, 255, (12, 40, 40, 3), dtype=np.uint8)
def write(name):
    with Writer(folder / name, fps=20, kind=kind) as out:
        out.write(frames)
write(name)
whole = (folder / name).stat().st_size
for limit in (0, 60, whole // 2, whole - 300, whole - 1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write("full-" + name)
    except DataError as error:
        assert "full-" + name + ": cannot be written" in str(error), error
    else:
        raise SystemExit(f"no error at {limit} of {whole} bytes")
    assert [p.name for p in folder.iterdir()] == [name], list(folder.iterdir())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on file sizes")
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_leaves_no_part_behind(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), kind, f"x.{KINDS[kind]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
