"""Videos of many kinds, made by ffmpeg and compared frame by frame and time by time with what ffmpeg and OpenCV show.

Frame n is about 20 + 9 n grey, brighter to the right and much brighter at the top: it tells its number and its sides.
"""

import itertools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip, problems

FFMPEG = shutil.which("ffmpeg")
pytestmark = pytest.mark.skipif(FFMPEG is None, reason="needs the command ffmpeg (Debian: apt-get install ffmpeg)")
N, RATE = 24, 12


class Case(NamedTuple):
    """Arguments of ffmpeg that encode the frames, then those that copy the stream, and turns of its display matrix."""

    suffix: str
    encode: str
    copy: str = ""
    matrix: tuple[int, int, int, int] | None = None
    size: tuple[int, int] = (64, 48)
    rate: str = str(RATE)
    shown_rate: str = ""


X264, X265 = "-c:v libx264 -pix_fmt yuv420p", "-c:v libx265 -pix_fmt yuv420p -x265-params log-level=none"
MPEG4, VP9 = "-c:v mpeg4 -q:v 2", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -crf 20 -b:v 0"
ALWAYS_B = "-bf 2 -b_strategy 0"
TURNS = {
    "0": (1, 0, 0, 1), "90": (0, 1, -1, 0), "180": (-1, 0, 0, -1), "270": (0, -1, 1, 0),
    "mirrored": (-1, 0, 0, 1), "flipped": (1, 0, 0, -1), "transposed": (0, 1, 1, 0), "crossed": (0, -1, -1, 0),
}  # fmt: skip
GAPS = "-vf select='not(between(n,5,6)+eq(n,11))' -fps_mode passthrough"
FINE = "-fps_mode passthrough -enc_time_base 1/12000 -vf settb=1/12000,setpts="
JUMPY, SLOWER, STATED = FINE + "(N+0.3*sin(N*2))/12/TB", FINE + "(N+max(0\\,N-9)*2)/12/TB", FINE + "N/10/TB"


