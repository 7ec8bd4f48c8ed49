import cv2
import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge_lab.validate_metrics.perturbations import (
    PERTURBATIONS,
    Labels,
    colour,
    deletion,
    label_masks,
    parameters,
    rotation,
    scaling,
    select_objects,
    swap,
    translation,
    warp_labels,
)

BY_VECTOR = {
    "translation": lambda rgb, p: translation(rgb, shift=p["frac"]),
    "rotation": lambda rgb, p: rotation(rgb, turn_deg=p["degrees"]),
    "crop": lambda rgb, p: scaling(rgb, crop=p["frac"]),
    "color": lambda rgb, p: colour(rgb, **p),
}


def rectangles(boxes, height, width):
    masks = np.zeros((len(boxes), height, width), bool)
    for mask, (x0, y0, x1, y1) in zip(masks, boxes, strict=True):
        mask[y0:y1, x0:x1] = True
    return list(masks)


def street(height=90, width=120):
    """Sky, grass, a red house and a smaller blue one; every thing its own flat colour, instances numbered."""
    rgb = np.empty((height, width, 3), np.uint8)
    category, instance = np.zeros((2, height, width), np.uint16)
    things = [
        ((0, 0, width, 30), (120, 170, 250), 7),
        ((0, 30, width, 36), (90, 160, 60), 4),
        ((0, 36, width, height), (95, 165, 65), 0),
        ((10, 40, 40, 70), (200, 40, 40), 1),
        ((70, 45, 90, 75), (40, 40, 200), 2),
    ]
    for number, ((x0, y0, x1, y1), paint, kind) in enumerate(things, start=1):
        rgb[y0:y1, x0:x1] = paint
        category[y0:y1, x0:x1] = kind
        instance[y0:y1, x0:x1] = number if kind else 0
    return rgb, Labels(category, instance)


# Vectors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("loopnav_", "perturbation_parameter_cases"))
def test_vector_loopnav_parameters(case):
    got, expected = parameters(case["height"], case["width"]), case["expected"]
    for name in ("dx", "dy", "crop_height", "crop_width", "crop_y0", "crop_x0"):
        assert getattr(got, name) == expected[name]
    assert got.rotation == pytest.approx(np.array(expected["rotation_matrix"]), abs=1e-9)
    assert got.min_area == pytest.approx(expected["min_object_area"], abs=1e-9)
    assert got.max_area == pytest.approx(expected["max_object_area"], abs=1e-9)


@pytest.mark.parametrize("case", cases("loopnav_", "perturbation_image_cases"))
def test_vector_loopnav_image(case):
    image, expected = (
        np.frombuffer(bytes.fromhex(case[k]), np.uint8).reshape(case["shape"]) for k in ("input_hex", "expected_hex")
    )
    kind = next(name for name in BY_VECTOR if name in case["id"])
    got, labels = BY_VECTOR[kind](image, case["params"])
    assert labels is None
    error = np.abs(got.astype(int) - expected)
    assert error.max() <= case["max_abs_tolerance"]
    assert error.mean() <= case.get("mean_abs_tolerance", 0)


