"""Data in the published layout: what is found, and how each way of being broken is told."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.mind.mind_data import MIRROR, pictures, published_rows, write_published, write_published_clip
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.video import Writer, header_frames
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.mind.actions import MIRROR_PATHS, walk_look
from worldgauge.suites.mind.format import read
from worldgauge.suites.mind.format.files import MIRROR_NUMBERS, parse_action, read_sidecar
from worldgauge.suites.mind.format.read import (
    absent,
    discover,
    find,
    fingerprint_of,
    keys_of,
    load,
    mirror_actions,
    mirror_keys,
)
from worldgauge.suites.mind.format.write import submissions

SIZE = (64, 36)
FRAMES = 30


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return write_published(tmp_path_factory.mktemp("mind"), frames=FRAMES, size=SIZE)


def by_id(root):
    return {clip.id: clip for clip in discover(root)}


def test_all_are_found_in_order(published):
    clips = discover(published)
    assert [clip.id for clip in clips] == [clip.id for clip in discover(published.parent)]
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


def test_one_is_found_by_its_id_without_the_others(published, monkeypatch):
    clips = discover(published)
    opened = []
    read_action = read.files.read_action
    monkeypatch.setattr(read.files, "read_action", lambda path: (opened.append(path), read_action(path))[1])
    # Without its cache, each call reads its files.
    monkeypatch.setattr(read, "_said", read._said.__wrapped__)
    for clip in clips:
        assert find(published.parent, clip.id) == clip
        assert set(opened) <= ({clip.records} if clip.path is None else {one.records for one in clips if one.path})
        opened.clear()
    for gone in ("1st_data/mem_test/data-1", "1st_data/mem_test/..", "1st_data/mem_test", "2nd_data/train/data-75", ""):
        assert find(published, gone) is None


def test_parts_and_perspectives(published):
    clips = discover(published, parts=("mem_test",), perspectives=("3rd",))
    assert [clip.id for clip in clips] == ["3rd_data/mem_test/data-150", "3rd_data/mem_test/data-151"]
    with pytest.raises(UnknownNameError, match="mem_test"):
        discover(published, parts=("mem_tset",))


def test_names_sort_by_their_numbers(tmp_path):
    for number in (10, 9, 100):
        write_published_clip(tmp_path / f"1st_data/train/data-{number}", "1st", 3, SIZE)
    assert [clip.name for clip in discover(tmp_path)] == ["data-9", "data-10", "data-100"]


def test_the_space_of_a_name_is_a_hint(published):
    clips = by_id(published)
    assert clips["1st_data/action_space_test/data-1-0.4x-100"].space == walk_look(1.0, 0.4)
    assert clips["1st_data/mem_test/data-25"].space == walk_look(2.0, 1.0)
    assert clips["1st_data/action_space_test/data-1-0.4x-100"].steps == (0.4, 100.0)


def test_first_person(published):
    episode = load(by_id(published)["1st_data/train/data-75"])
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


def test_a_row_of_the_file_led_to_its_frame(published):
    clip = by_id(published)["1st_data/train/data-75"]
    episode, keys = load(clip), keys_of(clip)
    assert keys.shape == (FRAMES, 4)
    np.testing.assert_array_equal(episode.actions.column("forward"), keys[1:, 0] == 1)
    np.testing.assert_array_equal(episode.actions.column("look_right"), keys[1:, 3] == 2)
    moved = np.linalg.norm(np.diff(episode.poses[:, :3, 3], axis=0), axis=1) > 1e-6
    np.testing.assert_array_equal(moved, episode.actions.column("forward") == 1)


def test_third_person_angles_come_of_the_positions(tmp_path):
    write_published_clip(tmp_path / "3rd_data/train/data-1", "3rd", FRAMES, SIZE, turn_deg=0.4)
    episode = load(discover(tmp_path)[0])
    rows = published_rows("3rd", FRAMES, 0.4, 200)
    fields = np.array([row["camera_rpy"]["z"] for row in rows])
    yaw, pitch = np.degrees(yaw_pitch_from_pose(episode.poses))
    turn = np.clip(np.arange(FRAMES) - FRAMES // 2, 0, 5) * 0.4
    np.testing.assert_allclose(-yaw, 20 + turn, atol=1e-6)
    assert np.abs(fields + yaw).max() > 0.5, "the fields alone would be wrong"
    assert pitch[-1] == pytest.approx(-8.6, abs=1e-6)
    place = rows[-1]["camera_pos"]
    np.testing.assert_allclose(episode.poses[-1, :3, 3], [place["x"] / 100, -place["y"] / 100, place["z"] / 100])


def test_mirror_tasks(published):
    clips = [clip for clip in discover(published, parts=("mirror_test",)) if clip.name == "data-1"]
    assert [(clip.number, clip.path) for clip in clips[:10]] == list(enumerate(MIRROR_NUMBERS, 1))
    clip = clips[6]
    assert (clip.id, clip.mark_time, clip.frames) == ("1st_data/mirror_test/data-1/path-7", 0, 48)
    assert clip.warnings == ("-wl.json: total_time is 47, but there are 48 rows, which count",)
    episode = load(clip)
    assert (len(episode), len(episode.actions), episode.facts["pose_known"]) == (1, 0, False)
    np.testing.assert_array_equal(episode.clip[0], pictures(2, SIZE)[1])
    np.testing.assert_array_equal(mirror_keys(clip), MIRROR_PATHS["wl"])
    actions = mirror_actions(clip)
    assert len(actions) == 48
    assert actions.column("look_left")[:24].all()
    assert actions.column("look_right")[24:].all()
    with pytest.raises(UsageError, match="keys_of"):
        mirror_keys(discover(published, parts=("train",))[0])


def test_images_without_paths_take_the_definition(tmp_path):
    root = write_published(tmp_path, clips=1, frames=3, perspectives=("1st",))
    for name in MIRROR:
        (root / f"1st_data/test/mirror_test/-{name}.json").unlink()
    clips = discover(root, parts=("mirror_test",))
    assert [clip.path for clip in clips] == list(MIRROR_PATHS)
    assert "their definition" in clips[0].warnings[0]
    np.testing.assert_array_equal(mirror_keys(clips[3]), MIRROR_PATHS["down"])


def test_missing_and_unknown_paths(tmp_path):
    root = write_published(tmp_path, clips=1, frames=3, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    (folder / "-u.json").rename(folder / "-zig.json")
    (folder / "-d.json").rename(folder / "-aa.json")
    clips = discover(root, parts=("mirror_test",))
    assert [(clip.number, clip.path) for clip in clips[:10]] == list(enumerate(MIRROR_NUMBERS, 1))
    assert [(clip.number, clip.path) for clip in clips[10:]] == [(11, "aa"), (12, "zig")]
    assert {clip.path: clip.fault for clip in clips if clip.fault} == {
        name: f"1st_data/test/mirror_test/-{name}.json is missing; download it again" for name in ("u", "d")
    }
    assert "none of the ten paths: numbered 12" in clips[-1].warnings[0]
    missing = clips[2]
    assert (missing.id, missing.frames) == ("1st_data/mirror_test/data-0/path-3", 0)
    assert fingerprint_of(missing)
    with pytest.raises(DataError, match=r"-u\.json is missing"):
        mirror_keys(missing)


def edited(edit):
    """A change of what the action file of a clip's folder holds."""

    def spoil(folder):
        content = json.loads((folder / "action.json").read_text())
        edit(content)
        (folder / "action.json").write_text(json.dumps(content))

    return spoil


