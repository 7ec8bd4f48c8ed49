"""A reconstruction in a process of its own: PyCOLMAP crashes or takes for ever on some videos that no camera took.

Such as a picture that slides, of an unknown field of view: no depth, so any focal length, and SIGSEGV. The two sides
meet in a folder: `request.npz` from here, the database next to it, `answer.npz` from the child.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.perception.decoders.frames import Gray
from worldgauge.perception.decoders.sfm._mapping import Matched, Model
from worldgauge.perception.decoders.sfm._votes import Election, elect
from worldgauge.serving.isolation import without_secrets
from worldgauge.serving.printed import Tail, how_it_ended
from worldgauge.serving.process import FOLDER_VARIABLE

STARTS = 4
MAX_MEMORY_BYTES = 16 << 30
"""Of the child; a clip of some hundred frames takes less than one."""
_CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
_REQUEST, _ANSWER, _PRINTED = "request.npz", "answer.npz", "printed"
# The child gets this process's search path, as a worker of the pool does.
_BOOT = f"import sys; sys.path[:] = sys.argv[2:]; from {__name__} import answer; answer(sys.argv[1])"


class BrokenOffError(Exception):
    """A reconstruction that did not finish, with the reason in one line.

    Attributes:
        passing: It may finish another time, since it lacked time or memory.
    """

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


def reconstruct(
    images: Sequence[Gray],
    focal_px: float | None,
    seed: int,
    *,
    anchored: bool,
    max_s: float,
    anchor_xy: FloatArray | None = None,
) -> Election | None:
    """Reconstruct the cameras of images in a child process, of which nothing remains.

    Args:
        images: (H, W) uint8 of one size, in order of time.
        focal_px: Focal length; None when unknown.
        seed: First seed.
        anchored: Image 0 is the anchor.
        max_s: Time limit, seconds.
        anchor_xy: As in `DecodeRequest`.

    Returns:
        The model that two starts agree on, or the best of those that differ; None if there is none.

    Raises:
        BrokenOffError: The child crashed, or took longer than `max_s`.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="worldgauge-sfm-", dir=os.environ.get(FOLDER_VARIABLE)))
    except OSError as error:
        raise BrokenOffError(f"no folder for the reconstruction: {error}", passing=True) from None
    try:
        np.savez(
            folder / _REQUEST,
            images=np.stack(images),
            focal_px=np.nan if focal_px is None else focal_px,
            seed=seed,
            anchored=anchored,
            anchor_xy=np.zeros(0) if anchor_xy is None else anchor_xy,
        )
        return _election(_answer(folder, max_s))
    except OSError as error:
        raise BrokenOffError(f"the reconstruction could not be run: {error}", passing=True) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answer(folder: str) -> None:
    """The child's side: do what `folder` asks for. Ends at once when the parent does, which holds its stdin."""
    import cv2

    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    _limit()
    with np.load(Path(folder, _REQUEST), allow_pickle=False) as asked:
        request = {name: asked[name] for name in asked.files}
    cv2.setNumThreads(1)  # the same bytes, however busy the machine
    try:
        content = _as_arrays(_elect(request, Path(folder)))
    except Exception as error:  # PyCOLMAP raises what it likes
        passing = isinstance(error, (OSError, MemoryError))
        content = {"fault": np.str_("PyCOLMAP: " + " ".join(str(error).split())[:200]), "passing": passing}
    part = Path(folder, "part.npz")
    np.savez(part, **content)
    part.replace(Path(folder, _ANSWER))


def _answer(folder: Path, max_s: float) -> dict[str, Any]:
    """What the child says, once it has ended."""
    with open(folder / _PRINTED, "wb") as printed:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOT, str(folder), *sys.path],
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=printed,
            env=without_secrets(os.environ),
            process_group=0,  # Ctrl-C is for this process, which ends the child
        )
    try:
        child.wait(max(0.0, max_s))
    except subprocess.TimeoutExpired:
        raise BrokenOffError(f"the reconstruction took more than {max_s:.3g} s", passing=True) from None
    finally:
        child.kill()
        child.wait()
        assert child.stdin is not None
        child.stdin.close()
    code = child.returncode
    if code == 0:
        with np.load(folder / _ANSWER, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    how = how_it_ended(code)
    if how.endswith(_CRASHES):
        raise BrokenOffError(f"the reconstruction crashed: PyCOLMAP {how}", passing=False)
    tail = Tail()
    tail.add((folder / _PRINTED).read_bytes())
    raise BrokenOffError(f"the reconstruction {how}{tail.last_words()}", passing=True)


def _elect(request: Mapping[str, Any], folder: Path) -> Election | None:
    focal_px = None if np.isnan(request["focal_px"]) else float(request["focal_px"])
    seed = int(request["seed"])
    anchored = bool(request["anchored"])
    anchor_xy = request["anchor_xy"] if request["anchor_xy"].size else None
    matched = Matched(list(request["images"]), focal_px, folder, seed, anchored=anchored, anchor_xy=anchor_xy)
    # Every other model trusts the given field of view, if there is one.
    ballots = [
        partial(matched.map, seed + start, focal_fixed=focal_px is not None and start % 2 == 1)
        for start in range(STARTS)
    ]
    return elect(ballots, anchored)


def _as_arrays(election: Election | None) -> dict[str, Any]:
    """An election as arrays, exactly."""
    if election is None:
        return {}
    model = election.model
    return {
        "images": np.array(list(model.poses), np.int64),
        "poses": np.stack(list(model.poses.values())) if model.poses else np.zeros((0, 4, 4)),
        "focal_px": model.focal_px,
        "reprojection_px": model.reprojection_px,
        "points_per_frame": model.points_per_frame,
        "observations": model.observations,
        "anchor": np.array([model.anchor_likeness, model.anchor_lead], np.float64),
        "agreed": election.agreed,
        "difference": np.nan if election.difference is None else election.difference,
        "starts": election.starts,
    }


def _election(content: Mapping[str, Any]) -> Election | None:
    if "fault" in content:
        raise BrokenOffError(str(content["fault"]), passing=bool(content["passing"]))
    if not content:
        return None
    likeness, lead = (None if np.isnan(value) else float(value) for value in content["anchor"])
    model = Model(
        dict(zip(content["images"].tolist(), content["poses"], strict=True)),
        focal_px=float(content["focal_px"]),
        reprojection_px=float(content["reprojection_px"]),
        points_per_frame=float(content["points_per_frame"]),
        observations=int(content["observations"]),
        anchor_likeness=likeness,
        anchor_lead=lead,
    )
    apart = float(content["difference"])
    return Election(model, bool(content["agreed"]), None if np.isnan(apart) else apart, int(content["starts"]))


def _end_with_parent(folder: str) -> None:
    with suppress(OSError):
        os.read(0, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _limit() -> None:
    """No memory image of a crash, and a bound on memory: what videos of models make of it is not foreseeable."""
    import resource

    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, MAX_MEMORY_BYTES)):
        with suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
