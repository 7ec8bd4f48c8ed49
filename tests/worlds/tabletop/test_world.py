"""The table as a world: its facts, what it refuses, and another look for its arm."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.stl import stl
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError, WorldError
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import MOST_TRIANGLES
from worldgauge.worlds.tabletop.simulation import Simulation, front_camera, front_pose


def test_facts_build_it_again_and_tell_it_from_others() -> None:
    facts = Tabletop("slide_block", 1, seed=2).facts
    assert (facts.name, dict(facts.params)) == ("tabletop", {"task": "slide_block", "variation": 1, "seed": 2})
    assert Tabletop("slide_block", 1, seed=2).facts == facts
    others = [Tabletop("slide_block", 1, seed=3), Tabletop("slide_block", 2, seed=2), Tabletop("push_buttons", 1, 2)]
    assert len({facts.digest, *(other.facts.digest for other in others)}) == 4
    assert isinstance(open_world(facts), Tabletop)
    with pytest.raises(WorldError, match="another version"):
        open_world(WorldFacts(facts.name, facts.params, "0" * 64))


def test_its_view_is_that_of_a_table_where_nothing_moved() -> None:
    world = Tabletop("slide_block", 1, seed=2)
    view = world.view(front_pose(), front_camera(64))
    np.testing.assert_array_equal(view.rgb, Simulation(world).front(64))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Tabletop("fold_towel"), UnknownNameError),
        (lambda: Tabletop("slide_block", -1), UsageError),
        (lambda: Tabletop("slide_block", 10_000), UsageError),
        (lambda: Tabletop("slide_block", 0, seed=-1), UsageError),
        (lambda: Tabletop("slide_block", "a"), UsageError),  # type: ignore[arg-type]
        (lambda: Tabletop("slide_block", 1.5), UsageError),  # type: ignore[arg-type]
        (lambda: Tabletop("slide_block", 0, seed=0.5), UsageError),  # type: ignore[arg-type]
    ],
)
def test_a_table_that_there_is_not_is_refused(wrong: Callable[[], Tabletop], error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong()


def test_without_the_engine_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    mujoco.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match="manipulation"):
            Tabletop("slide_block")
    finally:
        mujoco.cache_clear()


def test_meshes_change_the_look_and_not_a_bit_of_the_physics(folder: Path) -> None:
    plain, dressed = (Simulation(Tabletop("stack_cups", 1, 3, meshes=meshes)) for meshes in (None, str(folder)))
    assert (plain.front(96) != dressed.front(96)).any()
    for pose in plain.task.plan(plain)[:3]:
        assert dressed.move(pose) == plain.move(pose)
    view = dressed.view(front_pose(), front_camera(96))
    assert (view.category == dressed.world.categories.index("arm")).any()
    facts = dressed.world.facts
    assert facts.params["meshes"] == str(folder)
    assert isinstance(open_world(facts), Tabletop)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "name a folder"),
        (b"", "no binary STL"),
        (b"solid ascii\n", "no binary STL"),
        (bytes(84), "no binary STL"),
        (bytes(80) + (1).to_bytes(4, "little") + bytes(49), "no binary STL"),
        (bytes(80) + (MOST_TRIANGLES + 1).to_bytes(4, "little") + bytes(50), "at most"),
        (stl(np.full((4, 3, 3), np.nan)), "within 10 m"),
        (stl(np.full((4, 3, 3), 1e9)), "within 10 m"),
        (stl(np.zeros((4, 3, 3))), "cannot be built"),
    ],
)
def test_meshes_that_are_none_are_one_line(folder: Path, content: bytes | None, reason: str) -> None:
    file = folder / "meshes" / "link3.stl"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(WorldError, match=reason) as told:
        Tabletop("stack_cups", meshes=str(folder))
    assert "\n" not in str(told.value)
