import json
import math
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.errors import DataError, MissingExtraError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.intervals import correlation
from worldgauge.engine.collect import collect
from worldgauge.metrics import metrics
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.weights import catalogue
from worldgauge_lab.validate_metrics import conclusions, metric_study, tables
from worldgauge_lab.validate_metrics import metric_adapters as learned
from worldgauge_lab.validate_metrics.metric_adapters import PSNR_MOST_DB, WEIGHTLESS
from worldgauge_lab.validate_metrics.perturbations import PERTURBATIONS
from worldgauge_lab.validate_metrics.results import (
    CHANGE,
    JPEG_QUALITY,
    KEEP,
    STRENGTHS,
    Selectivity,
    curves_of,
    selectivity_of,
    severity_scales,
    steps_m,
)
from worldgauge_lab.validate_metrics.samples import Shot, TruthSample, draw_samples, read_samples

FEW = ("sgcs", "sgcs_objects", "ssim_320x180", "psnr", "mse", "sharpness", "lpips_alex", "sgcs_sam3")


@pytest.fixture(scope="module", autouse=True)
def no_weights(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path_factory.mktemp("weights")))
        yield


@pytest.fixture(scope="module")
def study():
    return metric_study(scenes=5, names=FEW)


def flat(study):
    return json.dumps(study.to_json(), allow_nan=False, sort_keys=True)


# What came of it -------------------------------------------------------------------------------------------


def test_sgcs_sees_what_changes_the_scene_and_ssim_what_does_not(study):
    sgcs, ssim = study.row("sgcs"), study.row("ssim_320x180")
    for name in KEEP:
        assert abs(sgcs.curves[name].usual.response.mean) < 0.02
    assert sgcs.curves["deletion"].usual.response.low > 0.3
    assert ssim.curves["translation"].usual.response.low > ssim.curves["thing_loss"].usual.response.high
    assert sgcs.selectivity.low > 0.9 > 0.6 > ssim.selectivity.high
    assert ssim.selectivity_of_things.high < ssim.selectivity.low


def test_tolerance_of_sgcs_shows_as_a_step_of_its_curve(study):
    curve = study.row("sgcs").curves["translation"]
    by_strength = {dose.strength: dose.response.mean for dose in curve.doses}
    assert by_strength[2.0] < 0.05 < 0.3 < by_strength[4.0]  # 0.16 of the diagonal is beyond tau, 0.08 is not
    assert study.row("mse").curves["noise"].monotonicity.mean == pytest.approx(1.0)
    assert study.row("mse").curves["noise"].first_seen == 0.25


def test_exact_masks_are_told_to_be_blind_to_what_only_changes_pictures(study):
    blind = {name for name, curve in study.row("sgcs").curves.items() if curve.blind}
    assert blind == {"colour", "noise", "blur", "jpeg"}
    for name in blind:
        assert {dose.response.mean for dose in study.row("sgcs").curves[name].doses} == {0.0}
        assert study.row("sgcs").curves[name].first_seen is None
    assert not any(curve.blind for curve in study.row("ssim_320x180").curves.values())


def test_noise_is_rated_as_sharper_than_the_truth(study):
    assert study.row("sharpness").curves["noise"].usual.response.high < 0
    assert study.row("sharpness").alone
    assert any("sharpness" in said and "above the truth" in said for said in conclusions(study))


def test_absent_weights_are_rows_with_the_command(study):
    for name, network in (("lpips_alex", "lpips-alex"), ("sgcs_sam3", "sam3")):
        row = study.row(name)
        assert not row.curves
        assert row.unit is None
        assert f"worldgauge weights pull {network}" in row.reason
        assert row.reason in tables(study)
    assert len(study.measured) == len(FEW) - 2


def test_every_dose_counts_what_it_skipped(study):
    curve = study.row("psnr").curves["thing_swap"]
    assert all(dose.response.n + dose.skipped == 5 for dose in curve.doses)
    assert curve.doses[-1].skipped >= 1  # four pairs are eight objects: not every scene has them
    assert [dose.strength for dose in curve.doses] == [1.0, 2.0, 4.0]


