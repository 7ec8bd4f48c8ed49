"""Finding and loading scenarios: tolerant of what is missing, exact in what it says about it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suites.targetbench.target_data import BAD, make_bad_inputs, make_target_data, make_wm_videos
from worldgauge.core.errors import DataError, ModelError, UsageError, WorldError
from worldgauge.models.videos import Videos
from worldgauge.suites.targetbench.format.read import discover, labels_file, load_labels
from worldgauge.suites.targetbench.format.scenario import (
    fingerprint_of,
    match,
    model_videos,
    truth_clip,
    video_frames_of,
    videos_folder,
)
from worldgauge.worlds import open_world


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return make_target_data(tmp_path_factory.mktemp("target"), rate_hz=2.0, size=(80, 46))


@pytest.fixture
def data(original, tmp_path):
    """A copy that may be spoilt."""
    return Path(shutil.copytree(original, tmp_path / "data"))


def first(root, horizon_s=8.0):
    return discover(root, horizon_s)[0]


def edit(scenario, end, **changes):
    path = scenario.folder / f"{scenario.id}_{end}"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_folder_may_be_given_at_any_level(original):
    names = [scenario.id for scenario in discover(original)]
    assert len(names) == 3
    for root in (original / "dataset", original / "dataset" / "Benchmark"):
        found = discover(root)
        assert [scenario.id for scenario in found] == names
        assert {scenario.label for scenario in found} == {"explicit", "implicit"}
        assert {scenario.split for scenario in found} == {"benchmark"}
    with pytest.raises(DataError, match="no such folder"):
        discover(original / "nowhere")
    with pytest.raises(UsageError, match="8, 6, 4"):
        discover(original, 2.0)


def test_nothing_is_decoded(original, monkeypatch):
    monkeypatch.setattr("worldgauge.core.video.Clip.open", lambda path: pytest.fail("opened a video"))
    for name in ("cv2.imread", "cv2.imdecode"):
        monkeypatch.setattr(name, lambda *a, **k: pytest.fail("opened a picture"))
    assert all(scenario.fault is None for scenario in discover(original))


WORDS = {
    "no_columns": "needs the columns x and y, has east, north",
    "one_row": "1 rows are no path",
    "no_anchor": "'distance_first_to_current.distance_meters' is no finite distance",
    "bad_json": "'distance_first_to_current.distance_meters' is no finite distance",
    "no_csv": "trajectory.csv is missing",
}


def test_bad_inputs_are_listed_with_words(tmp_path):
    root, videos = make_bad_inputs(tmp_path)
    found = {scenario.scene: scenario for scenario in discover(root)}
    assert set(found) == {"good", *BAD}, "none is left out"
    for scene, words in WORDS.items():
        assert words in str(found[scene].fault)
        assert str(tmp_path) not in str(found[scene].fault)
    assert found["good"].fault is found["cut_video"].fault is found["nan_rows"].fault is None
    assert "1 of 19 rows" not in found["nan_rows"].warnings[0]
    assert found["nan_rows"].warnings[0] == "2 of 20 rows of the path are gaps, left out"
    assert len(found["nan_rows"].path_xy) == 18
    poses = found["nan_rows"].poses
    assert poses is not None
    assert len(poses) == 18, "poses of the rows that are left"
    assert len({fingerprint_of(scenario) for scenario in found.values()}) == len(found)

    models = model_videos(videos)
    assert len(models["one_frame"]) == len(found)
    matched = match(models["misnamed"], found.values())
    assert (matched.without_scenario, len(matched.without_video)) == (("good_segment",), len(found))


def test_values_that_nobody_reads_may_be_nan(data):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_metadata.json"
    content = json.loads(path.read_text())
    content["distance_current_to_end"]["time_duration_seconds"] = float("nan")
    content["distance_first_to_current"]["first_frame"]["position_z"] = float("inf")
    path.write_text(json.dumps(content))
    assert "NaN" in path.read_text(), "as the annotation tool writes a stamp that is missing"
    found = first(data)
    assert (found.fault, found.anchor_distance_m) == (None, scenario.anchor_distance_m)
    np.testing.assert_array_equal(found.path_xy, scenario.path_xy)


@pytest.mark.parametrize("caption", [None, b"", "Geh zur T\u00fcr.".encode("latin-1")])
def test_without_a_caption_a_scenario_cannot_be_asked_but_is_no_fault(data, caption):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_caption.txt"
    path.unlink() if caption is None else path.write_bytes(caption)
    assert first(data).target_text == "Go to the box.", "the copy in the metadata"
    assert first(data).unasked is None
    metadata = scenario.folder / f"{scenario.id}_metadata.json"
    metadata.write_text(metadata.read_text().replace('"user_caption"', '"caption_of_nobody"'))
    found = first(data)
    assert (found.fault, found.target_text) == (None, "")
    assert "caption.txt" in str(found.unasked)
    assert str(found.unasked).endswith("nothing to ask the model for")
    assert found.warnings[-1].endswith("only finished videos can be scored")


def test_older_folders_lack_files(data):
    scenario = first(data)
    for end in ("video.mp4", "trajectory_plot.png", "trajectory.json", "world.json", "first_frame.png", "caption.txt"):
        (scenario.folder / f"{scenario.id}_{end}").unlink()
    (data / "dataset" / "im_ex_test_only.csv").unlink()
    bare = first(data)
    assert bare.fault is None
    assert bare.warnings == (
        "no video of the real walk",
        f"{scenario.id}_caption.txt is missing or empty: the caption in the metadata is used",
        "no picture of the first frame: decoders that need a scale fail",
    )
    assert (bare.target_text, bare.label, bare.video, bare.world) == ("Go to the box.", "unknown", None, None)
    np.testing.assert_array_equal(bare.path_xy, scenario.path_xy)
    with pytest.raises(DataError, match="no video"):
        truth_clip(bare)


def test_a_missing_current_frame_is_a_fault(data):
    scenario = first(data)
    (scenario.folder / f"{scenario.id}_current_frame.png").unlink()
    assert "nothing to show the model" in str(first(data).fault)
    assert first(data, 6.0).fault is None


def test_durations_may_be_null_or_of_another_unit(data):
    scenario = first(data)
    (scenario.folder / f"{scenario.id}_world.json").unlink()
    end = dict(scenario.metadata["distance_current_to_end"])
    for told, dt in ((None, 0.04), (end["time_duration_seconds"] / 1000, 0.5), (1e9, 0.04), ("8", 0.04)):
        edit(scenario, "metadata.json", distance_current_to_end={**end, "time_duration_seconds": told})
        assert first(data).dt == pytest.approx(0.04 if dt == 0.5 else dt), "half a second a row is no camera"
    edit(scenario, "metadata.json", distance_current_to_end={**end, "time_duration_seconds": 15 * 0.05 / 1000})
    assert first(data).dt == pytest.approx(0.05)


def test_history_without_indices_ends_at_the_origin(data):
    scenario = first(data)
    edit(scenario, "metadata.json", distance_first_to_current={"distance_meters": 1.08})
    found = first(data)
    assert found.fault is None
    assert found.history_rows == scenario.history_rows == 4
    assert "row 4 is nearest to the origin" in found.warnings[0]


def test_a_current_row_far_from_the_origin_is_told(data):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_trajectory.csv"
    path.write_text("x,y\n" + "\n".join(f"{x + 1},{y}" for x, y in scenario.path_xy))
    assert first(data).warnings == ("row 4 should be the current frame, but lies 1.00 m from the origin",)


def test_csv_of_other_habits(data):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_trajectory.csv"
    rows = "\r\n".join(f"{n},{y:.6f},{x:.6f}" for n, (x, y) in enumerate(scenario.path_xy))
    path.write_bytes(b"\xef\xbb\xbf" + f"frame, Y , X \r\n{rows}\r\n\r\n".encode())
    np.testing.assert_allclose(first(data).path_xy, scenario.path_xy)
    for wrong in ("x,y\n1,two\n0,0\n", "x,y\n1,inf\n0,0\n", "x,y\n1,2e9\n0,0\n", "", "x,y\n", "\xff"):
        path.write_text(wrong, encoding="latin-1")
        assert first(data).fault


HUGE = "1" * 131_073


def test_fields_beyond_the_limit_of_csv_are_told(data, tmp_path):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_trajectory.csv"
    for text in (f"x,y\n0,{HUGE}\n", f"x,{HUGE}\n0,1\n"):
        path.write_text(text)
        assert "trajectory.csv: not a readable csv (field larger" in str(first(data).fault)
    labels = tmp_path / "labels.csv"
    for text in (f"name,is_explicit\n{HUGE},1\n", f"name,{HUGE}\n"):
        labels.write_text(text)
        with pytest.raises(DataError, match=r"labels\.csv: not a readable csv"):
            discover(data, labels=labels)


def test_broken_labels_beside_the_data_label_none(data):
    labels = labels_file(data)
    for text, reason in (("name\nx\n", "needs the columns"), (f"name,is_explicit\n{HUGE},1\n", "field larger")):
        labels.write_text(text)
        found = discover(data)
        assert [scenario.fault for scenario in found] == [None] * 3
        assert {scenario.label for scenario in found} == {"unknown"}
        for scenario in found:
            (warning,) = scenario.warnings
            assert str(labels) in warning
            assert reason in warning
        with pytest.raises(DataError, match=r"im_ex_test_only\.csv"):
            discover(data, labels=labels)


NO_ROTATION = [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1.01, 0]
MIRROR = [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0]
FAR = [1.0, 0, 0, 2e6, 0, 1, 0, 0, 0, 0, 1, 0]
INF = float("inf")
CAR = [
    *((("dt",), value, "'dt'") for value in (0, -0.04, 0.004, 1.1, 1e9, "0.04", True, None, [0.04])),
    *((("camera", "width"), value, "'width'") for value in (0, 1, -80, 80.5, "80", 2**40)),
    (("camera", "height"), 2**20, "1048576 pixels pass the limit"),
    *((("camera", key), value, f"'{key}'") for key in ("fx", "fy") for value in (0, -1.0, 1e-300, "1", 10**400)),
    *((("camera", key), value, f"'{key}'") for key in ("cx", "cy") for value in (None, -1e300, False)),
    (("camera", "cx"), INF, "not JSON compliant"),
    (("poses",), [], "no list of poses"),
    (("poses",), 7, "no list of poses"),
    (("poses", 3), [0.0] * 11, "row 3 has not twelve numbers"),
    (("poses", 3), ["1"] * 12, "row 3 has not twelve numbers"),
    (("poses", 3), [10**400] * 12, "too large"),
    (("poses", 3), [1e200] * 12, "row 3 is beyond"),
    (("poses", 3), [1e200, *MIRROR[1:]], "row 3 has no rotation"),
    (("poses", 3), NO_ROTATION, "row 3 has no rotation"),
    (("poses", 3), MIRROR, "row 3 has no rotation"),
    (("poses", 3), FAR, "row 3 is beyond"),
    (("history_rows",), 1.5, "'history_rows'"),
    (("world",), {"name": ["room"], "params": {}}, "'world'"),
    (("world",), {"name": "room", "params": []}, "'world'"),
    (("world", "params", "contrast"), INF, "not JSON compliant"),
    (("world", "other"), 1, "other"),
    (("target", "low"), [0, 0], "collect the data again"),
    (("target", "low", 0), 1e300, "'x'"),
    (("target", "instance"), -1, "'instance'"),
    (("category",), "\ud800", "surrogates"),
    (("wordings",), [], "collect the data again"),
]


@pytest.mark.parametrize(("at", "value", "words"), CAR)
def test_a_side_car_that_cannot_be_is_a_fault(data, at, value, words):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_world.json"
    content = part = json.loads(path.read_text())
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    path.write_text(json.dumps(content).replace("Infinity", "1e999"))
    for horizon_s in (8.0, 6.0):
        found = first(data, horizon_s)
        assert words in str(found.fault)
        assert "world.json" in str(found.fault)
        assert "\n" not in str(found.fault)
        fingerprint_of(found)
    assert [one.fault for one in discover(data)[1:]] == [None, None]


def test_a_side_car_without_a_field_is_a_fault(data):
    scenario = first(data)
    path = scenario.folder / f"{scenario.id}_world.json"
    content = json.loads(path.read_text())
    for key in content.keys() - {"camera_height_m", "captions", "format", "version"}:
        path.write_text(json.dumps({name: value for name, value in content.items() if name != key}))
        assert f"field '{key}' is missing" in str(first(data).fault)


def test_a_world_that_does_not_take_its_arguments_is_one_line(data):
    facts = first(data).world
    assert facts is not None
    wrong = ({"kind": "plains"}, {"seed": "one"}, {"seed": {"a": 1}}, {"box_offset": [[1, 2], 3]})
    for params in wrong:
        with pytest.raises(WorldError, match="world 'room' cannot be built with") as caught:
            open_world(replace(facts, params=params))
        assert "\n" not in str(caught.value)


def test_labels_are_found_given_or_refused(data, tmp_path):
    labels = tmp_path / "labels.csv"
    name = first(data).id
    labels.write_text(f"is_explicit,name\n0,{name}\n1.0,other\n")
    assert load_labels(labels) == {name: "implicit", "other": "explicit"}
    assert discover(data, labels=labels)[0].label == "implicit"
    assert labels_file(data) == data / "dataset" / "im_ex_test_only.csv"
    for wrong in ("name\nx\n", "name,is_explicit\nx,maybe\n", "name,is_explicit\nx,1\nx,0\n"):
        labels.write_text(wrong)
        with pytest.raises(DataError, match=r"labels\.csv"):
            discover(data, labels=labels)


def test_other_folders_are_no_scenarios_but_broken_ones_are(data):
    root = data / "dataset" / "Benchmark"
    for name in ("notes", ".git", "empty_custom_segment_000_009"):
        (root / name).mkdir()
    strange = root / "späti #1"
    strange.mkdir()
    (strange / "späti #1_trajectory.csv").write_text("x,y\n0,0\n0,1\n")
    found = discover(data)
    assert len(found) == 5
    by_folder = {scenario.folder.name: scenario for scenario in found}
    assert "trajectory.csv is missing" in str(by_folder["empty_custom_segment_000_009"].fault)
    assert "rename the folder" in str(by_folder["späti #1"].fault)
    assert by_folder["späti #1"].id.isascii()


def test_links_that_lead_out_are_faults(data, tmp_path):
    scenario = first(data)
    secret = tmp_path / "secret.txt"
    secret.write_text("a key")
    caption = scenario.folder / f"{scenario.id}_caption.txt"
    caption.unlink()
    caption.symlink_to(secret)
    found = first(data)
    assert "leads out" in str(found.fault)
    assert found.target_text == ""


def test_category_of_the_metadata(data):
    scenario = first(data)
    (scenario.folder / f"{scenario.id}_world.json").unlink()
    edit(scenario, "metadata.json", category="bench")
    assert first(data).category == "bench"
    edit(scenario, "metadata.json", category=None)
    assert first(data).category == "unknown"


@pytest.mark.parametrize("at", [None, -1, 1.5, 19, 400, "4"])
def test_horizons_that_point_nowhere_are_faults(data, at):
    scenario = first(data)
    edit(scenario, "metadata_2s.json", horizon_2s_frame_index_relative=at)
    assert "horizon_2s_frame_index_relative" in str(first(data, 6.0).fault)
    assert first(data, 4.0).fault is None


def test_a_truth_video_of_another_length_is_found_in_proportion(data):
    from suites.targetbench.target_data import write_video
    from worldgauge.core.video import Clip

    scenario = first(data)
    frames = [frame for frame in Clip.open(scenario.video) for _ in range(2)]
    write_video(scenario.video, frames, 4.0)
    truth = truth_clip(first(data))
    # Row 4 of 0..19 is frame 8.2 of 0..39, and every row has its frame, up to the last.
    wanted = [round(row * 39 / 19) for row in range(4, 20)]
    assert (len(truth), truth.fps, wanted[0], wanted[-1]) == (16, 2.0, 8, 39)
    video = Clip.open(scenario.video)
    np.testing.assert_array_equal(truth[5], video[wanted[5]])
    np.testing.assert_array_equal(truth[3:].to_array(), np.stack(list(video.take(wanted[3:]))))
    write_video(scenario.video, frames[:1], 4.0)
    assert len(truth_clip(first(data))) == 16, "the only frame is held"


def test_frames_of_rows(data):
    whole, later = first(data), first(data, 6.0)
    rows = np.arange(20)
    assert video_frames_of(whole, rows, 20).tolist() == rows.tolist()
    assert video_frames_of(whole, rows, 10).tolist() == [round(row * 9 / 19) for row in rows]
    assert video_frames_of(whole, [-3, 2.6, 25], 20).tolist() == [0, 3, 19]
    assert (video_frames_of(whole, rows, 1).tolist(), later.first_video_frame) == ([0] * 20, 8)
    assert video_frames_of(later, [-8, 0, 11], 20).tolist() == [0, 8, 19], "the video is of the whole walk"
    assert video_frames_of(later, [-8, 0, 11], 39).tolist() == [0, 16, 38]


class TestModelVideos:
    def test_every_folder_is_a_model(self, original, tmp_path):
        root = make_wm_videos(tmp_path / "dataset" / "wm_videos", original)
        (root / "empty").mkdir()
        (root / "README.md").write_text("x")
        (root / "still" / "notes.txt").write_text("x")
        for place in (root, tmp_path, tmp_path / "dataset"):
            found = model_videos(place)
            assert (sorted(found), found["empty"]) == (["empty", "gt_video", "short", "still"], {})
            assert set(found["still"]) == {scenario.id for scenario in discover(original)}
        assert match(found["short"], discover(original)).without_video == ()

    def test_horizons_have_their_own_folder(self, original, tmp_path):
        make_wm_videos(tmp_path / "wm_videos_horizon_at_2s", original, models=("gt_video",), horizon_s=6.0)
        assert (list(model_videos(tmp_path, 6.0)), videos_folder(tmp_path, 4.0)) == (["gt_video"], tmp_path)
        with pytest.raises(UsageError):
            videos_folder(tmp_path, 3.0)

    def test_two_videos_of_one_scenario_are_one_in_the_list(self, original, tmp_path):
        root = make_wm_videos(tmp_path / "wm_videos", original, models=("still",))
        video = next(iter((root / "still").iterdir()))
        video.with_suffix(".avi").write_bytes(b"x")
        found = model_videos(root)["still"]
        assert len(found) == 3
        assert found[video.stem] == video.with_suffix(".avi"), "the first by name"

    def test_two_videos_of_one_scenario_fail_it_alone(self, original, tmp_path):
        root = make_wm_videos(tmp_path / "wm_videos", original, models=("gt_video",))
        first_video, *others = sorted((root / "gt_video").iterdir())
        shutil.copy(first_video, first_video.with_suffix(".avi"))
        model = Videos(str(root / "gt_video"), control="text")
        with pytest.raises(ModelError, match="two videos of one task"):
            model.video_of(first_video.stem)
        assert [model.video_of(video.stem) for video in others] == others

    def test_links_are_refused(self, original, tmp_path):
        root = make_wm_videos(tmp_path / "wm_videos", original, models=("still",))
        (root / "linked").symlink_to(original)
        with pytest.raises(DataError, match="leads out"):
            model_videos(root)
        with pytest.raises(DataError, match="no such folder"):
            model_videos(tmp_path / "nowhere")