def _cases() -> dict[str, Case]:
    found = {}
    codecs = {
        "x264": (X264 + " -bf 0", "mp4 mov m4v mkv avi"),
        "x264-b": (X264 + " " + ALWAYS_B, "mp4 mov m4v mkv avi"),
        "x265": (X265 + ":bframes=0", "mp4 mov mkv"),
        "x265-b": (X265 + ":bframes=3", "mp4 mov mkv"),
        "mpeg4": (MPEG4, "mp4 mov mkv avi"),
        "mpeg4-b": (MPEG4 + " -bf 2", "mp4 mov mkv avi"),
        "mpeg2-b": ("-c:v mpeg2video -q:v 2 -bf 2", "mp4 mkv avi"),
        "mpeg1-b": ("-c:v mpeg1video -q:v 2 -bf 2", "mkv avi"),
        "vp9": (VP9, "webm mkv mp4"),
        "vp8": ("-c:v libvpx -deadline realtime -b:v 2M", "webm mkv avi"),
    }
    for (name, (options, suffixes)), gop in itertools.product(codecs.items(), (6, 250)):
        rate = "25" if name.startswith(("mpeg1", "mpeg2")) else str(RATE)  # these know a few rates only
        found |= {
            f"{name}-{gop}-{suffix}": Case(suffix, f"{options} -g {gop}", rate=rate) for suffix in suffixes.split()
        }
    found |= {
        f"{name}-{suffix}": Case(suffix, options)
        for name, (options, suffixes) in {
            "mjpeg": ("-c:v mjpeg -q:v 2 -pix_fmt yuvj420p", "avi mov mkv mp4"),
            "ffv1": ("-c:v ffv1", "mkv avi"),
            "prores": ("-c:v prores_ks", "mov mkv"),
            "png": ("-c:v png", "mov avi mkv"),
            "raw": ("-c:v rawvideo -pix_fmt bgr24", "avi"),
            "av1": ("-c:v libaom-av1 -cpu-used 8 -usage realtime -crf 20", "mp4 webm"),
            "vp9-hidden": (VP9 + " -auto-alt-ref 1 -lag-in-frames 12 -deadline good", "webm mp4"),
            "vp8-hidden": ("-c:v libvpx -auto-alt-ref 1 -lag-in-frames 12 -b:v 2M", "webm"),
            "xvid-packed": ("-c:v libxvid -q:v 2 -bf 2", "avi"),
            "open-gop": (X264 + f" {ALWAYS_B} -g 8 -x264-params open-gop=1", "mp4 mkv avi"),
            "x265-open-gop": (X265 + ":bframes=3:open-gop=1:keyint=8:min-keyint=8", "mp4 mkv"),
            "refreshed": (X264 + " -bf 0 -g 8 -x264-params intra-refresh=1", "mp4 mkv avi"),
            "fragments": (X264 + f" {ALWAYS_B} -g 8 -movflags frag_keyframe+empty_moov", "mp4"),
            "interlaced": (X264 + " -flags +ilme+ildct", "mp4 mkv"),
            "gif": ("-filter_complex split[a][b];[a]palettegen[p];[b][p]paletteuse", "gif"),
        }.items()
        for suffix in suffixes.split()
    }
    streams = {"x264": X264 + " -bf 0", "x264-b": f"{X264} {ALWAYS_B}", "x265-b": X265 + ":bframes=3"}
    streams |= {"mpeg4": MPEG4, "mpeg4-b": MPEG4 + " -bf 2"}
    for (name, options), gop, suffix in itertools.product(streams.items(), (6, 250), ("mp4", "mov", "mkv")):
        for cut in ("-ss 0.3", "-ss 0.9", "-ss 1.26 -t 0.4", "-t 0.9"):
            whole = Case(suffix, f"{options} -g {gop}", f"{cut} -i IN")
            found[f"cut-{name}-{gop}-{suffix}{cut}".replace(" ", "")] = whole
    for cut in ("-i IN", "-ss 0.7 -i IN", "-i IN -ss 0.7"):  # the units of AVI are then half a frame
        found[f"mp4-to-avi{cut}".replace(" ", "")] = Case("avi", f"{X264} {ALWAYS_B} -g 8", cut)
    for name, suffix in itertools.product(("open-gop", "x265-open-gop", "refreshed"), ("mp4", "mkv")):
        found[f"cut-{name}-{suffix}"] = found[f"{name}-{suffix}"]._replace(copy="-ss 0.9 -i IN")
    for (name, matrix), size in itertools.product(TURNS.items(), ((64, 48), (46, 38))):
        for suffix, options in (("mp4", X264), ("mov", MPEG4 + " -bf 2")):
            found[f"turned-{name}-{size[0]}-{suffix}"] = Case(suffix, options, matrix=matrix, size=size)
    found["turned-odd"] = Case("mp4", X264.replace("420", "444"), matrix=TURNS["90"], size=(63, 47))
    found["turned-cut"] = Case("mp4", f"{X264} -g 8", "-ss 0.9 -i IN", matrix=TURNS["270"])
    for rate, (suffix, options) in itertools.product(
        ("30000/1001", "24000/1001", "10", "25", "59.94", "240", "7.3"),
        (("webm", VP9), ("mkv", X264), ("mp4", X264), ("mov", X264 + " -video_track_timescale 90000"), ("avi", MPEG4)),
    ):
        found[f"rate-{rate.replace('/', '-')}-{suffix}"] = Case(suffix, options, rate=rate)
    for rate in ("12", "25", "30"):
        found[f"rate-{rate}-webm-to-mp4"] = Case("mp4", VP9, "-i IN", rate=rate)
        found[f"rate-{rate}-gif"] = Case("gif", "", rate=rate)
    for (name, how), (suffix, options) in itertools.product(
        {"gaps": GAPS, "jumpy": JUMPY, "slower": SLOWER, "stated": STATED}.items(),
        (("webm", VP9), ("mkv", f"{X264} {ALWAYS_B}"), ("mp4", f"{X264} {ALWAYS_B}"), ("mov", X264), ("gif", "")),
    ):
        found[f"variable-{name}-{suffix}"] = Case(suffix, f"{options} {how}", shown_rate="10" * (how == STATED))
    for suffix, options in (("avi", X264 + " -bf 0"), ("avi", f"{X264} {ALWAYS_B}"), ("avi", "-c:v mjpeg")):
        found[f"variable-gaps-{suffix}-{options[-3:]}"] = Case(suffix, f"{options} {GAPS}")
    for suffix, options in (("mp4", X264), ("webm", VP9), ("mkv", X264), ("avi", MPEG4)):
        found[f"single-{suffix}"] = Case(suffix, options + " -frames:v 1")
        found[f"late-{suffix}"] = Case(suffix, options, "-i IN -output_ts_offset 5")
    found["delayed-mp4"] = Case("mp4", X264, "-itsoffset 2 -i IN -f lavfi -i anullsrc -map 0:v -map 1:a -t 4")
    for space, span, bits in itertools.product(
        ("bt709", "smpte170m", "bt2020nc"), ("tv", "pc"), ("yuv420p", "yuv420p10")
    ):
        tags = f"-vf scale=out_color_matrix={space.removesuffix('nc').replace('smpte170m', 'bt601')}:out_range={span}"
        options = X264.replace("yuv420p", bits) + f" {tags} -colorspace {space} -color_range {span}"
        found[f"colour-{space}-{span}-{bits}"] = Case("mp4", options)
    return found


