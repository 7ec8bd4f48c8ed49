"""The suite end to end on real walks: what is asked, what is scored, and in which order baselines must stand."""

import dataclasses
import json
import shutil
import threading
import time

import numpy as np
import pytest
from benchmarks._harmless import Changed

from support.decodes import count_decodes
from support.task_context import QuietContext
from worldgauge.core.actions import describe
from worldgauge.core.errors import DataError, ModelError, UnknownNameError, UsageError
from worldgauge.core.model import ModelSpec
from worldgauge.models import models
from worldgauge.models.baselines.truth import TruthModel
from worldgauge.perception.score_device import Means
from worldgauge.perception.segment import Colour
from worldgauge.suites.loopnav import scenes as segmentation
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import caption_at


def run(name, task, folder, suite=None, **options):
    """Perform and score one task with model `name`."""
    suite = suite or LoopNav()
    folder.mkdir(parents=True, exist_ok=True)
    task_context = QuietContext(folder)
    record = suite.perform(task, models.get(name)(**options), task_context)
    return {score.metric: score for score in suite.score(record, task_context)}


@pytest.fixture(scope="module")
def scores(tasks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    return {name: run(name, tasks[0], folder / name) for name in LoopNav.baselines}


def value(scores, model, metric):
    found = scores[model][metric].value
    assert found is not None
    return found


def test_scoring_decodes_each_frame_once(tasks, tmp_path, monkeypatch):
    suite, context = LoopNav(), QuietContext(tmp_path)
    record = suite.perform(tasks[0], models.get("freeze")(), context)
    decodes = count_decodes(monkeypatch)
    suite.score(record, context)
    asked = record.facts["frames_generated"]
    assert sum("rollout" in path for path, _ in decodes) == asked
    assert len(decodes) >= 2 * asked
    assert set(decodes.values()) == {1}


def test_tasks_are_stable_and_cheap_to_list(walks, tasks):
    again = list(LoopNav().tasks(walks))
    assert again == tasks
    assert [task.group["type"] for task in tasks] == ["ABA", "ABCA"]
    assert all(task.skip is None for task in tasks)
    json.dumps([dict(task.sample) for task in tasks], allow_nan=False)


def test_an_empty_folder_is_one_clear_error(tmp_path):
    with pytest.raises(DataError, match="try --data worldgauge-small"):
        list(LoopNav().tasks(tmp_path))


def test_the_question_is_aligned(walk):
    """Row 0 of the future actions leads from the last context frame to the first frame asked for."""
    episode, start = walk
    request = make_request(episode, start, ModelSpec("m"), LoopNavSettings(), seed=1)
    assert len(request.context) == start
    assert request.horizon == len(episode) - start == len(request.actions)
    assert np.array_equal(request.actions.values[0], episode.actions.values[start - 1])
    assert np.array_equal(request.poses, episode.poses[start:])
    assert (request.truth, request.world, request.context.depth) == (None, None, None)


@pytest.mark.parametrize("control", ["actions", "camera", "text"])
def test_every_form_of_the_future_is_told_whatever_binds(control, walk):
    episode, start = walk
    request = make_request(episode, start, ModelSpec("m", control=control), LoopNavSettings(), seed=1)
    assert np.array_equal(request.actions.values, episode.actions.values[start - 1 :])
    assert np.array_equal(request.poses, episode.poses[start:])
    assert request.text == describe(episode.actions[start - 1 :])


def test_the_caption_is_that_of_the_first_frame_that_is_shown(walk):
    episode, start = walk
    world = open_world(episode.world)
    for shown in (None, 1, 9):
        request = make_request(episode, start, ModelSpec("m", max_context=shown), LoopNavSettings(), seed=1)
        first = start - len(request.context)
        assert request.caption == caption_at(world, episode.poses[first], episode.camera)


def test_without_captions_the_place_is_described(walk):
    episode, start = walk
    facts = {**episode.facts, "captions": []}
    for world, location, words in (
        (episode.world, "plains_village_1", "A blocky village on a grassy plain, seen at eye height."),
        (None, "desert_village_20", "A blocky village in a sandy desert, seen at eye height."),
        (None, "mesa_village_1", "A place made of blocks, seen at eye height."),
        (None, "harbour", "A place made of blocks, seen at eye height."),
    ):
        bare = dataclasses.replace(episode, world=world, facts={**facts, "location": location})
        assert make_request(bare, start, ModelSpec("m"), LoopNavSettings(), seed=1).caption == words


def test_the_record_tells_the_caption(tasks, tmp_path):
    record = LoopNav().perform(tasks[0], models.get("freeze")(), QuietContext(tmp_path))
    episode, start = episode_of(tasks[0])
    assert record.facts["caption"] == episode.caption_at(start - record.facts["context_frames_used"])


def test_context_is_cut_to_what_is_allowed_and_what_fits(walk):
    episode, start = walk
    assert len(make_request(episode, start, ModelSpec("m"), LoopNavSettings(context=32), seed=1).context) == 32
    assert (
        len(make_request(episode, start, ModelSpec("m", max_context=4), LoopNavSettings(context=32), seed=1).context)
        == 4
    )
    last = make_request(episode, start, ModelSpec("m", max_context=4), LoopNavSettings(), seed=1).context
    assert np.array_equal(last.clip[-1], episode.clip[start - 1])
    assert np.array_equal(last.poses[-1], episode.poses[start - 1])


def test_size_and_crop_of_a_model_are_met(walk):
    episode, start = walk
    spec = ModelSpec("m", frame_size=(56, 56), crop=(4, 3))
    request = make_request(episode, start, spec, LoopNavSettings(), seed=1)
    assert (request.frame_size, request.context.clip[0].shape) == ((56, 56), (56, 56, 3))
    wide = episode.clip[start - 1]
    centre = wide[:, 20:140]
    import cv2

    assert np.array_equal(request.context.clip[-1], cv2.resize(centre, (56, 56), interpolation=cv2.INTER_AREA))


def test_truth_is_the_ceiling(scores):
    names = (
        "sgcs_chance_corrected",
        "sgcs",
        "sgcs_macro",
        "sgcs_objects",
        "sgcs_relations",
        "ssim_table",
        "ssim_320x180",
    )
    for metric in names:
        assert value(scores, "truth", metric) == pytest.approx(1.0, abs=1e-9), metric
    assert (value(scores, "truth", "mse"), value(scores, "truth", "psnr")) == (0, np.inf)


def test_memory_stands_between_truth_and_forgetting(scores):
    for metric in ("sgcs_chance_corrected", "sgcs"):
        order = [value(scores, name, metric) for name in ("truth", "memory", "forgetful", "noise")]
        assert order == sorted(order, reverse=True)
        assert value(scores, "memory", metric) > value(scores, "freeze", metric)


def test_sgcs_above_chance_is_the_mean_of_its_frames(scores):
    for own in scores.values():
        paper, above = own["sgcs"], own["sgcs_chance_corrected"]
        known = [value for _, value in above.series if value is not None]
        assert (above.n, above.value) == (paper.n, pytest.approx(np.mean(known)))


def test_what_came_back_into_view_tells_memory_from_forgetting(scores):
    detail = {name: own["returned_detail"] for name, own in scores.items()}
    error = {name: own["returned_mse"].value for name, own in scores.items()}
    assert (detail["truth"].value, error["truth"]) == (pytest.approx(1.0), 0)
    assert 1 > detail["memory"].value > detail["forgetful"].value + 0.1
    assert error["memory"] < error["forgetful"]
    # The curve holds all of it: pixels add up, and their errors weighted by them.
    facts = detail["memory"].facts
    curve = [one for one in facts["by_time_away"] if one["pixels"]]
    assert sum(one["pixels"] for one in curve) == facts["pixels"] > 1000
    assert max(one["low_s"] for one in curve) >= 5, "the way back begins with what was seen last"
    total = sum(one["pixels"] * one["mse"] for one in curve) / facts["pixels"]
    assert total == pytest.approx(error["memory"])


def test_forgetful_looks_sharp_yet_is_wrong(scores):
    ratio = value(scores, "forgetful", "sharpness") / value(scores, "truth", "sharpness")
    assert 0.5 < ratio < 2
    assert value(scores, "forgetful", "sgcs") < 0.75


def test_nothing_is_silently_missing(scores):
    names = [set(own) for own in scores.values()]
    assert all(own == names[0] for own in names), "every model has a line for every metric"
    for own in scores.values():
        for score in own.values():
            assert (score.value is None) == (score.reason is not None)
    assert "--set lpips=" in scores["truth"]["lpips"].reason


def test_frames_are_sampled_with_stride_five(scores, walk):
    episode, start = walk
    frames = [index for index, _ in scores["truth"]["sgcs"].series]
    assert frames == list(range(0, len(episode) - start, 5))


def test_scoring_twice_gives_the_same(tasks, tmp_path):
    suite, task_context = LoopNav(), QuietContext(tmp_path)
    record = suite.perform(tasks[0], models.get("freeze")(), task_context)
    assert suite.score(record, task_context) == suite.score(record, task_context)


def test_release_compares_with_the_start_of_the_recording(tasks, walk, tmp_path):
    """legacy alignment: even the truth is then scored against the look-around."""
    shifted = run("truth", tasks[0], tmp_path / "start", LoopNav(alignment="start"))
    assert shifted["ssim_table"].value < 0.95
    assert shifted["sgcs"].value == pytest.approx(1.0), "SGCS aligns the ends in the release too"


def test_parity_released_sets_every_known_behaviour():
    settings = LoopNav(parity="released").settings
    assert (settings["empty"], settings["matching"], settings["alignment"]) == ("zero", "padded_cost", "start")


def test_released_parity_refuses_what_contradicts_it():
    with pytest.raises(UsageError, match="matching=padded_cost"):
        LoopNav(parity="released", matching="maximum")
    assert LoopNav(**LoopNav(parity="released").settings).settings == LoopNav(parity="released").settings


class Small:
    """The truth at a quarter of its pixels, as a model with its own frame size would give it."""

    spec = ModelSpec("small", frame_size=(64, 36), inputs=frozenset({"truth"}))

    def rollout(self, request):
        return (frame[None] for frame in request.truth)


@pytest.mark.parametrize("segmenter", ["balanced", "colour", "exact"])
def test_a_smaller_model_is_compared_at_its_own_size(segmenter, tasks, task_context):
    suite = LoopNav(segmenter=segmenter)
    scores = {s.metric: s for s in suite.score(suite.perform(tasks[0], Small(), task_context), task_context)}
    assert scores["sgcs"].value == pytest.approx(1.0) if segmenter != "exact" else scores["sgcs"].value > 0.5
    assert scores["ssim_table"].value == pytest.approx(1.0)


class Watched(Colour):
    """The colour segmenter, that knows how many threads it was in at a time."""

    inside, most = 0, 0
    lock = threading.Lock()

    def segment(self, rgb, view=None):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.02)
        try:
            return super().segment(rgb, view)
        finally:
            with self.lock:
                self.inside -= 1


