"""Stimuli of mental rotation: usable, distinct, wholly in sight, and seen by the renderer as we think they are."""

import numpy as np
import pytest

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.generate import mental_rotation as f
from worldgauge.suites.mineanybuild.generate.mental_rotation import (
    FigureView,
    canonical,
    is_usable,
    mirrored,
    same_by_rotation,
)
from worldgauge.worlds.blocks import views as camera
from worldgauge.worlds.blocks.blueprint import Blueprint

SEED, COUNT = 11, 6
SIZE_PX = 96
# A straight look at the block behind the foot is barred from two sides.
HIDING = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0), (1, 2, 1), (0, 0, 1), (0, 0, 2), (1, 1, 1), (0, 1, 2)])


@pytest.fixture(scope="module")
def upright():
    return f.stimuli(SEED, COUNT)


@pytest.fixture(scope="module")
def turnable():
    return f.stimuli(SEED, COUNT, views="full")


def rays(cells: np.ndarray) -> np.ndarray:
    """`outlook` by intersecting every line of sight with every block."""
    cells = f.normalised(cells)
    side, up, eye = f._SIGHT
    extent = cells.max(axis=0) + 1
    reach = np.linalg.norm(extent) / 2
    across = (np.arange(f._LINES) + 0.5) / f._LINES * 2 - 1
    starts = extent / 2 + reach * (eye * 2 + across[None, :, None] * side - across[:, None, None] * up)
    times = (np.stack([cells, cells + 1])[:, None, None] - starts[None, :, :, None]) / -eye
    enter, leave = np.sort(times, axis=0)
    first = np.where(enter.max(axis=-1) < leave.min(axis=-1), enter.max(axis=-1), np.inf)
    nearest = first.argmin(axis=-1)
    axis = np.take_along_axis(enter.argmax(axis=-1), nearest[..., None], axis=-1)[..., 0]
    return np.where(np.isinf(first.min(axis=-1)), 0, 1 + 3 * nearest + axis)


def likeness(first: np.ndarray, second: np.ndarray) -> float:
    return float((first & second).sum() / (first | second).sum())


@pytest.mark.parametrize("which", ["upright", "turnable"])
def test_stimuli_are_usable_and_none_is_another(which: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(which)
    assert len(found) == COUNT
    assert [len(cells) for cells in found] == [7, 8, 9, 10, 11, 7]
    assert all(map(is_usable, found))
    assert max(np.ptp(cells, axis=0).max() for cells in found) < f.WIDEST
    names = {canonical(each).tobytes() for cells in found for each in (cells, mirrored(cells, 0))}
    assert len(names) == 2 * COUNT


def test_figures_repeat_with_the_seed_and_are_seen_by_rays(upright, turnable) -> None:
    # The same seed gives the same and fewer are the first of them.
    assert all(map(np.array_equal, f.stimuli(SEED, 2), upright))
    others = {canonical(cells).tobytes() for cells in f.stimuli(SEED + 1, 2)}
    assert others != {canonical(cells).tobytes() for cells in upright[:2]}
    with pytest.raises(UsageError, match="1 or more"):
        f.stimuli(SEED, 0)
    # Outlooks are what lines of sight meet.
    for cells in turnable:
        for view in (0, 6, 13, 23):
            turned = f.placed(cells, FigureView("RY", view))
            assert np.array_equal(f.outlook(turned), rays(turned))


def test_views_are_all_turns_and_the_first_four_are_upright(turnable) -> None:
    cells = turnable[0]
    looks = [f.placed(cells, FigureView("N", view)) for view in range(24)]
    assert len({look.tobytes() for look in looks}) == 24
    assert all(same_by_rotation(look, cells) for look in looks)
    heights = sorted(f.normalised(cells)[:, 1])
    assert all(sorted(look[:, 1]) == heights for look in looks[:4])
    for figure in ("RX", "RY", "RZ"):
        mirror = [f.placed(cells, FigureView(figure, view)) for view in range(24)]
        assert {same_by_rotation(look, cells) for look in mirror} == {False}
        assert len({look.tobytes() for look in mirror}) == 24
    upside_down = f.placed(cells, FigureView("RY", 0))[:, 1]
    assert sorted(upside_down.max() - upside_down) == heights


def test_the_renderer_sees_what_we_think(turnable) -> None:
    """Of all that can be shown of a figure, the outlook of what is shown fits its picture: its outline and its tops."""
    cells = turnable[1]
    every = [FigureView(figure, view) for figure in ("N", "RX") for view in range(24)]
    scale = SIZE_PX // f._LINES
    outlooks = {one: np.kron(f.outlook(f.placed(cells, one)), np.ones((scale, scale), int)) for one in every}
    for shown in every[::5]:
        picture = f.picture(cells, shown, SIZE_PX)
        seen = (picture.astype(int) != picture[0, 0]).any(axis=-1)
        tops = seen & (picture[..., 1] > 0.93 * picture[..., 1][seen].max())
        fit = {one: likeness(seen, met > 0) + likeness(tops, met % 3 == 2) for one, met in outlooks.items()}
        assert max(fit, key=fit.__getitem__) == shown
        assert likeness(seen, outlooks[shown] > 0) > 0.75, "but for perspective"


@pytest.mark.parametrize("which", ["upright", "turnable"])
def test_every_block_is_in_sight_of_the_renderer(which: str, request: pytest.FixtureRequest) -> None:
    cells = request.getfixturevalue(which)[4]
    views = f.clear_views(cells, "N", "full" if which == "turnable" else "yaw")
    assert len(views) >= (f.LEAST_VIEWS if which == "turnable" else 4)
    for view in views[:4]:
        laid = f.blueprint_of(f._laid(cells, FigureView("N", view)))
        azimuth_deg = f.AZIMUTH_DEG + 90 * (view % 4)
        plain = camera.picture(laid, azimuth_deg=azimuth_deg, size_px=SIZE_PX)
        assert np.array_equal(plain, f.picture(cells, FigureView("N", view), SIZE_PX))
        for place in np.argwhere(laid.solid):
            blocks = laid.cells.copy()
            blocks[tuple(place)] = 2
            marked = Blueprint(blocks, (f.MATERIAL, "red_concrete"))
            changed = (camera.picture(marked, azimuth_deg=azimuth_deg, size_px=SIZE_PX) != plain).any(axis=-1)
            assert changed.sum() > 20, f"block {place} in view {view}"


def test_mirrors_and_hidden_blocks(upright) -> None:
    # Mirrors along x and z are one another seen from behind.
    for view in range(4):
        behind = FigureView("RZ", (view + 2) % 4)
        assert np.array_equal(f.placed(upright[0], FigureView("RX", view)), f.placed(upright[0], behind))
        assert np.array_equal(f.picture(upright[0], FigureView("RX", view), 64), f.picture(upright[0], behind, 64))
    # A figure that hides a block is not asked about.
    assert is_usable(HIDING)
    assert not f.can_be_shown(HIDING, "yaw")
    assert len(f.clear_views(HIDING, "N", "yaw")) < 4
    # Outlooks differ by the share of faces that changed.
    bare = np.zeros((4, 4), int)
    block = bare.copy()
    block[1:3, 1:3] = [[1, 1], [2, 3]]
    other = np.where(block > 0, block + 3, 0)
    assert f.apart(block, other) == 0, "which block it is cannot be seen, its face can"
    assert f.apart(block, bare) == 1
    other[1, 1] = 2
    assert f.apart(block, other) == 0.25