CASES = _cases()
FAST = {
    "x264-b-6-mp4", "x264-b-250-avi", "x265-b-6-mkv", "mpeg4-b-6-avi", "vp9-hidden-webm", "xvid-packed-avi", "gif-gif",
    "refreshed-mkv", "cut-x264-6-mp4-ss0.9", "cut-x264-b-250-mp4-ss1.26-t0.4", "cut-mpeg4-b-6-mov-ss0.3",
    "turned-90-64-mp4", "mp4-to-avi-ss0.7-iIN",
    "turned-transposed-46-mov", "turned-cut", "rate-30000-1001-webm", "rate-12-webm-to-mp4", "variable-gaps-webm",
    "variable-slower-mp4", "late-mkv", "colour-bt709-pc-yuv420p",
}  # fmt: skip
NOT_BY_OPENCV = {"interlaced-mp4", "interlaced-mkv", "late-avi", "av1-mp4", "av1-webm"}
"""It turns these to noise, repeats one frame, or has no decoder; all others are compared with it, too."""
NOT_TIMED = {"mpeg1-b-6-avi", "mpeg1-b-250-avi"}
"""ffprobe puts their first frame one place too early, as AVI stores no times."""


def drawn(width: int, height: int) -> np.ndarray:
    frames = np.empty((N, height, width, 3), np.uint8)
    rows, columns = np.mgrid[:height, :width]
    for n in range(N):
        frames[n] = (20 + 9 * n + columns * 8 // width + (rows < height // 5) * 15)[..., None]
    return frames


def ffmpeg(words: Sequence[str | Path], data: bytes | None = None) -> bytes:
    assert FFMPEG
    call = [FFMPEG, "-v", "error", "-nostdin" if data is None else "-y", "-y", *map(str, words)]
    return subprocess.run(call, input=data, stdout=subprocess.PIPE, check=True, timeout=60).stdout


def turned(path: Path, matrix: tuple[int, int, int, int]) -> None:
    """Write a display matrix into the header of the track."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = (np.int32(value << 16) for value in matrix)
    data[at : at + 36] = np.array([a, b, 0, c, d, 0, 0, 0, 1 << 30], ">i4").tobytes()
    path.write_bytes(data)


def made(name: str, folder: Path) -> Path:
    case = CASES[name]
    path = folder / f"{name}.{case.suffix}"
    first = path.with_stem("first") if case.copy else path
    for suffix in ("webm", "mp4"):
        if f"{suffix}-to" in name:
            first = first.with_suffix(f".{suffix}")
    width, height = case.size
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {case.rate} -i -".split()
    ffmpeg([*source, *case.encode.split(), first], drawn(width, height).tobytes())
    if case.copy:
        words = [first if word == "IN" else word for word in case.copy.split()]
        ffmpeg([*words, "-c:v", "copy", path])
    if case.matrix:
        turned(path, case.matrix)
    return path


def shown_by_ffmpeg(path: Path, width: int, height: int) -> np.ndarray:
    data = ffmpeg(["-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
    return np.frombuffer(data, np.uint8).reshape(-1, height, width, 3)


def times_by_ffmpeg(path: Path) -> np.ndarray:
    show = [
        "-v",
        "error",
        "-select_streams",
        "v",
        "-show_entries",
        "frame=best_effort_timestamp_time",
        "-of",
        "csv=p=0",
    ]
    call = [str(FFMPEG).replace("ffmpeg", "ffprobe"), *show, str(path)]
    lines = subprocess.run(call, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    times = [float(line.strip(",")) if line[0] != "N" else np.nan for line in lines]
    return np.array(times) - times[0]


def shown_by_opencv(path: Path) -> np.ndarray:
    reader, frames = cv2.VideoCapture(str(path)), []
    while (step := reader.read())[0]:
        frames.append(step[1][..., ::-1])
    return np.array(frames)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in CASES])
def test_frames_are_those_that_ffmpeg_shows(name: str, tmp_path: Path) -> None:
    case, path = CASES[name], made(name, tmp_path)
    clip = Clip.open(path, fps=RATE, by_time=False)
    assert problems(path) == []
    expected = shown_by_ffmpeg(path, clip.width, clip.height)
    frames = clip.to_array()
    assert len(frames) == len(expected)
    assert np.abs(frames.astype(int) - expected).mean((1, 2, 3)).max() < 1.5
    for index in np.random.default_rng(0).permutation(len(clip)):
        np.testing.assert_array_equal(clip[int(index)], frames[index])
    if case.suffix != "gif" and case.matrix is None and name not in NOT_BY_OPENCV:
        second = shown_by_opencv(path)
        assert second.shape == frames.shape
        assert np.abs(frames.astype(int) - second).mean((1, 2, 3)).max() < 3
    if name not in NOT_TIMED:
        check_times(path, case, clip, frames)


def check_times(path: Path, case: Case, clip: Clip, frames: np.ndarray) -> None:
    """Even frames have the rate of their times, others are refused or resampled by time."""
    times = times_by_ffmpeg(path)
    assert len(times) == len(frames)
    known = np.isfinite(times)  # without presentation times the last frames have none
    over, _, under = (case.shown_rate or case.rate).partition("/")
    rate = float(over) / float(under or 1)
    times[~known] = times[known][-1] + np.arange(1, 1 + (~known).sum()) / rate
    rounding = 0.0111 if case.suffix == "gif" else 0.0021
    if np.ptp(times - np.arange(len(times)) / rate) < rounding:
        assert clip.states_rate
        assert clip.fps == pytest.approx(rate, rel=0.01)
        return
    assert not clip.states_rate
    with pytest.raises(DataError, match="its frames come at"):
        Clip.open(path)
    resampled = Clip.open(path, fps=RATE)
    assert len(resampled) / RATE == pytest.approx(times[-1] + 1 / RATE, abs=0.2)
    for k, frame in enumerate(resampled):
        offsets = np.abs(times - k / RATE)
        offsets[times - k / RATE > 0.5 / RATE + rounding] = np.inf  # over a gap the frame before it is shown
        near = np.flatnonzero(offsets <= offsets.min() + rounding)
        assert any(np.array_equal(frame, frames[index]) for index in near), k