@pytest.mark.parametrize(("segmenter", "is_shared"), [("colour", True), ("sam3", False)])
def test_threads_share_no_segmenter_but_ours(segmenter, is_shared, tasks, task_context, monkeypatch):
    watched = Watched()
    monkeypatch.setattr(segmentation, "_segmenter", lambda task, name, episode: watched)
    task_context.means = Means(3)
    suite = LoopNav(segmenter=segmenter)
    scores = {s.metric: s for s in suite.score(suite.perform(tasks[0], Small(), task_context), task_context)}
    assert scores["sgcs"].value == pytest.approx(1.0)
    assert (watched.most > 1) == is_shared


class Deep:
    """Wants depth at its own frame size."""

    spec = ModelSpec("deep", frame_size=(60, 60), crop=(1, 1), inputs=frozenset({"depth"}))


def test_depth_comes_on_the_grid_of_the_model(walk):
    episode, start = walk
    context = make_request(episode, start, Deep.spec, LoopNavSettings(), seed=1).context
    depth = context.depth(3)
    assert depth.shape == (60, 60) == context.clip[3].shape[:2]
    from worldgauge.worlds import open_world

    full = open_world(episode.world).view(episode.poses[3], episode.camera).depth
    assert np.nanmedian(np.abs(depth[30, 5:55] - full[45, 35:125][np.linspace(7, 82, 50).astype(int)])) < 0.5
    assert context.last(2).depth is not None