def test_saturation_is_multiplied_as_the_release_does_it():
    """Truncated of the exact product: 100, 180, 200 and 220 times 1.15 are whole numbers, in binary a little less."""
    saturation = np.arange(256)
    reds = np.stack([np.full(256, 255), 255 - saturation, 255 - saturation], -1).astype(np.uint8)[None]
    got, _ = colour(reds, contrast=1, brightness=0)
    exact = np.minimum(saturation * 115 // 100, 255)
    hsv = np.stack([np.zeros(256), exact, np.full(256, 255)], -1).astype(np.uint8)[None]
    np.testing.assert_array_equal(got, cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


@pytest.mark.parametrize("case", cases("loopnav_", "object_selection_cases"))
def test_vector_loopnav_objects(case):
    expected, size = case["expected"], (case["height"], case["width"])
    masks = rectangles(case["masks"], *size)
    kept = select_objects(masks, *size)
    assert kept == expected["kept_indices"]
    assert [int(masks[i].sum()) for i in kept] == expected["areas"]
    assert (kept[0] if kept else None) == expected["delete"]
    assert (kept[:2] if len(kept) > 1 else None) == expected["swap"]


# The bars --------------------------------------------------------------------------------------------------


def test_the_seven_bars_in_the_order_of_the_figure():
    assert list(PERTURBATIONS) == ["truth", "colour", "translation", "rotation", "scaling", "deletion", "swap"]


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_a_bar_keeps_shapes_and_inputs_and_gives_the_same_twice(name):
    rgb, labels = street()
    copies = [x.copy() for x in (rgb, *labels)]
    for image in (rgb, *labels):
        image.setflags(write=False)
    first, second = PERTURBATIONS[name](rgb, labels), PERTURBATIONS[name](rgb, labels)
    assert first[0].shape == rgb.shape
    assert first[0].dtype == np.uint8
    assert isinstance(first[1], Labels)
    for image in first[1]:
        assert image.shape == rgb.shape[:2]
        assert image.dtype == np.uint16
    assert (first[0] == second[0]).all()
    assert all((x == y).all() for x, y in zip((rgb, *labels), copies, strict=True))
    assert (name == "truth") == bool((first[0] == rgb).all())


def test_colour_by_hand():
    # Grey has no saturation: 100 * 1.12 + 18 = 130 exactly; 101 * 1.12 + 18 = 131.12 is cut to 131; 240 is clipped.
    grey = np.array([[[100] * 3, [101] * 3, [240] * 3]], np.uint8)
    assert colour(grey)[0].tolist() == [[[130] * 3, [131] * 3, [255] * 3]]
    _, labels = street()
    assert colour(street()[0], labels)[1] is labels


def test_translation_by_hand():
    rgb = np.arange(50 * 50 * 3, dtype=np.uint64).reshape(50, 50, 3).astype(np.uint8)
    instance = np.arange(2500, dtype=np.uint16).reshape(50, 50)
    moved, labels = translation(rgb, Labels(instance, instance))
    assert (moved[2:, 2:] == rgb[:-2, :-2]).all()
    assert (labels.instance[2:, 2:] == instance[:-2, :-2]).all()
    # Mirrored at the edge without repeating it.
    assert (labels.instance[1, 2:] == instance[1, :-2]).all()
    assert (labels.instance[0, 2:] == instance[2, :-2]).all()


@pytest.mark.parametrize("name", ["translation", "rotation", "scaling"])
def test_labels_move_with_the_picture(name):
    """A picture that is its own label image: inside the things, both must agree after the move."""
    rgb, labels = street(180, 240)
    moved, moved_labels = PERTURBATIONS[name](rgb, labels)
    paint = {int(i): rgb[labels.instance == i][0] for i in np.unique(labels.instance)}
    redrawn = np.array([paint[int(i)] for i in moved_labels.instance.ravel()], np.uint8).reshape(rgb.shape)
    # Only the blended seam between two things may differ.
    assert np.any(moved != redrawn, -1).mean() < 0.03
    assert set(np.unique(moved_labels.instance)) == set(np.unique(labels.instance))


def test_rotation_is_counter_clockwise_as_displayed():
    rgb = np.zeros((101, 101, 3), np.uint8)
    rgb[48:53, 90:95] = 255
    turned, _ = rotation(rgb)
    rows, _ = np.nonzero(turned[..., 0] > 128)
    assert rows.mean() == pytest.approx(50 - 42 * np.sin(np.deg2rad(5)), abs=0.6)


def test_scaling_enlarges_about_the_centre():
    category = np.zeros((100, 100), np.uint16)
    category[30:70, 30:70] = 1
    rgb = np.zeros((100, 100, 3), np.uint8)
    _, labels = scaling(rgb, Labels(category, category))
    rows, columns = np.nonzero(labels.category)
    assert rows.mean() == pytest.approx(49.5, abs=0.6)
    assert columns.mean() == pytest.approx(49.5, abs=0.6)
    assert len(rows) == pytest.approx(1600 / 0.9**2, rel=0.03)


def test_deletion_paints_over_the_largest_object():
    rgb, labels = street()
    changed, left = deletion(rgb, labels)
    sky = labels.instance == 1
    assert not (left.instance == 1).any()
    assert not (left.category == 7).any()
    # Nearest outside: the strip of grass below takes the whole sky. The two rows under it are in the dilated hole.
    assert (left.instance[sky] == 2).all()
    assert (left.category[sky] == 4).all()
    assert (changed[32:] == rgb[32:]).all()
    assert (left.instance[32:] == labels.instance[32:]).all()
    assert np.abs(changed[sky].astype(int) - (90, 160, 60)).max() <= 10


def test_swap_exchanges_the_two_largest():
    rgb, labels = street()
    labels.category[:36] = 0
    labels.instance[:36] = 0
    changed, swapped = swap(rgb, labels)
    # The red house (30 x 30) now fills the box of the blue one (20 x 30), and the other way round.
    assert (changed[45:75, 70:90] == (200, 40, 40)).all()
    assert (swapped.instance[45:75, 70:90] == 4).all()
    assert (swapped.category[45:75, 70:90] == 1).all()
    assert (changed[40:70, 10:40] == (40, 40, 200)).all()
    assert (swapped.instance[40:70, 10:40] == 5).all()
    assert (swapped.instance == 4).sum() == 600
    assert (swapped.instance == 5).sum() == 900


def test_swap_pastes_only_inside_the_mask():
    rgb = np.full((60, 90, 3), 100, np.uint8)
    rows, columns = np.mgrid[:60, :90]
    category = np.zeros((60, 90), np.uint16)
    category[(rows - 30) ** 2 + (columns - 20) ** 2 <= 15**2] = 1
    category[20:40, 60:80] = 2
    rgb[category == 1], rgb[category == 2] = (255, 0, 0), (0, 0, 255)
    changed, swapped = swap(rgb, Labels(category, category))
    assert (swapped.category == 1).sum() < 20 * 20 * 0.85
    assert (changed[20, 60] != (255, 0, 0)).any()
    assert (changed[30, 70] == (255, 0, 0)).all()
    assert (swapped.category[15:46, 5:36] == 2).all()


def test_frames_without_objects_are_skipped():
    rgb = np.zeros((40, 40, 3), np.uint8)
    empty = np.zeros((40, 40), np.uint16)
    one = empty.copy()
    one[5:15, 5:15] = 1
    assert deletion(rgb, Labels(empty, empty)) is None
    assert swap(rgb, Labels(empty, empty)) is None
    assert deletion(rgb, Labels(one, empty)) is not None
    assert swap(rgb, Labels(one, empty)) is None


def test_a_hole_as_large_as_the_frame_is_skipped():
    """Stripes under 40% of the frame that cover all of it once dilated: nothing is left to fill from."""
    rgb = np.zeros((40, 40, 3), np.uint8)
    stripes = np.zeros((40, 40), np.uint16)
    stripes[1::3] = 1
    labels = Labels(stripes, stripes)
    assert select_objects(label_masks(labels), 40, 40) == [0]
    assert deletion(rgb, labels) is None


def test_label_masks_are_pairs_of_category_and_instance():
    category = np.array([[0, 1, 1, 2]], np.uint16)
    instance = np.array([[9, 1, 65535, 1]], np.uint16)
    masks = label_masks(Labels(category, instance))
    assert [m.tolist() for m in masks] == [[[False, True, False, False]], [[False, False, True, False]],
                                           [[False, False, False, True]]]  # fmt: skip


def test_select_objects_keeps_the_order_of_equal_areas():
    masks = rectangles([(0, 0, 5, 5), (10, 0, 15, 5), (0, 10, 6, 16)], 30, 30)
    assert select_objects(masks, 30, 30) == [2, 0, 1]


def test_refusals():
    rgb, labels = street()
    for bad in (rgb[..., 0], rgb.astype(float), rgb[:0]):
        for bar in PERTURBATIONS.values():
            with pytest.raises(ShapeError):
                bar(bad, None)
    for bar in PERTURBATIONS.values():
        with pytest.raises(ShapeError):
            bar(rgb, Labels(labels.category[1:], labels.instance))
        with pytest.raises(ShapeError):
            bar(rgb, Labels(labels.category.astype(int), labels.instance))
    for bar in (deletion, swap):
        with pytest.raises(ShapeError, match="need labels"):
            bar(rgb, None)
    with pytest.raises(ShapeError):
        select_objects([np.ones((3, 4), bool)], 4, 4)
    with pytest.raises(ShapeError):
        parameters(0, 10)
    assert warp_labels(None, np.eye(2, 3)) is None


# Stronger than the paper's ---------------------------------------------------------------------------------


def left_over(labels, *instances):
    return [int((labels.instance == number).sum()) for number in instances]


def test_deletion_of_several_takes_the_largest_first_and_all_of_them():
    rgb, labels = street()
    assert np.array_equal(deletion(rgb, labels, count=1)[0], deletion(rgb, labels)[0])
    strip, house = left_over(labels, 2, 5)
    picture, moved = deletion(rgb, labels, count=2)  # the sky and the large house, which touch the strip of grass
    assert left_over(moved, 1, 4, 5) == [0, 0, house]
    assert left_over(moved, 2)[0] > strip
    assert (picture == rgb).all(-1)[45:74, 72:88].all()
    assert left_over(deletion(rgb, labels, count=3)[1], 1, 2, 4, 5) == [0, 0, 0, house]
    assert left_over(deletion(rgb, labels, count=4)[1], 1, 2, 4, 5) == [0, 0, 0, 0]
    assert deletion(rgb, labels, count=5) is None


def test_only_named_categories_are_objects():
    rgb, labels = street()
    assert left_over(deletion(rgb, labels, among=(1,))[1], 1, 4) == [left_over(labels, 1)[0], 0]
    assert deletion(rgb, labels, among=()) is None
    assert swap(rgb, labels, among=(1,)) is None
    swapped, _ = swap(rgb, labels, among=(1, 2))
    assert tuple(swapped[55, 25]) == (40, 40, 200)
    assert tuple(swapped[60, 80]) == (200, 40, 40)
    assert np.array_equal(swapped[:30], rgb[:30])


def test_swap_of_two_pairs_leaves_none_in_place():
    rgb = np.full((90, 120, 3), 90, np.uint8)
    category, instance = np.zeros((2, 90, 120), np.uint16)
    for number, (x, side) in enumerate(((5, 22), (35, 20), (65, 18), (95, 16)), start=1):
        rgb[30 : 30 + side, x : x + side] = 50 * number
        category[30 : 30 + side, x : x + side] = 1
        instance[30 : 30 + side, x : x + side] = number
    labels = Labels(category, instance)
    picture, moved = swap(rgb, labels, pairs=2)
    assert [int(picture[38, x + 8, 0]) for x in (5, 35, 65, 95)] == [100, 50, 200, 150]
    assert [int(moved.instance[38, x + 8]) for x in (5, 35, 65, 95)] == [2, 1, 4, 3]
    assert swap(rgb, labels, pairs=3) is None


@pytest.mark.parametrize("arguments", [{"count": 0}, {"count": -1}])
def test_no_object_cannot_be_deleted(arguments):
    with pytest.raises(ShapeError, match="at least one"):
        deletion(*street(), **arguments)


def test_no_pair_cannot_be_swapped():
    with pytest.raises(ShapeError, match="at least one"):
        swap(*street(), pairs=0)
