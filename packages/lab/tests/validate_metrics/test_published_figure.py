import json

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.engine.collect import collect
from worldgauge.perception.instances import CATEGORIES, instances_from_labels
from worldgauge_lab.validate_metrics.perturbations import PERTURBATIONS
from worldgauge_lab.validate_metrics.published_figure import PublishedBar, check_bounds, run_published_study
from worldgauge_lab.validate_metrics.samples import draw_scene


@pytest.fixture(scope="module")
def drawn():
    return run_published_study(scenes=20, segmenter="exact")


def test_by_default_it_tests_what_scores_models():
    found = run_published_study(scenes=6)
    assert (found.segmenter, found.source) == ("balanced", "6 views of embedded villages, 320x180")
    assert found.mean("sgcs", "truth") == 1 > found.mean("sgcs", "colour") > found.mean("sgcs", "deletion")
    by_colour = run_published_study(scenes=6, segmenter="colour")
    assert by_colour.mean("sgcs", "colour") < found.mean("sgcs", "colour") - 0.1
    assert not found.accepted
    assert "SGCS under colour" in found.reasons[1]


def test_drawn_scenes_are_accepted(drawn):
    assert drawn.accepted, drawn.reasons
    assert [drawn.mean("sgcs", p) for p in ("truth", "colour")] == [1.0, 1.0]
    assert drawn.mean("sgcs", "swap") < drawn.mean("sgcs", "deletion") < 0.92
    assert all(bar.n == 20 for bar in drawn.bars if bar.metric != "sim-lpips")


def test_pixel_metric_ranks_them_the_other_way_round(drawn):
    assert min(drawn.mean("ssim", p) for p in ("deletion", "swap")) > max(
        drawn.mean("ssim", p) for p in ("translation", "rotation", "scaling")
    )


def test_missing_lpips_is_missing_not_zero(drawn):
    bars = [bar for bar in drawn.bars if bar.metric == "sim-lpips"]
    assert [bar.perturbation for bar in bars] == list(PERTURBATIONS)
    assert all(bar.mean is None and bar.n == 0 and "weights" in bar.reason for bar in bars)


def test_result_is_plain_json_and_prints(drawn):
    assert json.loads(json.dumps(drawn.to_json(), allow_nan=False))["accepted"] is True
    assert "accepted" in drawn.table()
    assert "1.000 +- 0.000 (20)" in drawn.table()


def test_given_lpips_is_used_and_few_scenes_are_not_enough():
    found = run_published_study(
        scenes=2, seed=5, segmenter="exact", lpips=lambda a, b: float(np.abs(a.astype(int) - b).mean() / 255)
    )
    assert found.mean("sim-lpips", "truth") == 1.0 > found.mean("sim-lpips", "translation")
    assert not found.accepted
    assert "2 scenes" in found.reasons[0]


def bars(**means):
    good = {"deletion": 0.8, "swap": 0.6}
    ssim = {"translation": 0.5, "rotation": 0.5, "scaling": 0.5}
    rows = [PublishedBar("sgcs", p, means.get(p, good.get(p, 1.0)), 0.0, 20) for p in PERTURBATIONS]
    return rows + [PublishedBar("ssim", p, means.get(f"ssim_{p}", ssim.get(p, 0.9)), 0.0, 20) for p in PERTURBATIONS]


@pytest.mark.parametrize(
    ("means", "word"),
    [
        ({"scaling": 0.97}, "scaling"),
        ({"deletion": 0.93}, "deletion"),
        ({"swap": 0.86}, "swap"),
        ({"swap": None}, "swap"),
        ({"ssim_swap": 0.4}, "SSIM under swap"),
        ({"ssim_rotation": None}, "rotation"),
    ],
)
def test_every_bound_can_be_broken(means, word):
    assert check_bounds(bars()) == ()
    broken = check_bounds(bars(**means))
    assert broken
    assert all(word in reason for reason in broken)


def test_scenes_are_as_specified_and_seeded():
    for seed in range(5):
        scene = draw_scene(seed)
        assert all(np.array_equal(*pair) for pair in zip(scene, draw_scene(seed), strict=True))
        assert scene.rgb.shape == (360, 640, 3)
        assert (scene.category > 0).all()
        found = {k: len(v) for k, v in instances_from_labels(scene.category, scene.instance).items()}
        assert found["sky"] == found["grass"] == found["path"] == 1
        assert 1 <= found["building"] <= 4
        assert found["flower"] <= 8
        assert found["tree"] <= 6
        horizon = np.flatnonzero(scene.category[:, 0] == CATEGORIES.index("sky") + 1)
        assert horizon[0] == 0
    assert not np.array_equal(draw_scene(0).rgb, draw_scene(1).rgb)


def test_recordings(tmp_path):
    with pytest.raises(DataError, match="ABA"):
        run_published_study(tmp_path)
    collect("loopnav", tmp_path / "data", settlements=1, ranges=[5], types=["ABA"], per_combination=1, size=(160, 90))
    exact = run_published_study(tmp_path / "data", segmenter="exact")
    assert exact.mean("sgcs", "truth") == exact.mean("sgcs", "colour") == 1.0
    assert exact.mean("sgcs", "translation") > 0.95 > exact.mean("sgcs", "deletion")
    assert exact.bars[0].n == 1
    assert "1 recordings" in exact.source
    colour = run_published_study(tmp_path / "data", segmenter="colour")
    assert colour.mean("sgcs", "truth") == 1.0
    assert colour.mean("sgcs", "translation") > colour.mean("sgcs", "swap")
    (tmp_path / "data" / "worldgauge.json").unlink()
    with pytest.raises(DataError, match="--segmenter balanced"):
        run_published_study(tmp_path / "data", segmenter="exact")
