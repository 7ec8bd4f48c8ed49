"""Which frames a video shows, when, and which side up; folders of images. The names of files say what is odd."""

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageOps, ImageSequence

from support.films import scene
from worldgauge.core._decoding import constant_rate, nearest_frames
from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip, digest_of_video, problems

CASES = Path(__file__).parents[1] / "cases"
N = 24


def numbered(count: int = N) -> np.ndarray:
    """Frame n is 20 + 9 n grey."""
    return np.repeat(20 + 9 * np.arange(count, dtype=np.uint8), 64 * 48 * 3).reshape(count, 48, 64, 3)


def numbers(frames: Sequence[np.ndarray] | Clip) -> list[int]:
    return [round((float(frame.mean()) - 20) / 9) for frame in frames]


def write(path: Path, times: Sequence[int], tick: Fraction, options: str = "bf=2:b-adapt=0:keyint=8") -> Path:
    """H.264 of numbered frames at given times in ticks."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25, options={"x264-params": options})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = stream.time_base = tick
        for frame, time in zip(numbered(len(times)), times, strict=True):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
            picture.pts, picture.time_base = time, tick
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))
    return path


def check_any_order(clip: Clip) -> None:
    frames = clip.to_array()
    for index in np.random.default_rng(0).permutation(len(clip)):
        np.testing.assert_array_equal(clip[int(index)], frames[index])


@pytest.mark.parametrize(
    ("name", "shown"),
    [("cut_by_stream_copy.mp4", range(11, 24)), ("cut_one_gop.mp4", range(11, 24)), ("h264_bframes.avi", range(24))],
)
def test_frames_that_are_shown_are_read_in_order(name: str, shown: range) -> None:
    clip = Clip.open(CASES / name)
    assert (numbers(clip), clip.fps, problems(CASES / name)) == ([*shown], 12, [])
    check_any_order(clip)


def test_a_turned_video_is_read_upright() -> None:
    clip = Clip.open(CASES / "rotated_phone.mp4")
    assert (clip.width, clip.height, problems(CASES / "rotated_phone.mp4")) == (64, 48, [])
    assert clip[0][: clip.height // 5].mean() > 200
    assert clip[0][clip.height // 5 + 1 :].mean() < 100


def test_a_variable_rate_is_refused_or_resampled() -> None:
    path = CASES / "vfr.webm"
    with pytest.raises(DataError, match=r"vfr\.webm: its frames come at 2\.994 to 12\.05 frames/s; .* fps=12 OUT\.mp4"):
        Clip.open(path)
    clip = Clip.open(path, fps=12)
    assert (clip.fps, clip.states_rate, problems(path)) == (12, False, [])
    assert numbers(clip) == [*range(9), 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 20]
    check_any_order(clip)
    assert numbers(Clip.open(path, fps=6)) == [0, 2, 4, 6, 8, 8, 12, 12, 16, 16, 20]
    assert numbers(Clip.open(path, fps=20, by_time=False)) == [*range(9), 12, 16, 20]
    with pytest.raises(DataError, match="are more than 1000000 frames"):
        Clip.open(path, fps=1e7)


@pytest.mark.parametrize("kind", ["mkv", "mp4"])
def test_repeated_times_and_gaps_are_no_constant_rate(kind: str, tmp_path: Path) -> None:
    twice = ([0, 40, 80, 80, 160, 200], [0, 1, 3, 3, 4, 5])
    close = ([0, 40, 80, 81, 160, 200], [0, 1, 2, 3, 4, 5])
    for times, shown in (twice if kind == "mkv" else close, ([0, 40, 80, 160, 200], [0, 1, 2, 2, 3, 4])):
        path = write(tmp_path / f"a.{kind}", times, Fraction(1, 1000), "bframes=0")
        assert numbers(Clip.open(path, fps=25, by_time=False)) == [*range(len(times))]
        with pytest.raises(DataError, match="its frames come at"):
            Clip.open(path)
        clip = Clip.open(path, fps=25)
        assert numbers(clip) == shown
        check_any_order(clip)


@pytest.mark.parametrize(
    ("rate", "tick"),
    [("30000/1001", 1000), ("24000/1001", 1000), ("60", 1000), ("30", 100), ("12", 100), ("7.3", 1000), ("25", 90000)],
)
@pytest.mark.parametrize("start", [0, 5])
def test_times_that_a_container_rounds_are_even(rate: str, tick: int, start: float) -> None:
    exact = float(Fraction(rate))
    seconds = np.round((np.arange(200) / exact + start) * tick) / tick
    for stated in ([exact], [], [12.5, exact * 1.5]):
        assert constant_rate(seconds, 1 / tick, stated) == pytest.approx(exact, rel=1e-3)
    assert constant_rate(np.delete(seconds, 100), 1 / tick, [exact]) is None
    assert constant_rate(np.r_[seconds[:100], seconds[100:] + 0.5 / exact], 1 / tick, [exact]) is None
    assert constant_rate(seconds[:1], 1 / tick, [exact]) == exact
    assert constant_rate(seconds[:1], 1 / tick, []) is None


def test_frames_nearest_in_time() -> None:
    dense = np.arange(60) / 60
    assert nearest_frames(dense, 1.0, 1e-3, 12) == [*range(0, 60, 5)]
    gap = np.array([0, 1, 2, 6, 7.0])
    assert nearest_frames(gap, 8.0, 1e-3, 1) == [0, 1, 2, 2, 2, 2, 3, 4]
    late = np.array([0, 1.4, 2.4, 2.6])
    assert nearest_frames(late, 4.0, 1e-3, 1) == [0, 1, 2, 3]


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def with_edits(path: Path, edits: Sequence[tuple[float, float]]) -> Path:
    """An MP4 with another edit list: (seconds, first second of the medium or -1 for nothing) of each part."""
    data = bytearray(path.read_bytes())
    mdhd = data.index(b"mdhd")
    (scale,) = struct.unpack_from(">I", data, mdhd + 16)
    at = data.index(b"edts") - 4
    (old,) = struct.unpack_from(">I", data, at)
    delay = struct.unpack_from(">i", data, at + 8 + 8 + 8 + 4)[0]
    rows = [(round(1000 * long), -1 if start < 0 else delay + round(scale * start), 1 << 16) for long, start in edits]
    new = box(
        b"edts", box(b"elst", struct.pack(">II", 0, len(rows)) + b"".join(struct.pack(">IiI", *row) for row in rows))
    )
    data[at : at + old] = new
    for name in (b"moov", b"trak"):
        place = data.index(name) - 4
        struct.pack_into(">I", data, place, struct.unpack_from(">I", data, place)[0] + len(new) - old)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("options", ["bframes=0:keyint=8", "bf=2:b-adapt=0:keyint=8", "bf=2:b-adapt=0:keyint=250"])
@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ([(1.5, -1), (0.96, 0)], [*range(24)]),
        ([(0.36, 0.2)], [*range(5, 14)]),
        ([(0.36, 0)], [*range(9)]),
        ([(0.24, 0), (0.24, 0.48)], [*range(6), *range(12, 18)]),
        ([(0.32, 0), (0.32, 0), (0.32, 0.64)], [*range(8), *range(8), *range(16, 24)]),
    ],
    ids=["delayed", "trimmed", "cut", "skipped", "repeated"],
)
def test_edit_lists(options: str, edits: list[tuple[float, float]], shown: list[int], tmp_path: Path) -> None:
    path = with_edits(write(tmp_path / "a.mp4", range(0, 24 * 40, 40), Fraction(1, 1000), options), edits)
    clip = Clip.open(path, fps=25)
    reader, seen = cv2.VideoCapture(str(path)), []
    while (step := reader.read())[0]:
        seen.append(step[1])
    assert numbers(Clip.open(path, fps=25, by_time=False)) == numbers(seen)
    # FFmpeg shows a frame more where a part ends between frames in the order of decoding.
    assert set(shown) <= set(numbers(seen))
    assert len(seen) - len(shown) <= 2
    check_any_order(clip)
    assert problems(path) == []


def test_an_mp4_without_presentation_times_is_read_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", range(0, 24 * 40, 40), Fraction(1, 1000))
    path.write_bytes(path.read_bytes().replace(b"ctts", b"free").replace(b"edts", b"free"))
    clip = Clip.open(path)
    assert (numbers(clip), clip.fps, problems(path)) == ([*range(N)], 25, [])
    check_any_order(clip)


def write_streams(path: Path, widths: Sequence[int], codec: str, marked: av.stream.Disposition) -> Path:
    """Streams of five frames, of which those 64 wide have a mark."""
    with av.open(str(path), "w") as out:
        for width in widths:
            stream = out.add_stream(codec, rate=25)
            stream.width, stream.height, stream.pix_fmt = width, 48, "yuvj420p" if codec == "mjpeg" else "yuv420p"
            stream.disposition = marked if width == 64 else av.stream.Disposition(0)
        for frame in numbered()[: 1 if codec == "mjpeg" else 5]:
            for stream in out.streams.video:
                out.mux(stream.encode(av.VideoFrame.from_ndarray(frame[:, : stream.width], format="rgb24")))
        for stream in out.streams.video:
            out.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("widths", [(32, 64), (64, 32)])
def test_of_several_streams_the_default_one_is_read(widths: tuple[int, int], tmp_path: Path) -> None:
    path = write_streams(tmp_path / "a.mkv", widths, "libx264", av.stream.Disposition.default)
    clip = Clip.open(path)
    assert (clip.width, numbers(clip), problems(path)) == (64, [*range(5)], [])


def test_a_cover_picture_is_no_video(tmp_path: Path) -> None:
    path = write_streams(tmp_path / "a.mp4", (64,), "mjpeg", av.stream.Disposition.attached_pic)
    with pytest.raises(DataError, match="holds no video stream"):
        Clip.open(path)


@pytest.mark.parametrize("kind", ["MPEG", "XVID", "mp4v", "MJPG", "FFV1"])
def test_avi_of_opencv(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.avi"
    out = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*kind), 25.0, (64, 48))
    for frame in numbered():
        out.write(frame)
    out.release()
    clip = Clip.open(path)
    assert (numbers(clip), clip.fps, problems(path)) == ([*range(N)], 25, [])
    check_any_order(clip)


def with_matrix(path: Path, a: float, b: float, c: float, d: float) -> Path:
    write(path, range(0, 8 * 40, 40), Fraction(1, 1000))
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44
    values = [round(value * 65536) for value in (a, b, 0, c, d, 0, 0, 0, 0)]
    data[at : at + 36] = struct.pack(">8iI", *values[:8], 1 << 30)
    path.write_bytes(data)
    return path


def test_angles_that_are_no_quarter_turns_are_refused(tmp_path: Path) -> None:
    slant, near = np.sqrt(0.5), np.radians(89.7)
    with pytest.raises(DataError, match=r"a\.mp4: is to be shown turned by -?45 degrees; turn it"):
        Clip.open(with_matrix(tmp_path / "a.mp4", slant, slant, -slant, slant))
    assert (
        Clip.open(with_matrix(tmp_path / "a.mp4", np.cos(near), np.sin(near), -np.sin(near), np.cos(near))).width == 48
    )
    assert Clip.open(with_matrix(tmp_path / "a.mp4", 0, 0, 0, 0)).width == 64
    assert Clip.open(with_matrix(tmp_path / "a.mp4", 2, 0, 0, 1)).width == 64, "pixels are read as they are stored"


@pytest.mark.parametrize("content", [b"\x47" + b"\x40\x11\x10" + bytes(184), b"FORM" + bytes(400)])
def test_the_message_says_what_can_be_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.ts"
    path.write_bytes(content * 20)
    with pytest.raises(DataError, match=r"not a readable video .*; readable are MP4, .* GIF files, and folders of PNG"):
        Clip.open(path)


def save(path: Path, pictures: Sequence[Pillow.Image], **options: object) -> Path:
    pictures[0].save(path, save_all=True, append_images=list(pictures[1:]), **options)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("disposal", [0, 1, 2, 3])
def test_gif_frames_are_composed(disposal: int, tmp_path: Path) -> None:
    pictures = [Pillow.new("RGBA", (64, 48), (0, 0, 0, 0)) for _ in range(6)]
    for n, picture in enumerate(pictures):
        picture.paste((200, 30 * n, 40, 255), (5 + 3 * n, 5, 25 + 3 * n, 20 + n))
    path = save(tmp_path / "a.gif", pictures, duration=80, disposal=disposal)
    clip = Clip.open(path)
    assert (clip.fps, len(clip), problems(path)) == (12.5, 6, [])
    for frame, shown in zip(clip, ImageSequence.Iterator(Pillow.open(path)), strict=True):
        rgba = np.array(shown.convert("RGBA"))
        covered = rgba[..., 3] > 0
        np.testing.assert_array_equal(frame[covered], rgba[covered][:, :3])
        assert (frame[~covered] == 255).all(), "what shows through is white, as for ffmpeg"
    check_any_order(clip)


def test_gif_delays(tmp_path: Path) -> None:
    pictures = [Pillow.fromarray(frame) for frame in scene(6)]
    assert Clip.open(save(tmp_path / "a.gif", pictures, duration=40)).fps == 25
    held = save(tmp_path / "held.gif", pictures, duration=[80, 80, 240, 80, 80, 80])
    with pytest.raises(DataError, match=r"its frames come at 4\.167 to 12\.5 frames/s"):
        Clip.open(held)
    shown = [int(np.abs(scene(6).astype(int) - frame).mean((1, 2, 3)).argmin()) for frame in Clip.open(held, fps=12.5)]
    assert shown == [0, 1, 2, 2, 2, 3, 4, 5]
    with pytest.raises(DataError, match=r"has delays below 0\.02 s"):
        Clip.open(save(tmp_path / "a.gif", pictures, duration=10))


def folder(path: Path, names: str, count: int = 12, **options: object) -> Path:
    path.mkdir()
    for n, frame in enumerate(scene(count)):
        Pillow.fromarray(frame).save(path / names.format(n), **options)
    return path


@pytest.mark.parametrize("names", ["{}.png", "frame_{:04}.jpg", "a-{}.webp", "{}0.png", "x{}.JPEG"])
def test_folders_of_images(names: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "clip", names)
    (path / ".hidden.png").write_bytes(b"no picture")
    (path / "notes.txt").write_text("no picture")
    with pytest.raises(DataError, match="a folder of images states no frame rate; give it"):
        Clip.open(path)
    clip = Clip.open(path, fps=16)
    assert (len(clip), clip.fps, clip.width, clip.states_rate, problems(path)) == (12, 16, 64, False, [])
    for n, frame in enumerate(clip):
        np.testing.assert_array_equal(frame, np.array(Pillow.open(path / names.format(n))))
    check_any_order(clip)
    before = digest_of_video(path)
    (path / names.format(11)).unlink()
    assert digest_of_video(path) != before


def test_images_are_read_as_viewers_show_them(tmp_path: Path) -> None:
    turned = Pillow.Exif()
    turned[0x0112] = 6
    for suffix in ("jpg", "png"):
        path = folder(tmp_path / suffix, "{}." + suffix, exif=turned)
        clip = Clip.open(path, fps=10)
        assert (clip.width, clip.height) == (48, 64)
        shown = ImageOps.exif_transpose(Pillow.open(path / f"3.{suffix}"))
        np.testing.assert_array_equal(clip[3], np.array(shown.convert("RGB")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / "5.png").unlink(), r"images are not numbered evenly before 6\.png; is one missing\?"),
        (lambda path: (path / "5.png").rename(path / "5.jpg"), r"differ in numbers only, not as 0\.png, 5\.jpg"),
        (lambda path: (path / "2.png").rename(path / "01.png"), "not numbered evenly"),
        (lambda path: max(path.iterdir()).rename(path / "9.bmp"), r"9\.bmp is no PNG, JPEG or WebP image; convert it"),
        (lambda path: (path / "first.png").write_bytes(b"x"), "differ in numbers only"),
        (lambda path: (path / "0.png").write_bytes(b"#EXTM3U\n" * 9), "neither a PNG, a JPEG nor a WebP picture"),
        (lambda path: [each.unlink() for each in path.iterdir()], "no such video; a folder needs PNG, JPEG or WebP"),
        (lambda path: save(path / "0.png", [*map(Pillow.fromarray, scene(2))]), r"0\.png: is animated"),
    ],
)
def test_folders_that_are_no_videos(change: object, message: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "clip", "{}.png")
    change(path)  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        Clip.open(path, fps=10)
    assert problems(path)


@pytest.mark.parametrize(
    ("suffix", "damage"), [("png", "cut"), ("jpg", "cut"), ("webp", "cut"), ("png", "zero"), ("jpg", "zero")]
)
def test_damaged_images_are_found(suffix: str, damage: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "clip", "{}." + suffix)
    rng = np.random.default_rng(0)
    Pillow.fromarray(rng.integers(0, 255, (48, 64, 3), dtype=np.uint8)).save(path / f"7.{suffix}")
    assert problems(path) == []
    data = (path / f"7.{suffix}").read_bytes()
    half = len(data) // 2
    (path / f"7.{suffix}").write_bytes(data[:half] + (bytes(200) + data[half + 200 :]) * (damage == "zero"))
    assert problems(path)


def test_images_of_two_sizes_are_named(tmp_path: Path) -> None:
    path = folder(tmp_path / "clip", "{}.png")
    Pillow.fromarray(scene(1, 24, 32)[0]).save(path / "7.png")
    assert problems(path) == [f"{path}: 7.png: is 32x24, the first image 64x48"]
    with pytest.raises(DataError, match=r"7\.png: is 32x24"):
        Clip.open(path, fps=10)[7]
