"""One training that must learn: a small network on walks that are drawn here, asked in worlds that it has not seen."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from worldgauge.models.baselines.tiny import mirror_of, row_width  # noqa: E402
from worldgauge_train.training.log import read_log  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402
from worldgauge_train.training.material import Material, read_validation  # noqa: E402
from worldgauge_train.training.recipe import changed, named_recipe  # noqa: E402
from worldgauge_train.training.validation import Validation, opposite_of  # noqa: E402
from worldgauge_train.training.walks import WalkRing  # noqa: E402


@pytest.mark.timeout(1800)  # two minutes of a core, which others may want
@pytest.mark.slow
def test_a_small_network_obeys_and_sees_more_than_a_frozen_picture(tmp_path: Path) -> None:
    recipe = changed(named_recipe("mind-tiny"), {"steps": 300})
    ring = WalkRing("walks?frames=96", recipe.seed, recipe.size, recipe.told, 0)
    space = ring.source.space
    clips = [ring.first_of_world(number) for number in range(16)]
    mirror = mirror_of(space, recipe.told)
    material = Material(clips, (space.name,), row_width(space, recipe.told), mirror, ring.source.fps, space)
    asked = read_validation("walks?frames=96", recipe, tmp_path / "cache", count=16).clips
    assert not {one.scene for one in asked} & {one.scene for one in clips}
    validation = Validation(asked, ring.source.fps, opposite_of(space, recipe.told))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        folder = train(recipe, material, tmp_path / "out", validation=validation)
    finally:
        torch.set_num_threads(threads)
    row = read_log(folder)[-1]
    assert row["mse_1s"] < 0.8 * row["freeze_mse_1s"]
    assert row["detail_1s"] > row["freeze_detail_1s"]
    assert row["turn_sign"] >= 0.95
    assert row["turn_pairs"] >= 3
    assert row["gain_db"] > 0.5
