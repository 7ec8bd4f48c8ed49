"""What PyCOLMAP does not survive, and what takes too long: a failed path with a reason, and nothing left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.video import Clip, resize
from worldgauge.perception.decoders import DecodeRequest, decode_cached, open_decoder, sfm
from worldgauge.perception.decoders._reconstruction import BrokenOffError, reconstruct
from worldgauge.worlds.indoor.textured_rooms import room_clip

ALONE = "sfm-global?fallback=false&cross_check=never"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where reconstructions keep their files; nothing of them is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("WORLDGAUGE_FOLDER", raising=False)
    yield tmp_path
    assert list(tmp_path.glob("worldgauge-*")) == []


@pytest.fixture
def doomed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Every child gets the signal of the parameter as soon as it is there."""
    start = subprocess.Popen

    def start_and_hit(*arguments: Any, **settings: Any) -> Any:
        child = start(*arguments, **settings)
        child.send_signal(request.param)
        return child

    monkeypatch.setattr(subprocess, "Popen", start_and_hit)


@cache
def walked() -> DecodeRequest:
    room = room_clip("turn", frames=13)
    return DecodeRequest(Clip.from_array(room.frames, room.fps), room.history_frame, room.anchor_distance_m, 80.0)


@pytest.mark.slow
def test_a_picture_that_slides_is_a_failed_path(capfd: pytest.CaptureFixture[str]) -> None:
    # PyCOLMAP 4.0 dies of these frames by SIGSEGV; a later one may find that the anchor is missing.
    rng = np.random.default_rng(0)
    frame = resize(rng.integers(0, 255, (90, 160, 3), np.uint8), 640, 360)
    frames = np.stack([np.roll(frame, -16 * i, axis=1) for i in range(20)])
    path = open_decoder(ALONE).decode(DecodeRequest(Clip.from_array(frames, 24.0), None, None, n_points=20))
    assert (path.status, path.reason) in (
        ("failed", "the reconstruction crashed: PyCOLMAP was killed by SIGSEGV"),
        ("no_scale", "there is no anchor frame"),
    )
    assert path.xy is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("doomed", [signal.SIGSEGV], indirect=True)
@pytest.mark.usefixtures("doomed")
def test_a_crash_is_kept_as_the_videos_own_and_another_decoder_asked() -> None:
    path = open_decoder("sfm-global", cross_check="never").decode(walked())
    assert "error" not in path.diagnostics
    crashed, second = path.diagnostics["attempts"]
    assert (crashed["frames"], crashed["status"]) == (13, "failed")
    assert crashed["reason"] == "the reconstruction crashed: PyCOLMAP was killed by SIGSEGV"
    assert second["decoder"] == "klt-vo"


def test_what_takes_too_long_is_failed_and_asked_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(folder / "cache"))
    monkeypatch.setattr(sfm, "MAX_S", 0.5)
    began = time.monotonic()
    path = decode_cached(open_decoder(ALONE), walked(), "a video")
    assert time.monotonic() - began < 5
    assert (path.status, path.reason) == ("failed", "the reconstruction took more than 0.5 s")
    assert "error" in path.diagnostics
    assert (len(path.diagnostics["attempts"]), list((folder / "cache").rglob("*.json"))) == (1, [])


def test_time_runs_for_all_attempts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def slow(*_: object, max_s: float, **__: object) -> None:
        given.append(max_s)
        time.sleep(0.2)

    monkeypatch.setattr(sfm, "reconstruct", slow)
    open_decoder(ALONE, frames=3, retry_frames=10).decode(walked())
    assert (len(given), given[0]) == (2, pytest.approx(sfm.MAX_S, abs=0.1))
    assert given[1] <= given[0] - 0.2


def test_all_frames_are_looked_at_once_only() -> None:
    request = walked()
    every = DecodeRequest(request.video, None, None, n_points=len(request.video))
    path = open_decoder(ALONE, frames=3, retry_frames=10).decode(every)
    assert [attempt["frames"] for attempt in path.diagnostics["attempts"]] == [13]


@pytest.mark.parametrize("doomed", [signal.SIGKILL, signal.SIGTERM], indirect=True)
@pytest.mark.usefixtures("doomed")
def test_whoever_kills_the_child_is_no_fault_of_the_video() -> None:
    with pytest.raises(BrokenOffError, match=r"killed by SIG(KILL|TERM)") as found:
        reconstruct([np.zeros((9, 16), np.uint8)], None, 0, anchored=False, max_s=60)
    assert found.value.passing


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_its_parent(number: signal.Signals, folder: Path) -> None:
    script = (
        "import sys, tempfile, numpy as np\n"
        "from worldgauge.perception.decoders._reconstruction import reconstruct\n"
        "tempfile.tempdir = sys.argv[1]\n"
        "pictures = list(np.random.default_rng(0).integers(0, 255, (60, 360, 640), np.uint8))\n"
        "reconstruct(pictures, None, 0, anchored=False, max_s=600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(folder)], stderr=subprocess.PIPE)
    wait_for(lambda: list(folder.glob("worldgauge-*/database.db")))
    child = only_child(parent.pid)
    parent.send_signal(number)
    parent.communicate(timeout=10)
    wait_for(lambda: not alive(child))
    wait_for(lambda: not list(folder.glob("worldgauge-*")))


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def only_child(parent: int) -> int:
    (child,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(child)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
