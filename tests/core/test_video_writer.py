"""Writers: a file appears whole or not at all."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from support.films import KINDS, scene, write
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.video import Clip, Writer


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


def test_what_was_dropped_is_never_taken_for_written(tmp_path: Path) -> None:
    path = tmp_path / "x.mp4"
    for written in (0, 2):
        out = Writer(path, fps=20, kind="lossless")
        if written:
            out.write(scene(written))
        out.abandon()
        out.abandon()
        with pytest.raises(DataError, match="dropped"):
            out.close()
        with pytest.raises(DataError, match="dropped"):
            out.write(scene(1))
    assert list(tmp_path.iterdir()) == []
    out = Writer(path, fps=20, kind="lossless")
    out.write(scene(2))
    out.close()
    out.abandon()
    out.close()
    assert len(Clip.open(path)) == 2, "what is in place stays"


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from worldgauge.core.errors import DataError
from worldgauge.core.video import Writer
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