def row_5(**changes):
    return edited(lambda content: content["data"][5].update(changes))


def without(name):
    return edited(lambda content: content["data"][5].pop(name))


def position(y):
    return edited(lambda content: content["data"][5]["actor_pos"].update(y=y))


def short(folder):
    with Writer(folder / "video.mp4", fps=24, kind="viewable") as out:
        out.write(np.stack(pictures(FRAMES - 2, SIZE)))


def linked(folder):
    away = folder.parents[4] / "away.json"
    (folder / "action.json").rename(away)
    (folder / "action.json").symlink_to(away)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "action.json").write_text("[]"), "action.json: expected an object"),
        (edited(lambda content: content["data"].clear()), "0 rows"),
        (row_5(time=4), "time 5 is missing and time 4 is there twice"),
        (edited(lambda content: content["data"].pop(5)), "time 5 is missing"),
        (row_5(ws="1"), "row 5: 'ws' is '1'"),
        (row_5(ws=True), "row 5: 'ws' is True"),
        (without("ud"), "row 5 has no 'ud'"),
        (position(float("nan")), "row 5: 'actor_pos.y' is not finite"),
        (position(10**400), "row 5: 'actor_pos.y' is 1000"),
        (row_5(actor_rpy=[0, 0, 0]), "row 5: 'actor_rpy' is [0, 0, 0]"),
        (edited(lambda content: content["data"][5]["actor_rpy"].pop("z")), "row 5: 'actor_rpy' has no 'z'"),
        (without("actor_pos"), "row 5: 'actor_pos' is None"),
        (edited(lambda content: [row.pop("actor_rpy") for row in content["data"]]), "no row has 'actor_rpy'"),
        (edited(lambda content: content.update(mark_time=FRAMES)), "mark_time 30 is not within its 30 rows"),
        (edited(lambda content: content.update(mark_time=0)), "mark_time 0 is not within its 30 rows"),
        (edited(lambda content: content.update(mark_time="ten")), "'mark_time' is 'ten'"),
        (edited(lambda content: content.pop("mark_time")), "'mark_time' is missing"),
        (lambda folder: (folder / "action.json").unlink(), "action.json is missing"),
        (lambda folder: (folder / "action.json").write_text("{"), "action.json: not valid JSON"),
        (lambda folder: (folder / "action.json").write_text("[" * 100_000), "action.json: not valid JSON"),
        (lambda folder: (folder / "action.json").write_bytes(b"\xff\xfe\x00"), "action.json: not valid JSON"),
        (lambda folder: os.truncate(folder / "action.json", 65 * 2**20), "action.json: 68157440 bytes pass the limit"),
        (lambda folder: (folder / "video.mp4").unlink(), "video.mp4 is missing"),
        (lambda folder: (folder / "video.mp4").write_bytes(b"no film"), "video.mp4: not a readable video"),
        (short, "video.mp4 has 28 frames, action.json 30 rows"),
        (linked, "action.json: a link that leads out of"),
        (lambda folder: folder.rename(folder.with_name("data 25")), "rename it"),
    ],
)
def test_broken_files_are_the_fault_of_their_clip(tmp_path, spoil, says):
    root = write_published(tmp_path, frames=FRAMES, size=SIZE, perspectives=("1st",))
    spoil(root / "1st_data/test/mem_test/data-25")
    clips = discover(root)
    (faulty,) = (clip for clip in clips if clip.fault)
    assert len(clips) == 26
    assert says in faulty.fault
    assert "\n" not in faulty.fault
    assert says == "rename it" or faulty.fault.startswith(("action.json", "video.mp4"))
    assert fingerprint_of(faulty)
    with pytest.raises(DataError, match="1st_data/mem_test/data"):
        load(faulty)


