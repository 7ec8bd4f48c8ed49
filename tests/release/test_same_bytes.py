"""Nothing was lost when the house was rebuilt: data, scores and tables have the digests that 0.1.0 gave.

bytes_0_1_0.json was made by measure.py with 0.1.0, with kernels compiled for any x86-64 processor: digests of what was
compiled for one machine do not hold on another. Left out of it are files that name where the data lie (run.json,
record.json, the index of file times) and how long things took (journal.jsonl).
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from support.places import TESTS
from worldgauge.suites import RENAMED

sys.path.insert(0, str(TESTS / "release"))
import measure

BEFORE: dict[str, Any] = json.loads((TESTS / "release" / "bytes_0_1_0.json").read_text())
NEW = {
    "metrics": {*measure.ADDED, "path/scale_free_ade", "ape_whole", "stlpips", "stlpips_vgg"}
    | {"twin_accuracy", "twin_ahead", "twin_gain", "advanced", "as_left", "looked_away", "progress"},
    "estimators": {"balanced"},
    "agents": {"castle", "degraded"},
    "models": {"hedge", "coarse", "tiny", "planar", "zoom"},
    "worlds": {"recorded", "scan", "going-on", "table-process"},
    "suites": {"unseen"},
}
"""Registered since 0.1.0, by kind."""

CHANGED = {
    ("loopnav", "scores"): "at the common size the recording keeps its own pixels, so `ssim_320x180` is another one",
    ("loopnav", "data"): "records hold captions of what the frames show",
    ("loopnav", "records"): "the same, and tasks have another fingerprint",
    ("mind", "data"): "captions are one sentence about the first frame, and frames have captions",
    ("mind", "records"): "the same",
    ("mind", "scores"): "facts of action accuracy hold the released groups too, of frames the length of the video",
    ("closedloop", "scores"): "visual quality no longer takes squares of noise for structure; similarity at a table",
    ("target", "scores"): "weights of the profile aligned add up to 1",
    ("closedloop", "collected"): "recognition starts where a better view pays",
    ("closedloop", "data"): "the same, and questions have parts of their own",
    ("closedloop", "check"): "the same",
    ("closedloop", "records"): "the same, and the recogniser is another one",
    ("target", "data"): "metadata bear the words of the annotation tool",
    ("target", "check"): "last digits are those of the machine; 0.1.0 gives the same where it is run beside",
    ("target", "records"): "the same",
    ("demonstrations", "data"): "the same",
    **{
        (
            suite,
            "tables",
        ): "intervals are of clusters, Student's below 8; one value has no spread; tables count clusters"
        for suite in ("loopnav", "mind", "target", "closedloop", "build")
    },
}
"""Parts that are meant to differ from 0.1.0, and why: the name of the set and of the part."""


def installed(name: str) -> str:
    """The version of a package; "none" where it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


other = {name: installed(name) for name in BEFORE["made_with"] if installed(name) != BEFORE["made_with"][name]}
needs_the_same_libraries = pytest.mark.skipif(
    bool(other) or sys.platform != "linux", reason=f"encoders and numbers are those of other versions: {other}"
)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@needs_the_same_libraries
@pytest.mark.parametrize("name", BEFORE["sets"])
def test_data_scores_and_tables_are_those_of_0_1_0(name: str, tmp_path: Path) -> None:
    now, before = measure.measure(tmp_path, [name])[name], BEFORE["sets"][name]
    for part, digests in before.items():
        if (name, part) in CHANGED:
            continue
        assert now[part] == digests, f"{name}: {part}"


@pytest.mark.parametrize("kind", BEFORE["registered"])
def test_everything_that_was_registered_is_still_there(kind: str) -> None:
    now = set(measure.registered(kind))
    before = {RENAMED.get(name, name) for name in BEFORE["registered"][kind]}
    assert now - before == NEW.get(kind, set())
    assert before <= now
