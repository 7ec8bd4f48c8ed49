import cv2
import numpy as np
import pytest
from benchmarks._harmless import HARMLESS

from support.paint import painted_colours
from worldgauge.core.errors import NotApplicableError, ShapeError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.perception import estimators
from worldgauge.perception.colour_correction import classify, embedded_palette, number_components
from worldgauge.perception.instances import CATEGORIES
from worldgauge.perception.segment import COUNTABLE, Balanced, Colour, ExactSegmenter, LabelImages, Masks, min_area
from worldgauge.suites.loopnav.metrics.sgcs import accuracy_against_exact, frame_sgcs
from worldgauge.weights import AbsentWeightsError
from worldgauge.worlds import View
from worldgauge.worlds.voxel.blocks import CATEGORIES as VOXEL_CATEGORIES
from worldgauge.worlds.voxel.camera import Grid, render
from worldgauge.worlds.voxel.generate import generate


def views(kind, width=640, height=360):
    """Four looks round from the middle of a settlement, from well above the roofs' shade."""
    world = generate(kind, 1234, (160, 160, 56))
    grid = Grid.of(world)
    camera = Camera.from_vertical_fov(width, height, 75.0)
    x, y = world.centre
    z = world.surface(x, y) + 4.0
    return [render(grid, pose_from_yaw_pitch((x + 0.5, y + 0.5, z), yaw), camera) for yaw in (0.4, 2.0, 3.5, 5.1)]


@pytest.fixture(scope="module")
def seen():
    return [view for kind in ("plains", "desert", "snowy", "savanna") for view in views(kind)]


def compressed(rgb, quality=90):
    """JPEG there and back, as every stored frame has been."""
    done, data = cv2.imencode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done
    return np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1])


def fake_view(category, instance):
    blank = np.zeros((*category.shape, 3), np.uint8)
    return View(blank, np.zeros(category.shape, np.float32), category.astype(np.uint16), instance.astype(np.uint16))


# Exact -------------------------------------------------------------------------------------------------------


def test_exact_labels_by_number_or_category_and_drops_tiny_instances():
    names = ("none", "grass", "building", "lava", "sky")
    category = np.zeros((60, 80), np.uint16)
    instance = np.zeros((60, 80), np.uint16)
    category[:20], category[20:40], category[40:] = 4, 1, 3
    category[10:30, 10:20], instance[10:30, 10:20] = 2, 7
    category[10:30, 40:50], instance[10:30, 40:50] = 2, 9
    instance[35:40] = 3
    labels = ExactSegmenter(names).segment(fake_view(category, instance).rgb, fake_view(category, instance))
    scene = labels.scene()
    assert {name: len(group) for name, group in scene.items()} == {"building": 2, "grass": 1, "sky": 1}
    assert scene["building"].rows() == [[14.5, 19.5, 200], [44.5, 19.5, 200]]
    assert (labels.category[50] == 0).all(), "what the paper has no word for is none"
    category = np.full((360, 640), VOXEL_CATEGORIES.index("sky"))
    instance = np.zeros((360, 640))
    for left, size in ((10, 10), (50, 11)):
        box = np.s_[100 : 100 + size, left : left + size]
        category[box], instance[box] = VOXEL_CATEGORIES.index("tree"), left
    view = fake_view(category, instance)
    labels = ExactSegmenter().segment(view.rgb, view)
    assert (min_area((360, 640)), labels.scene()["tree"].rows()) == (115, [[55, 105, 121]])
    with pytest.raises(NotApplicableError, match="balanced"):
        ExactSegmenter().segment(view.rgb)


def test_masks_are_in_the_order_of_scenes(seen):
    labels = ExactSegmenter().segment(seen[0].rgb, seen[0])
    masks, scene = labels.masks(), labels.scene()
    assert {k: [m.sum() for m in v] for k, v in masks.items()} == {k: v.area.tolist() for k, v in scene.items()}
    assert Masks({k: [(m, 0.9) for m in v] for k, v in masks.items()}).scene().keys() == scene.keys()
    labels = Colour().segment(compressed(seen[0].rgb))
    for index, name in enumerate(CATEGORIES, start=1):
        numbers = np.unique(labels.instance[labels.category == index])
        assert (0 not in numbers) if name in COUNTABLE else set(numbers) <= {0}
    big, small = np.ones((4, 4), bool), np.eye(4, dtype=bool)
    found = Masks({"tree": [(big, 0.51), (small, 0.5), (np.zeros((4, 4), bool), 0.9)], "sky": [(small, 0.1)]})
    assert {k: v.rows() for k, v in found.scene().items()} == {"tree": [[1.5, 1.5, 16]]}


# Colour ------------------------------------------------------------------------------------------------------