@pytest.mark.parametrize("frames", [FRAMES - 1, FRAMES + 1])
def test_one_frame_more_or_less_than_rows_is_cut_to_what_both_have(tmp_path, frames):
    write_published_clip(tmp_path / "1st_data/test/mem_test/data-25", "1st", FRAMES, SIZE)
    with Writer(tmp_path / "1st_data/test/mem_test/data-25/video.mp4", fps=24, kind="viewable") as out:
        out.write(np.stack(pictures(frames, SIZE)))
    (clip,) = discover(tmp_path)
    assert clip.fault is None
    assert clip.warnings == (f"video.mp4 has {frames} frames, action.json 30 rows: what both have counts",)
    episode = load(clip)
    assert clip.frames == len(episode) == len(episode.clip) == len(episode.actions) + 1 == min(frames, FRAMES)


def test_frames_that_a_cut_hides_do_not_count(tmp_path):
    folder = tmp_path / "1st_data/test/mem_test/data-25"
    write_published_clip(folder, "1st", 13, (64, 48))
    cut = Path(__file__).parents[3] / "cases/cut_one_gop.mp4"
    assert header_frames(shutil.copy(cut, folder / "video.mp4")) == 24
    (clip,) = discover(tmp_path)
    assert (clip.fault, clip.warnings, clip.frames) == (None, (), 13)