def test_a_model_of_another_rate_is_shown_the_way_out_at_its_own(walk):
    episode, start = walk
    request = make_request(episode, start, ModelSpec("slow", fps=10), LoopNavSettings(), seed=1)
    assert (len(request.context), request.context.clip.fps) == ((start - 1) // 2 + 1, 10)
    assert np.array_equal(request.context.clip[-1], episode.clip[start - 1])


@pytest.mark.parametrize("alignment", ["end", "start"])
def test_what_a_model_of_another_rate_never_imagined_is_not_scored(alignment, tasks, walk, tmp_path):
    episode, start = walk
    suite = LoopNav(alignment=alignment)
    folder = tmp_path / "seven"
    folder.mkdir()
    record = suite.perform(tasks[0], TruthModel(fps=7), QuietContext(folder))
    asked = len(episode) - start
    drawn = int(int(asked * 7 / 20) * 20 / 7)
    assert drawn < asked
    bridge = record.facts["bridge"]
    assert (bridge["frames_asked"], bridge["never_imagined"]) == (asked, asked - drawn)
    found = {one.metric: one for one in suite.score(record, QuietContext(folder))}
    assert found["psnr"].n == len(found["psnr"].series) == drawn == record.facts["frames_generated"]
    truth, rollout = suite.compared_clips(record)
    assert len(truth) == len(rollout) == drawn


def test_the_bridge_costs_less_at_rates_nearer_to_that_of_the_recording(tasks, tmp_path):
    found = []
    for fps in (20, 16, 4):
        folder = tmp_path / str(fps)
        folder.mkdir()
        record = LoopNav().perform(tasks[0], TruthModel(fps=fps), QuietContext(folder))
        scores = {one.metric: one.value for one in LoopNav().score(record, QuietContext(folder))}
        found.append((scores["mse"], scores["sgcs"]))
    assert found[0][0] == 0 < found[1][0] < found[2][0]
    assert found[0][1] >= found[1][1] > found[2][1]


def test_lpips_is_computed_when_its_weights_are_given(tasks, tmp_path):
    """Random weights of AlexNet's shapes: the same frames are at distance 0, other ones are not."""
    rng = np.random.default_rng(0)
    shapes = {"0": (8, 3, 11, 11), "3": (8, 8, 5, 5), "6": (8, 8, 3, 3), "8": (8, 8, 3, 3), "10": (8, 8, 3, 3)}
    tensors = {f"features.{k}.weight": rng.normal(0, 0.1, v).astype(np.float32) for k, v in shapes.items()}
    tensors |= {f"features.{k}.bias": np.zeros(8, np.float32) for k in shapes}
    tensors |= {f"lin{i}.model.1.weight": rng.uniform(0, 1, (1, 8, 1, 1)).astype(np.float32) for i in range(5)}
    np.savez(tmp_path / "weights.npz", **tensors)
    suite = LoopNav(lpips=str(tmp_path / "weights.npz"))
    truth, freeze = (run(name, tasks[0], tmp_path / name, suite)["lpips"] for name in ("truth", "freeze"))
    assert truth.value == 0
    assert freeze.value > 0
    assert truth.n == len(truth.series) > 5


def test_balanced_finds_the_scene_of_a_tinted_truth(tasks, tmp_path):
    def sgcs_of(model, segmenter):
        suite, context = LoopNav(segmenter=segmenter), QuietContext(tmp_path / segmenter / model.spec.name)
        context.directory.mkdir(parents=True)
        scores = suite.score(suite.perform(tasks[0], model, context), context)
        return next(score.value for score in scores if score.metric == "sgcs")

    assert sgcs_of(Changed("none"), "balanced") == 1
    assert sgcs_of(Changed("tint"), "balanced") > max(0.85, sgcs_of(Changed("tint"), "colour") + 0.1)


def test_exact_masks_on_the_truth_measure_the_segmenter(tasks, tmp_path):
    exact = run("truth", tasks[0], tmp_path / "exact", LoopNav(segmenter="exact"))
    assert 0.65 < exact["sgcs"].value <= 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"contxt": 3}, UnknownNameError, "context"),
        ({"context": 0}, UsageError, "context"),
        ({"segmenter": "lpips"}, UsageError, "no segmenter 'lpips'. Known: balanced, colour, exact, sam3"),
        ({"lpips": "lpips-alxe"}, UsageError, "setting 'lpips': no network for lpips .* mean 'lpips-alex'"),
        ({"fvd": "i3"}, UsageError, "setting 'fvd': no network for fvd 'i3'. Did you mean 'i3d'"),
        ({"fvd": 3}, UsageError, "'fvd' must be a name"),
        ({"segmenter": "color"}, UsageError, "setting 'segmenter': no segmenter 'color'. Did you mean 'colour'"),
        ({"tau": 2}, UsageError, "tau"),
        ({"stride": "5"}, UsageError, "stride"),
        ({"horizon_s": 0}, UsageError, "more than 0"),
        ({"horizon_s": float("nan")}, UsageError, "horizon_s"),
        ({"horizon_s": 0.01}, UsageError, "at least one frame"),
    ],
)
def test_bad_settings_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        LoopNav(**options)