def test_colour_agrees_with_exact_labels_also_at_half_size(seen):
    colour, exact = Colour(), ExactSegmenter()
    pairs = [(colour.segment(compressed(view.rgb)), exact.segment(view.rgb, view)) for view in seen]
    found = accuracy_against_exact(pairs)
    assert found.frames == len(seen)
    assert found.pixel_accuracy >= 0.90
    assert found.sgcs >= 0.70
    assert all(found.iou[name] >= 0.75 for name in ("building", "sky", "grass", "sand", "snow"))
    pairs = [(colour.segment(compressed(v.rgb)), exact.segment(v.rgb, v)) for v in views("taiga", 320, 180)]
    assert accuracy_against_exact(pairs).pixel_accuracy >= 0.85


def test_labels_repeat_and_compression_costs_little(seen):
    frame = compressed(seen[0].rgb)
    one, other = Colour().segment(frame), Colour().segment(frame.copy())
    assert np.array_equal(one.category, other.category)
    assert np.array_equal(one.instance, other.instance)
    assert frame_sgcs(one.scene(), other.scene(), height=360, width=640).value == 1.0
    scenes = [Colour().segment(view.rgb).scene() for view in seen[:2]]
    again = Colour().segment(compressed(seen[0].rgb)).scene()
    size = {"height": 360, "width": 640}
    assert frame_sgcs(again, scenes[0], **size).value > 0.8 > frame_sgcs(again, scenes[1], **size).value


def test_flat_colours_are_what_they_are_painted_for():
    colours, categories = painted_colours()
    for name in ("sky", "sand", "water"):
        mine = colours[categories == VOXEL_CATEGORIES.index(name)]
        middle = mine[len(mine) // 2]
        frame = np.broadcast_to(middle, (90, 160, 3)).astype(np.uint8)
        assert set(Colour().segment(frame).scene()) == {name}


def test_components_and_colour_tables_by_hand():
    mask = np.zeros((60, 640), bool)
    mask[10:20, 10:20] = mask[20:25, 20:25] = True  # touches by a corner
    mask[10:20, 100:110] = mask[10:20, 113:123] = True  # three columns apart
    mask[10:20, 200:210] = mask[10:20, 220:230] = True  # ten apart
    mask[40:42, 300:302] = True
    parts = number_components(mask, 5)
    assert sorted(np.bincount(parts[parts > 0])[1:].tolist()) == [100, 100, 125, 200]
    assert (parts[~mask] == 0).all()
    assert (parts[40:42, 300:302] == 0).all(), "too small"
    table = embedded_palette().table(1.0)
    assert table.shape == (len(VOXEL_CATEGORIES), 1 << 18)
    assert np.isfinite(table).all()


def test_noise_and_odd_sizes_do_not_break_it():
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    labels = Colour().segment(noise)
    assert labels.category.shape == labels.instance.shape == (37, 53)
    assert classify(noise[:1, :1]).shape == (1, 1)
    with pytest.raises(ShapeError, match="uint8"):
        Colour().segment(noise.astype(float))
    with pytest.raises(ShapeError, match=r"H, W, 3"):
        Colour().segment(noise[..., 0])


@pytest.mark.parametrize("change", ["tint", "contrast", "brighter", "H.264"])
def test_balanced_takes_back_what_was_done_to_colours(change):
    clip = np.stack([view.rgb for view in views("plains", 256, 144)])
    segmenter = Balanced()

    def found(segmenter, video):
        fitted = segmenter.fitted(video) if isinstance(segmenter, Balanced) else segmenter
        return [fitted.segment(frame).category for frame in video]

    changed = HARMLESS[change](clip, 0)
    kept = {one.name: np.mean(np.equal(found(one, clip), found(one, changed))) for one in (segmenter, Colour())}
    assert kept["balanced"] > 0.9
    assert kept["balanced"] > kept["colour"] + 0.02
    assert np.array_equal(found(segmenter, clip), found(segmenter, clip.copy()))


# Accuracy and registry ----------------------------------------------------------------------------------------


def test_accuracy_by_hand_and_names():
    exact = np.zeros((40, 40), np.uint16)
    exact[:20], exact[20:30] = 1, 2
    got = exact.copy()
    got[15:20] = 2
    zero = np.zeros((40, 40), np.uint16)
    found = accuracy_against_exact([(LabelImages(got, zero), LabelImages(exact, zero))])
    assert found.pixel_accuracy == pytest.approx(25 / 30)
    assert found.iou["building"] == pytest.approx(15 / 20)
    assert found.iou["tree"] == pytest.approx(10 / 15)
    assert found.iou["sky"] is None
    assert found.sgcs == 1.0
    with pytest.raises(ShapeError, match="no frames"):
        accuracy_against_exact([])
    assert estimators.get("exact") is ExactSegmenter
    assert estimators.get("colour")().name == "colour"


def test_sam3_without_its_weights_says_what_brings_them(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    with pytest.raises(AbsentWeightsError, match="worldgauge weights pull sam3"):
        estimators.get("sam3")()