def test_json_and_tables(study):
    plain = json.loads(flat(study))
    assert plain["frames"] == plain["units"] == 5
    assert [row["metric"] for row in plain["metrics"]] == [row.metric for row in study.rows]
    sgcs = plain["metrics"][0]
    assert sgcs["selectivity"]["n"] == 5
    assert sgcs["selectivity_of_things"].keys() >= {"share", "ratio", "ratio_low", "ratio_high"}
    text = tables(study)
    assert "blind" in text
    assert f"n = {study.units}" in text
    assert all(column.name in text for column in study.columns)


@pytest.mark.slow
def test_same_seed_same_bytes_and_progress_is_told():
    told = []
    first = metric_study(scenes=2, names=["mse"], progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    assert flat(metric_study(scenes=2, names=["mse"])) == flat(first)
    assert flat(metric_study(scenes=2, names=["mse"], seed=1)) != flat(first)


def test_what_cannot_be_meant():
    with pytest.raises(UnknownNameError, match="ssim_tabel"):
        metric_study(names=["ssim_tabel"])
    with pytest.raises(UnknownNameError, match="psnr"):
        metric_study(names=["psnr"], networks={"psnr": "cmd:true"})
    with pytest.raises(UsageError, match="two or more"):
        metric_study(scenes=1)


# Numbers ---------------------------------------------------------------------------------------------------


def test_response_is_the_mean_over_units_not_over_frames():
    drops = {"noise": {1.0: np.array([1.0, 1.0, 1.0, 4.0])}}
    dose = curves_of(drops, ["a", "a", "a", "b"], frozenset())["noise"].usual
    assert dose.response.mean == 2.5
    assert dose.response.n == 2
    assert dose.response.low < 2.5 < dose.response.high


def test_missing_values_are_left_out_and_counted():
    drops = {"noise": {1.0: np.array([1.0, np.nan, 3.0]), 2.0: np.array([np.nan] * 3)}}
    curve = curves_of(drops, ["a", "b", "c"], frozenset())["noise"]
    assert (curve.usual.response.mean, curve.usual.response.n, curve.usual.skipped) == (2.0, 2, 1)
    assert curve.doses[1].response == (None, None, None, 0)
    assert curve.doses[1].skipped == 3
    assert curve.monotonicity.n == 0  # two points a frame are no curve


def test_monotonicity_is_spearmans_coefficient():
    values = [0.3, 0.1, 0.7, 0.7, 0.5]
    drops = {"noise": {s: np.array([v, 0.0]) for s, v in zip(STRENGTHS, values, strict=True)}}
    curve = curves_of(drops, ["a", "a"], frozenset())["noise"]
    expected = correlation([0.0, *STRENGTHS], [0.0, *values], rng=np.random.default_rng(0), n=50).spearman
    assert curve.monotonicity.mean == pytest.approx((expected + 0.0) / 2)  # a flat curve has none


def test_first_seen_is_the_weakest_whose_interval_leaves_out_zero():
    faint, clear = np.array([1.0, -1.0, 1.0, -1.0, 0.5, -0.5]), np.full(6, 0.2) + np.arange(6) / 100
    drops = {"noise": {0.25: faint, 0.5: clear, 1.0: faint}}
    assert curves_of(drops, list("abcdef"), frozenset())["noise"].first_seen == 0.5


def test_selectivity_by_hand():
    def drops(change, harmless, n=6):
        return {
            name: {1.0: np.full(n, value)} for names, value in ((CHANGE, change), (KEEP, harmless)) for name in names
        }

    found = selectivity_of(drops(0.6, -0.2), list("abcdef"))
    assert found == pytest.approx((0.75, 0.75, 0.75, 6))  # a size, whichever way it goes
    assert Selectivity.ratio(found.share) == pytest.approx(3.0)
    assert Selectivity.ratio(selectivity_of(drops(1.0, 0.0), list("abcdef")).share) == math.inf
    assert selectivity_of(drops(0.0, 0.0), list("abcdef")) is None
    assert selectivity_of(drops(np.nan, 1.0), list("abcdef")) is None
    assert selectivity_of(drops(1.0, 1.0, 2), list("ab")).low is None


# What is done to frames ------------------------------------------------------------------------------------


def test_usual_doses_are_the_papers():
    shot = draw_samples(1, 3).shot(0)
    usual = {
        ladder.name: ladder.apply(TruthSample(0, shot), 1.0)
        for ladder in severity_scales(0)
        if ladder.name in PERTURBATIONS
    }
    assert len(usual) == 6
    for name, got in usual.items():
        rgb, labels = PERTURBATIONS[name](*shot)
        assert np.array_equal(got.rgb, rgb), name
        assert all(np.array_equal(*pair) for pair in zip(got.labels, labels, strict=True))


def test_degradations_keep_labels_and_grow():
    shot = draw_samples(1, 0).shot(0)
    for ladder in severity_scales(0):
        if not ladder.keeps_labels:
            continue
        errors = []
        for strength in ladder.strengths:
            changed = ladder.apply(TruthSample(0, shot), strength)
            assert changed.labels is shot.labels
            assert changed.rgb.dtype == np.uint8
            errors.append(np.abs(changed.rgb.astype(int) - shot.rgb).mean())
        assert errors == sorted(errors), ladder.name
    assert sorted(JPEG_QUALITY.values(), reverse=True) == [JPEG_QUALITY[s] for s in STRENGTHS]


def test_noise_is_of_the_seed_and_of_the_frame():
    shot = Shot(np.full((40, 60, 3), 128, np.uint8), draw_samples(1, 0).shot(0).labels)

    def noise(seed, number):
        (ladder,) = [ladder for ladder in severity_scales(seed) if ladder.name == "noise"]
        return ladder.apply(TruthSample(number, shot), 1.0).rgb

    assert np.array_equal(noise(0, 0), noise(0, 0))
    assert not np.array_equal(noise(0, 0), noise(0, 1))
    assert not np.array_equal(noise(0, 0), noise(1, 0))
    assert noise(0, 0).std() == pytest.approx(10, rel=0.05)


# What judges them ------------------------------------------------------------------------------------------


def test_every_gauge_scores_what_it_names_and_knows_a_direction():
    samples = draw_samples(2, 0)
    truth, other = samples.shot(0), samples.shot(1)
    for gauge in WEIGHTLESS:
        assert all(metrics.entry(name).facts["better"] for name in gauge.metrics.values())
        if "sgcs_balanced" in gauge.metrics:
            with pytest.raises(NotApplicableError, match="synthetic scenes"):
                gauge.open(samples)
            continue
        found = gauge.open(samples)(truth, [truth, other])
        assert found.keys() == gauge.metrics.keys()
        assert all(len(values) == 2 for values in found.values())
    assert pytest.approx(20 * math.log10(255), abs=1e-4) == PSNR_MOST_DB


class FakePerception:
    """Half the mean difference as LPIPS, rows and their number written down."""

    def __init__(self):
        self.asked = []

    def distances(self, x, y):
        assert x.dtype == y.dtype == np.float32
        assert x.min() >= 0
        assert x.max() <= 1
        self.asked.append(len(x))
        return np.abs(x - y).mean((1, 2, 3)).astype(np.float64) / 2

    def tokens(self, frames):
        assert frames.shape[1:] == (720, 1280, 3)
        self.asked.append(len(frames))
        return frames[:, :7, :4, 0] + 0.1

    def scores(self, frames):
        assert frames.shape[1:] == (720, 1280, 3)
        return frames.mean((1, 2, 3)).astype(np.float64)


@pytest.mark.parametrize(("name", "ceiling"), [("lpips_vgg", 0.0), ("dino_mse", 0.0), ("imaging", None)])
def test_learned_metrics_join_through_perception(monkeypatch, name, ceiling):
    fake, asked = FakePerception(), []
    monkeypatch.setattr(learned, "open_perception", lambda text, what: asked.append((text, what)) or fake)
    (gauge,) = [gauge for gauge in learned.learned_adapters({"lpips_vgg": "cmd:mine"}) if name in gauge.metrics]
    samples = draw_samples(2, 0)
    truth, other = samples.shot(0), samples.shot(1)
    values = gauge.open(samples)(truth, [truth] + [other] * 12)[name]
    assert len(values) == 13
    assert values[0] == ceiling or gauge.alone
    assert len(set(values[1:])) == 1 != values[0]
    assert max(fake.asked, default=0) <= 10
    assert asked[0][0] == {"lpips_vgg": "cmd:mine", "dino_mse": "dinov3-b16", "imaging": "musiq-spaq"}[name]


def test_learned_metric_goes_through_the_whole_study(monkeypatch):
    monkeypatch.setattr(learned, "open_perception", lambda text, what: FakePerception())
    row = metric_study(scenes=2, names=["lpips_alex"]).row("lpips_alex")
    assert row.better == "lower"
    assert row.curves["noise"].usual.response.mean > 0
    assert row.curves["noise"].monotonicity.mean == pytest.approx(1.0)


def test_torch_that_is_not_here_is_a_reason_too(monkeypatch):
    def missing(text, what):
        raise MissingExtraError("a network", "torch")

    monkeypatch.setattr(learned, "open_perception", missing)
    row = metric_study(scenes=2, names=["lpips_alex"]).row("lpips_alex")
    assert "torch" in row.reason


def test_real_network_with_random_weights_joins_as_a_user_would_have_it(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    rng = np.random.default_rng(0)
    trunk, heads, channels = {}, {}, 3
    for place, (index, kernel) in enumerate(((0, 11), (3, 5), (6, 3), (8, 3), (10, 3))):
        shape = (4, channels, kernel, kernel)
        values = rng.normal(0, (2 / np.prod(shape[1:])) ** 0.5, shape).astype(np.float32)
        trunk |= {f"features.{index}.weight": torch.from_numpy(values), f"features.{index}.bias": torch.zeros(4)}
        heads[f"lin{place}.model.1.weight"] = torch.from_numpy(rng.random((1, 4, 1, 1)).astype(np.float32))
        channels = 4
    known = catalogue["lpips-alex"]
    unpublished = tuple(replace(file, bytes=None, sha256="") for file in known.files)
    monkeypatch.setitem(catalogue, "lpips-alex", replace(known, files=unpublished))
    folder = tmp_path / "weights" / "lpips-alex"
    folder.mkdir(parents=True)
    for file, tensors in zip(known.files, (trunk, heads), strict=True):
        torch.save(tensors, folder / file.name)
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(folder.parent))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    row = metric_study(scenes=2, names=["lpips_alex"]).row("lpips_alex")
    assert row.reason is None
    assert row.curves["noise"].usual.response.mean > 0
    assert row.curves["noise"].monotonicity.mean > 0.8


# Recordings ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_recordings(tmp_path):
    with pytest.raises(DataError, match="no valid recording"):
        read_samples(tmp_path, 4)
    data = tmp_path / "data"
    collect("loopnav", data, settlements=2, ranges=[5], types=["ABA"], per_combination=1, size=(160, 90))
    samples = read_samples(data, 4)
    assert len(samples) == 4
    assert len(set(samples.units)) == 2
    sample = samples.sample(1, steps_m())
    assert list(sample.aside) == list(steps_m())
    filmed = loopnav.load(next(t for t in loopnav.discover(data) if t.id == samples.units[0])).clip[0]
    assert np.abs(filmed.astype(int) - samples.shot(0).rgb).mean() < 6  # the same view, without the file's losses
    found = metric_study(data, scenes=4, names=["sgcs", "sgcs_balanced", "mse"])
    assert (found.n, found.units) == (4, 2)
    assert all(column.reason is None for column in found.columns)
    step = found.row("mse").curves["step_aside"]
    assert step.usual.response.n == 2
    assert step.monotonicity.mean > 0.5
    assert not found.row("sgcs_balanced").curves["noise"].blind
    (data / "worldgauge.json").unlink()
    without = metric_study(data, scenes=4, names=["sgcs", "sgcs_balanced"])
    assert "without their worlds" in without.row("sgcs").reason
    assert without.row("sgcs_balanced").curves["deletion"].usual.response.mean is not None
    assert without.columns[-1].reason is not None