def test_a_code_that_is_no_key_counts_as_none_and_is_told(tmp_path):
    write_published_clip(tmp_path / "1st_data/test/mem_test/data-25", "1st", FRAMES, SIZE)
    path = tmp_path / "1st_data/test/mem_test/data-25/action.json"
    content = json.loads(path.read_text())
    content["data"][5]["lr"] = 3
    path.write_text(json.dumps(content))
    (clip,) = discover(tmp_path)
    assert clip.fault is None
    assert clip.warnings == ("action.json: 'lr' is 3 in row 5, which is none of 0, 1, 2: no key (1 such codes)",)
    assert keys_of(clip)[5, 3] == 0


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda folder: (folder / "data-0.png").write_bytes(b"no picture"), "data-0.png: not a PNG picture"),
        (lambda folder: (folder / "-w.json").write_text("[]"), "-w.json: expected an object"),
    ],
)
def test_broken_mirror_files(tmp_path, edit, says):
    root = write_published(tmp_path, frames=3, perspectives=("1st",))
    edit(root / "1st_data/test/mirror_test")
    clips = discover(root, parts=("mirror_test",))
    faulty = [clip for clip in clips if clip.fault]
    assert len(clips) == 20
    assert len(faulty) in (10, 2)
    assert all(says in str(clip.fault) for clip in faulty)


def test_absent_folders_are_no_error(tmp_path):
    assert discover(tmp_path) == []
    root = write_published(tmp_path, frames=3, perspectives=("3rd",))
    assert {clip.perspective for clip in discover(root)} == {"3rd"}
    with pytest.raises(DataError, match="no such folder"):
        discover(tmp_path / "nothing")


