"""How many files of the package a reader has to open to follow one task."""

import sys
import threading
from pathlib import Path

import worldgauge
from worldgauge.core.model import ModelSpec
from worldgauge.engine.run import run

MOST = 45
SOURCE = Path(worldgauge.__file__).parent


class Still:
    """Repeats the last frame of its context."""

    spec = ModelSpec("still")

    def rollout(self, request):
        for _ in range(request.horizon):
            yield request.context.clip[-1][None]


def test_a_warm_task_passes_through_few_files(walks, tmp_path):
    """The second of two tasks in one process; what is computed once or cached by then is not counted."""
    passed, done = set(), []

    def profile(frame, event, arg):
        if event == "call" and len(done) == 1 and frame.f_code.co_name != "<module>":
            passed.add(frame.f_code.co_filename)

    before = sys.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        run("loopnav", model=Still(), data=walks, out=tmp_path, progress=lambda step: step.status and done.append(step))
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    files = {Path(name).relative_to(SOURCE) for name in passed if Path(name).is_relative_to(SOURCE)}
    assert len(done) == 2
    assert len(files) <= MOST, sorted(map(str, files))
