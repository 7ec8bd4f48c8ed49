"""The benchmark of training on a GPU, run on the processor: it measures, says on what, and meets no goal there."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks import gpu_training as benchmark

SMALL = """
stage = "regress"
size = [16, 8]
frames = 2
past = 4
channels = [8]
batch = 2
steps = 4
"""


def test_it_measures_on_the_processor_too_and_says_that_it_did(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    recipe = str(tmp_path / "small.toml")
    found = benchmark.run(device="cpu", recipes=(recipe,), beside=recipe, frames=30)
    assert found["device"] == "CPU"
    assert found["met"] is False
    assert found["recipes"].keys() == {recipe}
    for each in (*found["recipes"][recipe].values(), found["processor"]):
        assert min(each["step_ms"], each["windows_per_s"], each["frames_per_s"], each["memory_gb"]) > 0
        assert "of_peak" not in each, "nobody says how fast this processor is"
    assert "cuda:99" in benchmark.run(device="cuda:99")["not_run"]
