"""Data in the published layout: what is found, and how each way of being broken is told."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.mind.mind_data import MIRROR, pictures, published_rows, write_published, write_published_clip
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.video import Writer, header_frames
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.actions import MIRROR_PATHS, walk_look
from worldgauge.suites.mind.format import MindClip, Part, read

SIZE = (64, 36)
FRAMES = 30


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("mind"), frames=FRAMES, size=SIZE)


def by_id(root: Path) -> dict[str, MindClip]:
    return {clip.id: clip for clip in mind.discover(root)}


def test_all_are_found_in_order(published: Path) -> None:
    clips = mind.discover(published)
    assert [clip.id for clip in clips] == [clip.id for clip in mind.discover(published.parent)]
    assert len(clips) == 2 * (3 * 2 + 2 * 10)
    assert not [clip.fault for clip in clips if clip.fault]
    assert [clip.id for clip in clips[:7]] == [
        "1st_data/train/data-75",
        "1st_data/train/data-76",
        "1st_data/mem_test/data-25",
        "1st_data/mem_test/data-26",
        "1st_data/action_space_test/data-0-1.0x-200",
        "1st_data/action_space_test/data-1-0.4x-100",
        "1st_data/mirror_test/data-0/path-1",
    ]
    assert {clip.family for clip in clips} == {"unknown"}
    assert not any(clip.space_known or clip.world for clip in clips)
    assert len({hash(clip) for clip in clips}) == len(clips)


def test_one_is_found_by_its_id_without_the_others(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clips = mind.discover(published)
    opened: list[Path] = []
    read_action = read.read_action
    monkeypatch.setattr(read, "read_action", lambda path: (opened.append(path), read_action(path))[1])
    # Without its cache, each call reads its files.
    monkeypatch.setattr(read, "_said", read._said.__wrapped__)  # type: ignore[attr-defined]
    for clip in clips:
        assert mind.find(published.parent, clip.id) == clip
        assert set(opened) <= ({clip.records} if clip.path is None else {one.records for one in clips if one.path})
        opened.clear()
    for gone in ("1st_data/mem_test/data-1", "1st_data/mem_test/..", "1st_data/mem_test", "2nd_data/train/data-75", ""):
        assert mind.find(published, gone) is None


def test_parts_and_perspectives(published: Path) -> None:
    clips = mind.discover(published, parts=("mem_test",), perspectives=("3rd",))
    assert [clip.id for clip in clips] == ["3rd_data/mem_test/data-150", "3rd_data/mem_test/data-151"]
    with pytest.raises(UnknownNameError, match="mem_test"):
        mind.discover(published, parts=("mem_tset",))  # type: ignore[arg-type]


def test_names_sort_by_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 100):
        write_published_clip(tmp_path / f"1st_data/train/data-{number}", "1st", 3, SIZE)
    assert [clip.name for clip in mind.discover(tmp_path)] == ["data-9", "data-10", "data-100"]


def test_the_space_of_a_name_is_a_hint(published: Path) -> None:
    clips = by_id(published)
    assert clips["1st_data/action_space_test/data-1-0.4x-100"].space == walk_look(1.0, 0.4)
    assert clips["1st_data/mem_test/data-25"].space == walk_look(2.0, 1.0)
    assert clips["1st_data/action_space_test/data-1-0.4x-100"].steps == (0.4, 100.0)


def test_first_person(published: Path) -> None:
    episode = mind.load(by_id(published)["1st_data/train/data-75"])
    rows = published_rows("1st", FRAMES, 1.0, 200)
    assert len(episode) == FRAMES
    place = rows[-1]["actor_pos"]
    np.testing.assert_allclose(episode.poses[-1, :3, 3], [place["x"] / 100, -place["y"] / 100, place["z"] / 100])
    yaw, pitch = yaw_pitch_from_pose(episode.poses[-1])
    assert np.degrees([yaw, pitch]) == pytest.approx([-rows[-1]["actor_rpy"]["z"], rows[-1]["actor_rpy"]["y"]])
    assert episode.facts["caption"] == "A walk along a wall."
    assert (episode.facts["mark_time"], episode.facts["camera_known"]) == (10, False)
    assert episode.camera.width / episode.camera.fx / 2 == pytest.approx(1), "90 degrees across"
    assert episode.clip.fps == 24


def test_a_row_of_the_file_led_to_its_frame(published: Path) -> None:
    clip = by_id(published)["1st_data/train/data-75"]
    episode, keys = mind.load(clip), mind.keys_of(clip)
    assert keys.shape == (FRAMES, 4)
    np.testing.assert_array_equal(episode.actions.column("forward"), keys[1:, 0] == 1)
    np.testing.assert_array_equal(episode.actions.column("look_right"), keys[1:, 3] == 2)
    moved = np.linalg.norm(np.diff(episode.poses[:, :3, 3], axis=0), axis=1) > 1e-6
    np.testing.assert_array_equal(moved, episode.actions.column("forward") == 1)


def test_third_person_angles_come_of_the_positions(tmp_path: Path) -> None:
    write_published_clip(tmp_path / "3rd_data/train/data-1", "3rd", FRAMES, SIZE, turn_deg=0.4)
    episode = mind.load(mind.discover(tmp_path)[0])
    rows = published_rows("3rd", FRAMES, 0.4, 200)
    fields = np.array([row["camera_rpy"]["z"] for row in rows])
    yaw, pitch = np.degrees(yaw_pitch_from_pose(episode.poses))
    turn = np.clip(np.arange(FRAMES) - FRAMES // 2, 0, 5) * 0.4
    np.testing.assert_allclose(-yaw, 20 + turn, atol=1e-6)
    assert np.abs(fields + yaw).max() > 0.5, "the fields alone would be wrong"
    assert pitch[-1] == pytest.approx(-8.6, abs=1e-6)
    place = rows[-1]["camera_pos"]
    np.testing.assert_allclose(episode.poses[-1, :3, 3], [place["x"] / 100, -place["y"] / 100, place["z"] / 100])


def test_mirror_tasks(published: Path) -> None:
    clips = [clip for clip in mind.discover(published, parts=("mirror_test",)) if clip.name == "data-1"]
    assert [(clip.number, clip.path) for clip in clips[:10]] == list(enumerate(mind.MIRROR_NUMBERS, 1))
    clip = clips[6]
    assert (clip.id, clip.mark_time, clip.frames) == ("1st_data/mirror_test/data-1/path-7", 0, 48)
    assert clip.warnings == ("-wl.json: total_time is 47, but there are 48 rows, which count",)
    episode = mind.load(clip)
    assert (len(episode), len(episode.actions), episode.facts["pose_known"]) == (1, 0, False)
    np.testing.assert_array_equal(episode.clip[0], pictures(2, SIZE)[1])
    np.testing.assert_array_equal(mind.mirror_keys(clip), MIRROR_PATHS["wl"])
    actions = mind.mirror_actions(clip)
    assert len(actions) == 48
    assert actions.column("look_left")[:24].all()
    assert actions.column("look_right")[24:].all()
    with pytest.raises(UsageError, match="keys_of"):
        mind.mirror_keys(mind.discover(published, parts=("train",))[0])


def test_images_without_paths_take_the_definition(tmp_path: Path) -> None:
    root = write_published(tmp_path, clips=1, frames=3, perspectives=("1st",))
    for name in MIRROR:
        (root / f"1st_data/test/mirror_test/-{name}.json").unlink()
    clips = mind.discover(root, parts=("mirror_test",))
    assert [clip.path for clip in clips] == list(MIRROR_PATHS)
    assert "their definition" in clips[0].warnings[0]
    np.testing.assert_array_equal(mind.mirror_keys(clips[3]), MIRROR_PATHS["down"])


def test_missing_and_unknown_paths(tmp_path: Path) -> None:
    root = write_published(tmp_path, clips=1, frames=3, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    (folder / "-u.json").rename(folder / "-zig.json")
    (folder / "-d.json").rename(folder / "-aa.json")
    clips = mind.discover(root, parts=("mirror_test",))
    assert [(clip.number, clip.path) for clip in clips[:10]] == list(enumerate(mind.MIRROR_NUMBERS, 1))
    assert [(clip.number, clip.path) for clip in clips[10:]] == [(11, "aa"), (12, "zig")]
    assert {clip.path: clip.fault for clip in clips if clip.fault} == {
        name: f"1st_data/test/mirror_test/-{name}.json is missing; download it again" for name in ("u", "d")
    }
    assert "none of the ten paths: numbered 12" in clips[-1].warnings[0]
    missing = clips[2]
    assert (missing.id, missing.frames) == ("1st_data/mirror_test/data-0/path-3", 0)
    assert mind.fingerprint_of(missing)
    with pytest.raises(DataError, match=r"-u\.json is missing"):
        mind.mirror_keys(missing)


def change(content: dict[str, Any], what: str) -> Any:
    rows = content["data"]
    if what == "list":
        return rows
    if what == "no_rows":
        content["data"] = []
    elif what == "row_twice":
        rows[5]["time"] = 4
    elif what == "row_gone":
        del rows[5]
    elif what == "text_key":
        rows[5]["ws"] = "1"
    elif what == "bool_key":
        rows[5]["ws"] = True
    elif what == "no_key":
        del rows[5]["ud"]
    elif what == "nan_pose":
        rows[5]["actor_pos"]["y"] = float("nan")
    elif what == "far_pose":
        rows[5]["actor_pos"]["y"] = 10**400
    elif what == "flat_pose":
        rows[5]["actor_rpy"] = [0, 0, 0]
    elif what == "half_pose":
        del rows[5]["actor_rpy"]["z"]
    elif what == "no_pose":
        del rows[5]["actor_pos"]
    elif what == "no_poses":
        for row in rows:
            del row["actor_rpy"]
    elif what == "late_mark":
        content["mark_time"] = len(rows)
    elif what == "zero_mark":
        content["mark_time"] = 0
    elif what == "text_mark":
        content["mark_time"] = "ten"
    elif what == "no_mark":
        del content["mark_time"]
    return content


BROKEN = {
    "list": "expected an object",
    "no_rows": "0 rows",
    "row_twice": "time 5 is missing and time 4 is there twice",
    "row_gone": "time 5 is missing",
    "text_key": "row 5: 'ws' is '1'",
    "bool_key": "row 5: 'ws' is True",
    "no_key": "row 5 has no 'ud'",
    "nan_pose": "row 5: 'actor_pos.y' is not finite",
    "far_pose": "row 5: 'actor_pos.y' is 1000",
    "flat_pose": "row 5: 'actor_rpy' is [0, 0, 0]",
    "half_pose": "row 5: 'actor_rpy' has no 'z'",
    "no_pose": "row 5: 'actor_pos' is None",
    "no_poses": "no row has 'actor_rpy'",
    "late_mark": "mark_time 30 is not within its 30 rows",
    "zero_mark": "mark_time 0 is not within its 30 rows",
    "text_mark": "'mark_time' is 'ten'",
    "no_mark": "'mark_time' is missing",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_action_file_is_the_fault_of_its_clip(tmp_path: Path, what: str) -> None:
    root = write_published(tmp_path, frames=FRAMES, size=SIZE, perspectives=("1st",))
    path = root / "1st_data/test/mem_test/data-25/action.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()), what)))
    clips = by_id(root)
    clip = clips.pop("1st_data/mem_test/data-25")
    assert clip.fault is not None
    assert clip.fault.startswith("action.json")
    assert "\n" not in clip.fault
    assert BROKEN[what] in clip.fault
    assert not any(other.fault for other in clips.values())
    with pytest.raises(DataError, match="1st_data/mem_test/data-25"):
        mind.load(clip)


def spoil(folder: Path, what: str) -> None:
    action, video = folder / "action.json", folder / "video.mp4"
    if what == "no_action":
        action.unlink()
    elif what == "no_json":
        action.write_text("{")
    elif what == "deep_json":
        action.write_text("[" * 100_000)
    elif what == "binary":
        action.write_bytes(b"\xff\xfe\x00")
    elif what == "huge":
        with open(action, "wb") as file:
            file.truncate(65 * 2**20)
    elif what == "no_video":
        video.unlink()
    elif what == "no_film":
        video.write_bytes(b"no film")
    elif what == "short":
        with Writer(video, fps=24, kind="viewable") as out:
            out.write(np.stack(pictures(FRAMES - 2, SIZE)))
    elif what == "link":
        action.rename(folder.parents[4] / "away.json")
        os.symlink(folder.parents[4] / "away.json", action)
    elif what == "name":
        folder.rename(folder.with_name("data 25"))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("no_action", "action.json is missing"),
        ("no_json", "action.json: not valid JSON"),
        ("deep_json", "action.json: not valid JSON"),
        ("binary", "action.json: not valid JSON"),
        ("huge", "action.json: 68157440 bytes pass the limit"),
        ("no_video", "video.mp4 is missing"),
        ("no_film", "video.mp4: not a readable video"),
        ("short", "video.mp4 has 28 frames, action.json 30 rows"),
        ("link", "action.json: a link that leads out of"),
        ("name", "rename it"),
    ],
)
def test_broken_files_are_the_fault_of_their_clip(tmp_path: Path, what: str, says: str) -> None:
    root = write_published(tmp_path, frames=FRAMES, size=SIZE, perspectives=("1st",))
    spoil(root / "1st_data/test/mem_test/data-25", what)
    clips = mind.discover(root)
    faulty = [clip for clip in clips if clip.fault]
    assert len(clips) == 26
    assert len(faulty) == 1
    assert faulty[0].fault is not None
    assert says in faulty[0].fault
    assert "\n" not in faulty[0].fault
    assert mind.fingerprint_of(faulty[0])


@pytest.mark.parametrize("frames", [FRAMES - 1, FRAMES + 1])
def test_one_frame_more_or_less_than_rows_is_cut_to_what_both_have(tmp_path: Path, frames: int) -> None:
    write_published_clip(tmp_path / "1st_data/test/mem_test/data-25", "1st", FRAMES, SIZE)
    with Writer(tmp_path / "1st_data/test/mem_test/data-25/video.mp4", fps=24, kind="viewable") as out:
        out.write(np.stack(pictures(frames, SIZE)))
    (clip,) = mind.discover(tmp_path)
    assert clip.fault is None
    assert clip.warnings == (f"video.mp4 has {frames} frames, action.json 30 rows: what both have counts",)
    episode = mind.load(clip)
    assert clip.frames == len(episode) == len(episode.clip) == len(episode.actions) + 1 == min(frames, FRAMES)


def test_frames_that_a_cut_hides_do_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "1st_data/test/mem_test/data-25"
    write_published_clip(folder, "1st", 13, (64, 48))
    cut = Path(__file__).parents[3] / "cases/cut_one_gop.mp4"
    assert header_frames(shutil.copy(cut, folder / "video.mp4")) == 24
    (clip,) = mind.discover(tmp_path)
    assert (clip.fault, clip.warnings, clip.frames) == (None, (), 13)


def test_a_code_that_is_no_key_counts_as_none_and_is_told(tmp_path: Path) -> None:
    write_published_clip(tmp_path / "1st_data/test/mem_test/data-25", "1st", FRAMES, SIZE)
    path = tmp_path / "1st_data/test/mem_test/data-25/action.json"
    content = json.loads(path.read_text())
    content["data"][5]["lr"] = 3
    path.write_text(json.dumps(content))
    (clip,) = mind.discover(tmp_path)
    assert clip.fault is None
    assert clip.warnings == ("action.json: 'lr' is 3 in row 5, which is none of 0, 1, 2: no key (1 such codes)",)
    assert mind.keys_of(clip)[5, 3] == 0


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda folder: (folder / "data-0.png").write_bytes(b"no picture"), "data-0.png: not a PNG picture"),
        (lambda folder: (folder / "-w.json").write_text("[]"), "-w.json: expected an object"),
    ],
)
def test_broken_mirror_files(tmp_path: Path, edit: Callable[[Path], None], says: str) -> None:
    root = write_published(tmp_path, frames=3, perspectives=("1st",))
    edit(root / "1st_data/test/mirror_test")
    clips = mind.discover(root, parts=("mirror_test",))
    faulty = [clip for clip in clips if clip.fault]
    assert len(clips) == 20
    assert len(faulty) in (10, 2)
    assert all(says in str(clip.fault) for clip in faulty)


def test_absent_folders_are_no_error(tmp_path: Path) -> None:
    assert mind.discover(tmp_path) == []
    root = write_published(tmp_path, frames=3, perspectives=("3rd",))
    assert {clip.perspective for clip in mind.discover(root)} == {"3rd"}
    with pytest.raises(DataError, match="no such folder"):
        mind.discover(tmp_path / "nothing")


def test_what_is_absent_is_said(tmp_path: Path) -> None:
    root = write_published(tmp_path, frames=3, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    assert mind.absent(tmp_path, perspectives=("1st",)) == ()
    assert mind.absent(tmp_path) == (f"3rd_data is not in {root}",)
    for image in folder.glob("*.png"):
        image.unlink()
    shutil.rmtree(root / "1st_data/test/mem_test")
    tests: tuple[Part, ...] = ("mirror_test", "mem_test")
    assert mind.absent(root, tests) == (
        f"1st_data/test/mem_test is not in {root}",
        f"1st_data/test/mirror_test in {root} holds no start image",
        f"3rd_data is not in {root}",
    )
    assert mind.absent(root, ("train",), ("1st",)) == ()
    with pytest.raises(UnknownNameError, match="mirror_test"):
        mind.absent(root, ("miror_test",))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no such folder"):
        mind.absent(tmp_path / "nothing")


def test_oddities_that_are_warned_of(tmp_path: Path) -> None:
    root = write_published(tmp_path, clips=1, frames=FRAMES, perspectives=("1st",))
    path = root / "1st_data/train/data-75/action.json"
    content = json.loads(path.read_text())
    content["data"].reverse()
    content |= {"total_time": 99, "caption": "In the file."}
    del content["mark_time"]
    path.write_text(json.dumps(content))
    clip = mind.discover(root, parts=("train",))[0]
    assert clip.fault is None
    assert clip.mark_time == 10
    assert len(clip.warnings) == 2
    assert "order" in clip.warnings[0]
    assert "99" in clip.warnings[1]
    assert mind.load(clip).facts["caption"] == "In the file."
    assert mind.keys_of(clip)[-1].tolist() == [1, 0, 0, 0]


def test_fingerprints_follow_the_content(tmp_path: Path) -> None:
    root = write_published(tmp_path, frames=FRAMES, size=SIZE, perspectives=("1st",))
    before = {id: mind.fingerprint_of(clip) for id, clip in by_id(root).items()}
    assert len(set(before.values())) == len(before)
    folder = root / "1st_data/test"
    (folder / "mem_test/data-25/action.json").write_text((folder / "mem_test/data-26/action.json").read_text() + " ")
    (folder / "mirror_test/data-0.png").write_bytes((folder / "mirror_test/data-1.png").read_bytes())
    with Writer(folder / "mem_test/data-26/video.mp4", fps=24, kind="viewable") as out:
        out.write(np.stack(pictures(FRAMES, SIZE))[::-1].copy())
    after = {id: mind.fingerprint_of(clip) for id, clip in by_id(root).items()}
    changed = {id for id in before if before[id] != after[id]}
    paths = {f"1st_data/mirror_test/data-0/path-{i}" for i in range(1, 11)}
    assert changed == {"1st_data/mem_test/data-25", "1st_data/mem_test/data-26"} | paths