class Short:
    """Stops after two frames."""

    spec = ModelSpec("short")

    def rollout(self, request):
        yield np.zeros((2, *request.frame_size[::-1], 3), np.uint8)


def test_a_broken_model_leaves_no_video(tasks, task_context):
    with pytest.raises(ModelError, match="stopped after 2 of"):
        LoopNav().perform(tasks[0], Short(), task_context)
    assert list(task_context.directory.iterdir()) == []


def test_a_rollout_that_was_cut_on_disk_is_noticed(tasks, task_context):
    suite = LoopNav()
    record = suite.perform(tasks[0], models.get("freeze")(), task_context)
    wrong = dataclasses.replace(record, facts={**record.facts, "frames_generated": 3})
    with pytest.raises(DataError, match="3 were recorded"):
        suite.score(wrong, task_context)


@pytest.fixture(scope="module")
def strangers(walks, tmp_path_factory):
    """The same recordings as a published folder: nobody knows their world."""
    root = tmp_path_factory.mktemp("published") / "data"
    shutil.copytree(walks, root, ignore=shutil.ignore_patterns("worldgauge.json", ".worldgauge-index.json"))
    return root


def test_published_recordings_need_the_papers_villages_or_all(strangers):
    with pytest.raises(DataError, match="selection=all"):
        list(LoopNav().tasks(strangers))
    assert len(list(LoopNav(selection="all").tasks(strangers))) == 2


