"""Walks that are drawn while training: the same clips by any number of workers, worlds of their split."""

import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge_train.training.walks import PER_WORLD, WalkRing, walks_of

FEW = "walks?families=urban&frames=24"


def ring(workers: int, seed: int = 3) -> WalkRing:
    return WalkRing(FEW, seed, (32, 18), workers=workers, frames=6 * 24, renewed=0.5)


def test_any_number_of_workers_draws_the_same_clips() -> None:
    alone, two = ring(0), ring(2)
    try:
        for step in (0, 5):
            here, there = alone.clips_at(step), two.clips_at(step)
            assert [one.id for one in here] == [one.id for one in there]
            assert len(here) == 6
            for one, other in zip(here, there, strict=True):
                np.testing.assert_array_equal(one.frames, other.frames)
                np.testing.assert_array_equal(one.rows, other.rows)
        assert alone.clips_at(5)[0].id == "walks/0000002"  # 6 + 5 / 2 clips were drawn, 6 are held
        late = ring(0).clips_at(5)
        assert [one.frames.sum() for one in late] == [one.frames.sum() for one in alone.clips_at(5)]
    finally:
        two.close()


def test_clips_share_worlds_and_splits_none() -> None:
    first = ring(0).clips_at(0)
    assert len({one.scene for one in first[:PER_WORLD]}) == 1
    assert first[0].scene != first[PER_WORLD].scene
    assert not np.array_equal(first[0].frames, first[1].frames)
    validated = WalkRing(FEW, 3, (32, 18), split="val").first_of_world(0)
    assert validated.scene not in {one.scene for one in first}


def test_settings_are_checked() -> None:
    assert walks_of("walks").frames == 216
    with pytest.raises(UnknownNameError, match="Did you mean 'walks'"):
        walks_of("walkz")
    with pytest.raises(UnknownNameError, match="Did you mean 'families'"):
        walks_of("walks?family=urban")
    with pytest.raises(UsageError, match=r"[Dd]id you mean 'urban'"):
        walks_of("walks?families=urbn")
    with pytest.raises(UsageError, match="settings look like"):
        walks_of("walks?nothing")
