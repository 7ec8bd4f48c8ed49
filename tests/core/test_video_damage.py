"""Broken videos: they say so in one line, and never raise anything else."""

import os
import re
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

from support.films import KINDS, N, scene, write, write_all
from worldgauge.core import _decoding
from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip, header_frames, problems


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("video"))


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


def test_a_pipe_and_a_device_are_no_videos_and_nobody_waits_for_them(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe.mp4", tmp_path / "device.mp4"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(DataError, match="no such video"):
            Clip.open(path)
        assert problems(path) == [f"{path}: no such video"]


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


def test_a_file_that_goes_away_after_it_was_opened_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.avi", scene(3), "mjpg")
    clip = Clip.open(path)
    path.unlink()
    for look in (lambda: clip[1], clip.to_array):
        with pytest.raises(DataError, match=r"x\.avi: cannot be opened again"):
            look()


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
def test_flipped_bytes_never_escape_as_another_error(files: dict[str, Path], data: st.DataObject, kind: str) -> None:
    content = bytearray(files[kind].read_bytes())
    places = st.integers(0, len(content) - 1) | st.integers(0, 600)
    for place in data.draw(st.lists(places, min_size=1, max_size=8)):
        content[place] = data.draw(st.integers(0, 255))
    path = files[kind].with_name(f"flipped.{KINDS[kind]}")
    path.write_bytes(content)
    with suppress(DataError):
        clip = Clip.open(path)
        for index in {0, len(clip) // 2, len(clip) - 1}:
            assert clip[index].dtype == np.uint8
    assert all(isinstance(line, str) for line in problems(path))


def claiming(data: bytes, table: str, count: int, sample_bytes: int = 1) -> bytes:
    """An MP4 of few frames whose table claims `count`."""
    held = bytearray(data)
    at = {name: held.index(name.encode()) for name in ("stsz", "stts", "stsc")}
    if table in ("stsz", "all"):
        held[at["stsz"] + 8 : at["stsz"] + 16] = struct.pack(">II", sample_bytes, count)
    if table in ("stts", "all"):
        held[at["stts"] + 12 : at["stts"] + 16] = struct.pack(">I", count)
    if table in ("stsc", "all"):
        held[at["stsc"] + 16 : at["stsc"] + 20] = struct.pack(">I", count)
    return bytes(held)


@pytest.mark.parametrize("table", ["all", "stsz", "stts"])
@pytest.mark.parametrize("count", [1_000_001, 20_000_000, 178_000_000])
def test_a_file_that_claims_more_frames_than_it_holds_is_refused(
    table: str, count: int, files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "claims.mp4"
    path.write_bytes(claiming(files["lossless"].read_bytes(), table, count))
    for read in (Clip.open, header_frames):
        with pytest.raises(DataError, match=f"claim {count} frames"):
            read(path)
    assert any(f"claim {count} frames" in line for line in problems(path))


TAKEN = """
import re, sys
from contextlib import suppress
from pathlib import Path
import av
from worldgauge.core import _decoding
from worldgauge.core.errors import DataError
from worldgauge.core.video import header_frames
if sys.argv[1] == "unchecked":
    _decoding._check_claims = lambda path: None

def peak_kib():
    # Unlike ru_maxrss it does not begin with what the process had that started this one.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

header_frames(sys.argv[2])
before = peak_kib()
with suppress(DataError):
    header_frames(sys.argv[3])
print(peak_kib() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc")
def test_a_claim_takes_no_memory(files: dict[str, Path], tmp_path: Path) -> None:
    """The peak is that of a process, so each has its own; unchecked, the same claim takes what the bound forbids."""
    path = tmp_path / "claims.mp4"
    path.write_bytes(claiming(files["lossless"].read_bytes(), "all", 6_000_000))

    def taken_kib(how: str) -> int:
        call = [sys.executable, "-c", TAKEN, how, str(files["lossless"]), str(path)]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=120)
        return int(done.stdout)

    assert taken_kib("checked") < 20_000
    assert taken_kib("unchecked") > 100_000


def box(kind: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def fragments(path: Path) -> bytearray:
    """An MP4 of one fragment with four frames."""
    with av.open(str(path), "w", format="mp4", options={"movflags": "frag_keyframe+empty_moov"}) as out:
        stream = out.add_stream("libx264", rate=20, options={"crf": "0"})
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for frame in scene(4)[:, :32, :32]:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        out.mux(stream.encode(None))
    assert len(Clip.open(path)) == 4
    return bytearray(path.read_bytes())


def test_a_fragment_that_claims_frames_without_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fragments.mp4"
    data = fragments(path)
    at = data.index(b"trun")
    data[at + 4 : at + 12] = struct.pack(">II", 0, 150_000_000)
    path.write_bytes(data)
    with pytest.raises(DataError, match="claim 150000000 frames"):
        Clip.open(path)


def test_claims_of_all_fragments_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "fragments.mp4"
    data = fragments(path)
    at = data.index(b"moof") - 4
    many = box(b"moof", box(b"traf", box(b"trun", struct.pack(">II", 0, 999_999)) * 2) * 4)
    path.write_bytes(data[:at] + many + data[at:])
    with pytest.raises(DataError, match="claim 1999998 frames"):
        Clip.open(path)


def test_claims_of_all_tracks_are_added_up(tmp_path: Path, files: dict[str, Path]) -> None:
    data = claiming(files["lossless"].read_bytes(), "all", 600_000)
    moov, at = data.index(b"moov") - 4, data.index(b"trak") - 4
    track = data[at : at + struct.unpack_from(">I", data, at)[0]]
    longer = struct.pack(">I", struct.unpack_from(">I", data, moov)[0] + len(track))
    path = tmp_path / "tracks.mp4"
    path.write_bytes(data[:moov] + longer + data[moov + 4 : at] + track + data[at:])
    with pytest.raises(DataError, match="claim 1200000 frames"):
        Clip.open(path)


def test_a_claim_behind_many_boxes_is_found(tmp_path: Path, files: dict[str, Path]) -> None:
    path = tmp_path / "boxes.mp4"
    data = claiming(files["lossless"].read_bytes(), "all", 8_000_000)
    path.write_bytes(box(b"free") * 100_001 + data)
    with pytest.raises(DataError, match="claim 8000000 frames"):
        Clip.open(path)


@pytest.mark.parametrize(
    "name", ["moov free", "moov hoov", *(f"stbl {each}" for each in ("dinf", "tref", "sinf", "schi", "ilst"))]
)
def test_a_claim_in_another_box_that_is_read_is_found(name: str, tmp_path: Path, files: dict[str, Path]) -> None:
    usual, other = (each.encode() for each in name.split())
    path = tmp_path / "other.mp4"
    data = files["lossless"].read_bytes().replace(usual, other)
    path.write_bytes(data)
    assert len(Clip.open(path)) == N, "it is read"
    path.write_bytes(claiming(data, "all", 8_000_000))
    with pytest.raises(DataError, match="claim 8000000 frames"):
        Clip.open(path)


def test_a_claim_in_the_description_of_samples_or_in_notes_is_found(tmp_path: Path, files: dict[str, Path]) -> None:
    table = box(b"stsz", struct.pack(">III", 0, 1, 8_000_000))
    data = files["lossless"].read_bytes()
    path = tmp_path / "hidden.mp4"
    at = data.index(b"avcC") + 8
    path.write_bytes(data[:at] + table + data[at + len(table) :])
    with pytest.raises(DataError, match="a table lies where nothing writes one"):
        Clip.open(path)
    notes = box(b"udta", box(b"meta", bytes(4) + box(b"hdlr", bytes(25)) + table))
    path.write_bytes(notes + data)
    with pytest.raises(DataError, match="claim 8000000 frames"):
        Clip.open(path)


def test_boxes_beyond_the_limits_are_refused(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = files["lossless"].read_bytes()
    path = tmp_path / "boxes.mp4"
    monkeypatch.setattr(_decoding, "_MOST_BOXES", 200)
    path.write_bytes(box(b"udta", box(b"free") * 10) * 3 + data)
    assert len(Clip.open(path)) == N
    path.write_bytes(box(b"udta", box(b"free") * 60) * 3 + data)
    with pytest.raises(DataError, match=r"boxes\.mp4: more than 200 boxes"):
        Clip.open(path)
    deep = b""
    for _ in range(14):
        deep = box(b"udta", deep)
    path.write_bytes(deep + data)
    with pytest.raises(DataError, match=r"boxes\.mp4: its boxes are nested more than 12 deep"):
        Clip.open(path)


def test_a_long_sound_beside_the_frames_is_no_claim(tmp_path: Path) -> None:
    path = tmp_path / "sound.mov"
    with av.open(str(path), "w", format="mov") as out:
        video = out.add_stream("mjpeg", rate=20)
        video.width, video.height, video.pix_fmt = 32, 32, "yuvj420p"
        sound = out.add_stream("pcm_s16le", rate=48_000)
        for frame in scene(4)[:, :32, :32]:
            out.mux(video.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        out.mux(video.encode(None))
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 1_200_000), np.int16), format="s16", layout="mono")
        silence.rate = 48_000
        out.mux(sound.encode(silence))
    assert len(Clip.open(path)) == 4


def test_many_damaged_packets_are_counted_not_listed(tmp_path: Path, files: dict[str, Path]) -> None:
    path = tmp_path / "many.mp4"
    path.write_bytes(claiming(files["lossless"].read_bytes(), "all", 20_000))
    found = problems(path)
    assert len(found) < 30
    assert any("more packets cannot be decoded" in line for line in found)