def test_the_colour_segmenter_does_not_judge_what_it_does_not_know(strangers, tmp_path):
    task = next(LoopNav(selection="all").tasks(strangers))
    left = run("freeze", task, tmp_path / "left", LoopNav(selection="all"))
    assert left["sgcs"].value is None
    assert "segmenter=NAME" in left["sgcs"].reason
    assert left["ssim_table"].value is not None
    forced = run("freeze", task, tmp_path / "forced", LoopNav(selection="all", segmenter="colour"))
    assert forced["sgcs"].value is not None
    tables = LoopNav().summarize({"freeze": list(forced.values())}, {"freeze": "baseline"}, {})
    assert any("their labels are unreliable" in note for note in tables[0].notes)


def test_nor_pictures_that_another_renderer_drew_of_a_world_it_knows(walks, tmp_path):
    root = shutil.copytree(walks, tmp_path / "data")
    manifest = json.loads((root / "worldgauge.json").read_text())
    manifest["settings"]["game"] = {"mode": "offline", "server": None, "places": [], "pictures": "released"}
    (root / "worldgauge.json").write_text(json.dumps(manifest))
    task = next(iter(LoopNav().tasks(root)))
    scores = run("freeze", task, tmp_path / "record")
    assert scores["sgcs"].value is None
    assert "our own textures" in scores["sgcs"].reason
    assert scores["ssim_table"].value is not None