def test_what_is_absent_is_said(tmp_path):
    root = write_published(tmp_path, frames=3, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    assert (absent(tmp_path, perspectives=("1st",)), absent(tmp_path)) == ((), (f"3rd_data is not in {root}",))
    for image in folder.glob("*.png"):
        image.unlink()
    shutil.rmtree(root / "1st_data/test/mem_test")
    tests = ("mirror_test", "mem_test")
    assert absent(root, tests) == (
        f"1st_data/test/mem_test is not in {root}",
        f"1st_data/test/mirror_test in {root} holds no start image",
        f"3rd_data is not in {root}",
    )
    assert absent(root, ("train",), ("1st",)) == ()
    with pytest.raises(UnknownNameError, match="mirror_test"):
        absent(root, ("miror_test",))
    with pytest.raises(DataError, match="no such folder"):
        absent(tmp_path / "nothing")


def test_oddities_that_are_warned_of(tmp_path):
    root = write_published(tmp_path, clips=1, frames=FRAMES, perspectives=("1st",))
    path = root / "1st_data/train/data-75/action.json"
    content = json.loads(path.read_text())
    content["data"].reverse()
    content |= {"total_time": 99, "caption": "In the file."}
    del content["mark_time"]
    path.write_text(json.dumps(content))
    clip = discover(root, parts=("train",))[0]
    assert (clip.fault, clip.mark_time, len(clip.warnings)) == (None, 10, 2)
    assert "order" in clip.warnings[0]
    assert "99" in clip.warnings[1]
    assert (load(clip).facts["caption"], keys_of(clip)[-1].tolist()) == ("In the file.", [1, 0, 0, 0])


def test_fingerprints_follow_the_content(tmp_path):
    root = write_published(tmp_path, frames=FRAMES, size=SIZE, perspectives=("1st",))
    before = {id: fingerprint_of(clip) for id, clip in by_id(root).items()}
    assert len(set(before.values())) == len(before)
    folder = root / "1st_data/test"
    (folder / "mem_test/data-25/action.json").write_text((folder / "mem_test/data-26/action.json").read_text() + " ")
    (folder / "mirror_test/data-0.png").write_bytes((folder / "mirror_test/data-1.png").read_bytes())
    with Writer(folder / "mem_test/data-26/video.mp4", fps=24, kind="viewable") as out:
        out.write(np.stack(pictures(FRAMES, SIZE))[::-1].copy())
    after = {id: fingerprint_of(clip) for id, clip in by_id(root).items()}
    changed = {id for id in before if before[id] != after[id]}
    paths = {f"1st_data/mirror_test/data-0/path-{i}" for i in range(1, 11)}
    assert changed == {"1st_data/mem_test/data-25", "1st_data/mem_test/data-26"} | paths


ODD = st.sampled_from(
    [None, True, "", "7", [], {}, [1], {"x": 1}, -1, 2, 3.5, 1e300, 10**400, float("nan"), float("inf"), "\ud800"]
)
ACTION = {"mark_time": 2, "total_time": 6, "data": published_rows("3rd", 6, 1.0, 200.0)}
SIDECAR = {
    "format": "worldgauge-mind",
    "version": 1,
    "world": {"name": "voxel", "params": {"seed": 1}, "digest": None},
    "camera": {"width": 64, "height": 36, "fx": 40.0, "fy": 40.0, "cx": 32.0, "cy": 18.0},
    "family": "urban",
    "space": {"delta_r_deg": 1.0, "delta_p_cm_s": 200.0},
    "perspective": "1st",
    "facts": {"seed": 1},
    "pose": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
}


def places(value, at=()):
    """Every place of a JSON value, as keys and indices."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


def changed(content, place, value):
    """A copy of `content` with another value at `place`."""
    if not place:
        return value
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


def attempt(read, *given):
    """What `read` returns, or how it refuses: in one short line."""
    try:
        return read(*given), None
    except DataError as error:
        return None, str(error)


def is_line(refusal):
    return "\n" not in refusal and len(refusal) < 400


@settings(deadline=None)
@given(st.sampled_from(places(ACTION)), ODD)
def test_action_files(place, value):
    file, refusal = attempt(parse_action, json.dumps(changed(ACTION, place, value)).encode(), "action.json")
    if refusal is not None:
        assert is_line(refusal)
        assert refusal.startswith("action.json: ")
    else:
        assert file.keys.shape == (6, 4)
        assert file.keys.max() <= 2


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data):
    with pytest.raises(DataError):
        parse_action(data, "action.json")


@settings(deadline=None)
@given(place=st.sampled_from(places(SIDECAR)), value=ODD)
def test_side_cars(tmp_path_factory, place, value):
    path = tmp_path_factory.getbasetemp() / "world.json"
    path.write_text(json.dumps(changed(SIDECAR, place, value)))
    car, refusal = attempt(read_sidecar, path)
    if refusal is not None:
        assert is_line(refusal)
    else:
        assert json.dumps([dict(car.facts), dict(car.world.params), car.family], allow_nan=False)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.-+e #\nnaif jpg\t\x00", max_size=200))
def test_image_lists(text):
    found, refusal = attempt(read_images_txt, text + "\n")
    assert is_line(refusal) if refusal is not None else len(found.names) == len(found.poses) > 0


def touch(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def test_one_model_and_a_folder_of_models(tmp_path):
    touch(tmp_path / "wm", "1st_data/mem_test/data-9/video.mp4", "3rd_data/test/mem_test/data-150/video.mp4")
    touch(tmp_path / "other", "3rd_data/mem_test/data-150/video.mp4")
    touch(tmp_path, "notes.txt", "empty/readme.txt", ".hidden/1st_data/mem_test/data-9/video.mp4")
    assert submissions(tmp_path / "wm") == {"wm": tmp_path / "wm"}
    assert submissions(tmp_path) == {"other": tmp_path / "other", "wm": tmp_path / "wm"}


def test_folders_without_models(tmp_path):
    with pytest.raises(DataError, match="no model in it"):
        submissions(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        submissions(tmp_path / "nothing")


def test_links_to_models_that_lead_out_are_refused(tmp_path):
    touch(tmp_path / "models/wm", "1st_data/mem_test/data-1/video.mp4")
    touch(tmp_path / "away", "1st_data/mem_test/data-1/video.mp4")
    (tmp_path / "models/linked").symlink_to(tmp_path / "away")
    with pytest.raises(DataError, match="leads out"):
        submissions(tmp_path / "models")
