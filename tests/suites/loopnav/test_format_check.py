"""The checker: numbers worked by hand, published ones beside them, every fault found by name."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from suites.loopnav.loopnav_data import STEP, put, straight_loop
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav import format_check as loopnav_check
from worldgauge.suites.loopnav.format import write_manifest
from worldgauge.suites.loopnav.format_check import LINE_OFFSET, LINE_SLOPE, _published, check
from worldgauge.suites.loopnav.format_records import measure
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.cells import write as write_cells

LOOP = straight_loop()
PER_FRAME = ("positions", "yaw", "pitch", "camera", "forward", "jump", "goals")


def bent(walk, width):
    """The same walk with its way back bowed sideways: a triangle over the middle of the way out."""
    split = len(walk) - 35
    positions = walk.positions.copy()
    back = np.arange(split, len(walk))
    share = np.clip((back - split) / 30, 0, 1)
    positions[split:, 0] += width * (1 - np.abs(2 * share - 1))
    return replace(walk, positions=positions.round(3))


def findings(root):
    return {finding.text: finding.severity for finding in check(root).findings}


def has(found, text, severity):
    return any(text in line and level == severity for line, level in found.items())


def test_numbers_by_hand():
    split = next(i for i, goal in enumerate(LOOP.goals) if goal is not None and goal.range_sq) - 1
    straight = measure(LOOP, split)
    assert straight.path_length == pytest.approx(60 * STEP)
    assert straight.enclosed_area == pytest.approx(0, abs=1e-9)
    assert straight.look_around == pytest.approx(2 * math.pi, abs=1e-3)
    assert (straight.max_camera, straight.yaw_agreement) == (pytest.approx(0.1), pytest.approx(1))
    assert (straight.exclusive_violations, straight.final_distance) == (0, 0)
    bow = measure(bent(LOOP, 1.0), split)
    assert bow.enclosed_area == pytest.approx(30 * STEP * 1.0 / 2, rel=0.01)
    assert bow.normalised_deviation == pytest.approx(bow.enclosed_area / (bow.path_length / 2))
    assert measure(replace(LOOP, kind="ABCA"), split).enclosed_area is None
    assert measure(LOOP, None).enclosed_area is None


def test_measures_of_degenerate_walks():
    for n in (1, 2):
        walk = replace(LOOP, **{name: getattr(LOOP, name)[:n] for name in PER_FRAME})
        still = measure(walk, None)
        assert (still.path_length, still.yaw_agreement, still.final_distance) == (0, None, 0)
        assert math.isfinite(still.look_around)


def test_a_good_folder(tmp_path):
    for stamp in ("1", "2"):
        put(tmp_path, stamp=stamp)
    put(tmp_path, replace(LOOP, radius=15), stamp="1")
    report = check(tmp_path)
    assert (report.n_items, report.n_valid, report.n_frames) == (3, 3, 3 * len(LOOP))
    row, other = json.loads(json.dumps(report.facts, allow_nan=False))["rows"]
    counts = [(each["type"], each["range"], each["trajectories"]) for each in (row, other)]
    assert (counts, row["frames"]) == ([("ABA", 5, 2), ("ABA", 15, 1)], {"n": 2, "mean": len(LOOP), "std": 0})
    assert (row["published_frames"], other["published_enclosed_area"]) == ([180.5, 30.4], [10.95, 12.91])
    assert other["published_normalised_deviation"] == [0.67, 0.13]
    assert row["frames_to_line"]["mean"] == pytest.approx(len(LOOP) / (94.7 + 8.07 * 60 * STEP))
    assert row["look_around_deg"]["mean"] == pytest.approx(360, abs=0.1)
    assert {finding.severity for finding in report.findings} == {"info"}


def test_published_line_fits_the_published_means():
    """94.7 + 8.07 x the implied lengths, within 2.1 frames."""
    for radius in (5, 15, 30, 50):
        area, deviation = _published("enclosed_area", "ABA", radius), _published("normalised_deviation", "ABA", radius)
        frames = _published("frames", "ABA", radius)
        length = 2 * area[0] / deviation[0]
        assert LINE_OFFSET + LINE_SLOPE * length == pytest.approx(frames[0], abs=2.6)


def test_nothing_there(tmp_path):
    report = check(tmp_path)
    assert report.facts["rows"] == []
    assert [finding.severity for finding in report.findings] == ["error"]
    with pytest.raises(DataError, match="no such folder"):
        check(tmp_path / "absent")


def test_what_is_left_out_is_said_once_a_reason(tmp_path):
    for stamp in ("1", "2", "3"):
        path = put(tmp_path, stamp=stamp)
        if stamp != "3":
            rows = json.loads(path.read_text())
            path.write_text(json.dumps(rows[: -int(stamp)]))
    put(tmp_path, replace(LOOP, camera=LOOP.camera * 2), stamp="4")
    report = check(tmp_path)
    assert report.n_valid == 1
    assert report.facts["rows"][0]["frames"]["n"] == 1, "statistics are of valid trajectories only"
    texts = [finding.text for finding in report.findings]
    assert sum(" left out, " in text for text in texts) == 2
    found = findings(tmp_path)
    assert has(found, "2 of 4 trajectories left out, ABA/plains_village_20/5/1: 161 frames in the video", "error")
    assert has(found, "1 of 4 trajectories left out, ABA/plains_village_20/5/4: camera turns 0.200", "warning")
    assert report.findings[0].severity == "error", "errors first"


FAULTS = [
    (replace(LOOP, yaw=LOOP.yaw + np.pi), "moves against its yaw", "error"),
    (replace(LOOP, camera=LOOP.camera * 1.5), "with turns of up to 0.150 rad", "warning"),
    (replace(LOOP, forward=np.ones(len(LOOP), bool)), "while a key is down", "warning"),
    (replace(LOOP, camera=np.roll(LOOP.camera, 1, axis=0)), "differ from the change of yaw", "warning"),
    (replace(LOOP, yaw=np.maximum(LOOP.yaw, np.pi / 2 + 4.5)), "without every direction in sight", "warning"),
    (straight_loop(90), "more than 25% off the published line", "warning"),
]


@pytest.mark.parametrize(("walk", "text", "severity"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_faults_are_named(tmp_path, walk, text, severity):
    put(tmp_path / "good")
    assert not has(findings(tmp_path / "good"), text, severity)
    put(tmp_path / "bad", walk)
    assert has(findings(tmp_path / "bad"), text, severity)


def test_motion_square_to_the_yaw_is_no_agreement_either(tmp_path):
    put(tmp_path)
    for agreement, wrong in ((0.0, True), (-0.5, True), (1e-9, False), (None, False)):
        measures = replace(measure(LOOP, 80), yaw_agreement=agreement)
        item = loopnav_check._Measured(loopnav.discover(tmp_path)[0], measures)
        assert any("against its yaw" in finding.text for finding in loopnav_check._of_walks([item])) == wrong


@pytest.mark.parametrize(
    ("change", "text", "severity"),
    [
        (lambda row: row["action"].update(left=True), "with keys other than forward", "warning"),
        (lambda row: row["extra_info"].update(nvrange=50), "names another location", "warning"),
    ],
)
def test_flags_are_named(tmp_path, change, text, severity):
    path = put(tmp_path)
    rows = json.loads(path.read_text())
    change(rows[7])
    path.write_text(json.dumps(rows))
    assert has(findings(tmp_path), text, severity)


def test_a_check_decodes_nothing_and_reads_nothing_twice(tmp_path, monkeypatch):
    put(tmp_path)
    first = check(tmp_path)
    monkeypatch.setattr("worldgauge.suites.loopnav.format_records.read_bytes", None)
    monkeypatch.setattr("worldgauge.suites.loopnav.format.Clip", None)
    assert check(tmp_path) == first


def test_decoding_finds_what_counting_does_not(tmp_path):
    """One JPEG of the video is overwritten: all frames are there, and only a decoder can tell."""
    put(tmp_path)
    (video,) = tmp_path.rglob("*.avi")
    data = bytearray(video.read_bytes())
    at = data.index(b"\xff\xda", len(data) // 2) + 64
    data[at : at + 200] = b"\xff" * 200
    video.write_bytes(data)
    assert not any("decodes with" in finding.text for finding in check(tmp_path).findings)
    found = [finding for finding in check(tmp_path, decode=True).findings if "decodes with" in finding.text]
    assert [finding.severity for finding in found] == ["error"]


def test_blocks_of_the_game_that_are_seen_as_others_are_counted(tmp_path):
    put(tmp_path, LOOP)
    index = np.zeros((4, 4, 4), np.uint16)
    index[:, 0] = 1
    index[0, 1, :3] = 2
    index[1, 1] = 3
    grid = tmp_path / "worlds" / "here.grid.gz"
    write_cells(grid, Cells((0, 60, 0), (AIR, "minecraft:stone", "minecraft:diamond_ore", "minecraft:cave_air"), index))
    facts = WorldFacts("minecraft", {"grid": "worlds/here.grid.gz"}, None)
    write_manifest(tmp_path, {"here": facts}, {})
    assert has(findings(tmp_path), "here: 3 of 19 blocks are replaced by the nearest of ours, such as", "info")
    assert has(findings(tmp_path), "diamond_ore as stone", "info")


def test_a_grid_file_that_cannot_be_read_is_a_finding(tmp_path):
    put(tmp_path, LOOP)
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "bad.grid.gz").write_bytes(b"no grid")
    grids = {"bad": {"grid": "worlds/bad.grid.gz"}, "gone": {"grid": "worlds/gone.grid.gz"}, "none": {}}
    write_manifest(tmp_path, {name: WorldFacts("minecraft", grid, None) for name, grid in grids.items()}, {})
    found = [finding.text for finding in check(tmp_path).findings if finding.severity == "error"]
    assert [text.partition(":")[0] for text in found] == list(grids)
    assert "bad.grid.gz" in found[0]


def test_the_data_set_is_imported_without_what_only_worlds_need():
    code = "import sys, worldgauge.suites.loopnav.format; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