def test_tables_say_when_a_fault_of_the_release_was_asked_for(tasks, tmp_path):
    shifted = run("freeze", tasks[0], tmp_path, LoopNav(alignment="start"))
    tables = LoopNav().summarize({"freeze": list(shifted.values())}, {"freeze": "baseline"}, {})
    noted = {table.metric for table in tables if any("alignment=start" in note for note in table.notes)}
    assert noted == {"ssim_table", "ssim_320x180", "psnr", "mse", "detail", "sharpness"}


def test_tables_have_n_and_intervals(scores):
    tables = LoopNav().summarize(
        {name: list(own.values()) for name, own in scores.items()}, dict.fromkeys(scores, "baseline"), {}
    )
    assert [table.metric for table in tables[:2]] == ["sgcs_chance_corrected", "sgcs"]
    assert (tables[0].columns, tables[0].rows[0].label) == (("ABA 5", "all"), "truth")
    assert all(cell.n == 1 and cell.expected == 1 for row in tables[0].rows for cell in row.cells)
    curves = {table.metric: table for table in tables if table.metric.endswith("/away")}
    over_time = {table.metric: table for table in tables if table.metric.endswith("/over_time")}
    assert {table.metric for table in tables} - set(curves) - set(over_time) == set(scores["truth"])
    assert over_time["colour_drift/over_time"].columns[:2] == ("0 to 2 s", "2 to 5 s")
    assert over_time["colour_drift/over_time"].rows[0].label == "truth"
    assert over_time["colour_drift/over_time"].rows[0].cells[1].mean == 0
    assert "the recording" in [row.label for row in over_time["colour_change/over_time"].rows]
    assert set(curves) == {"returned_mse/away", "returned_detail/away"}
    assert curves["returned_detail/away"].rows[0].label == "truth"
    assert all(name.endswith(" s") or name.endswith("more") for name in curves["returned_detail/away"].columns)


def test_a_horizon_in_seconds_cuts_and_what_is_shorter_is_skipped(walks, tmp_path):
    whole = {task.id: episode_of(task) for task in LoopNav().tasks(walks)}
    shortest, longest = sorted((len(episode) - start) / 20 for episode, start in whole.values())
    suite = LoopNav(horizon_s=2.0)
    for task in suite.tasks(walks):
        episode, start = episode_of(task)
        assert (len(episode), start) == (start + 40, whole[task.id][1])
    one = run("truth", next(iter(suite.tasks(walks))), tmp_path / "r", suite)
    assert (one["colour_drift"].n, one["colour_drift"].value) == (40, 0)
    skipped = [task.skip for task in LoopNav(horizon_s=(shortest + longest) / 2).tasks(walks) if task.skip]
    assert len(skipped) == 1
    assert "the recording ends" in skipped[0]
    with pytest.raises(DataError, match=f"the longest {longest:.3g} s.*--laps"):
        list(LoopNav(horizon_s=60).tasks(walks))


def test_published_table_is_the_papers():
    tables = {table.metric: table for table in LoopNav().published()}
    assert sum(len(row.cells) for table in tables.values() for row in table.rows) == 128
    mineworld = next(row for row in tables["sgcs"].rows if row.label == "MineWorld")
    cell = mineworld.cells[tables["sgcs"].columns.index("ABA 5")]
    assert (cell.mean, cell.std, mineworld.kind) == (0.54, 0.12, "published")


def test_picture_marks_the_corners(tasks):
    suite = LoopNav()
    one, two = (suite.task_view(task) for task in tasks)
    assert (set(one.marks), set(two.marks)) == ({"A", "B"}, {"A", "B", "C"})
    assert len(one.truth) == len(one.poses) - one.generated_from
