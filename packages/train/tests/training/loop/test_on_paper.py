"""What post-training of a brought pipeline would take: of a network of the paper's size, from its description alone."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
for needed in ("diffusers", "transformers", "peft"):
    pytest.importorskip(needed)

from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge.core.io import dumps, read_json_object  # noqa: E402
from worldgauge_train.training import on_paper  # noqa: E402
from worldgauge_train.training.adapt import named_adaptation  # noqa: E402
from worldgauge_train.training.on_paper import networks_on_paper, plan_adaptation  # noqa: E402
from worldgauge_train.training.recipe import changed  # noqa: E402

SIZES = {
    "num_attention_heads": 12, "attention_head_dim": 128, "num_layers": 30, "ffn_dim": 8960, "text_dim": 4096,
    "freq_dim": 256, "in_channels": 36, "out_channels": 16, "patch_size": [1, 2, 2], "cross_attn_norm": True,
}  # fmt: skip
"""Those of SkyReels-V2-I2V-1.3B without its branch for pictures."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index = {
        "_class_name": "SkyReelsV2ImageToVideoPipeline",
        "transformer": ["diffusers", "SkyReelsV2Transformer3DModel"],
        "vae": ["diffusers", "AutoencoderKLWan"],
    }
    told = {
        "model_index.json": index,
        "transformer/config.json": {"_class_name": "SkyReelsV2Transformer3DModel", **SIZES},
        "vae/config.json": {"z_dim": 16, "temperal_downsample": [False, True, True], "base_dim": 96},
    }
    for name, content in told.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dumps(content))
    return tmp_path


def test_the_base_of_the_paper_is_built_without_its_numbers(folder: Path) -> None:
    (net,) = networks_on_paper(folder).values()
    assert {one.device.type for one in net.parameters()} == {"meta"}
    plan = plan_adaptation(named_adaptation("base").with_steps(1), folder)
    assert plan.parameters == plan.trained == pytest.approx(1.42e9, rel=0.01)
    assert plan.held_gb == pytest.approx(20e-9 * plan.parameters)
    # 21 latent frames of 52x30 places: 2 N T + 4 T^2 d L forward, three times that there and back, 8 clips a step.
    tokens = 21 * 52 * 30
    forward = 2 * plan.parameters * tokens + 4 * tokens**2 * 1536 * 30
    assert plan.flops == pytest.approx(8 * 3 * forward)
    assert plan.paper_hours == pytest.approx(3000 * 8 * 3 * forward / 400e12 / 3600)


def test_of_lora_few_weights_are_trained(folder: Path) -> None:
    recipe = changed(named_adaptation("base"), {"weights": "lora", "rank": 32})
    plan = plan_adaptation(recipe, folder)
    # A block: 8 projections of d and the two of its inner layer.
    assert plan.trained == 30 * 32 * (8 * 2 * 1536 + 2 * (1536 + 8960))
    assert plan.held_gb == pytest.approx(20e-9 * plan.trained + 2e-9 * plan.parameters)


def test_a_description_of_no_network_is_one_line(folder: Path) -> None:
    (folder / "transformer" / "config.json").write_text('{"num_layers": "many"}')
    with pytest.raises(DataError, match="transformer: "):
        plan_adaptation(named_adaptation("base"), folder)
    index = folder / "model_index.json"
    index.write_text('{"_class_name": "SkyReelsV2ImageToVideoPipeline"}')
    with pytest.raises(DataError, match="names no network"):
        plan_adaptation(named_adaptation("base"), folder)


def test_an_error_without_words_is_told_by_its_type(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import diffusers

    monkeypatch.setattr(diffusers.SkyReelsV2Transformer3DModel, "from_config", lambda config: _wordless())
    with pytest.raises(DataError, match=r"transformer: ValueError$"):
        networks_on_paper(folder)


def _wordless() -> None:
    raise ValueError


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("vae", {"scale_factor_spatial": "eight"}),
        ("vae", {"scale_factor_spatial": [8]}),
        ("vae", {"temperal_downsample": None}),
        ("transformer", {"patch_size": [1, 2, 2, 1]}),
    ],
)
def test_operations_are_not_told_where_the_description_does_not_tell_enough(
    file: str, change: dict[str, object], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = named_adaptation("base").with_steps(1)
    (net,) = networks_on_paper(folder).values()
    if file == "transformer":  # torch builds none with such patches
        net.register_to_config(**change)
        monkeypatch.setattr(on_paper, "networks_on_paper", lambda folder: {"transformer": net})
    else:
        path = folder / file / "config.json"
        path.write_text(dumps({**read_json_object(path), **change}))
    plan = plan_adaptation(recipe, folder)
    assert plan.flops is None
    assert plan.paper_hours is None
    assert plan.parameters == pytest.approx(1.42e9, rel=0.01)
