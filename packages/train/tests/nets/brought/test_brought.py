"""Brought pipelines, really built with random weights: hooks tell actions, LoRA learns, the library stays as it is."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
for needed in ("diffusers", "transformers", "peft", "ftfy"):
    pytest.importorskip(needed)

from support.pipelines import tiny_pipeline  # noqa: E402
from worldgauge.core.errors import DataError, UsageError  # noqa: E402
from worldgauge_train.nets.brought import digest_of_pipeline, kind_of, open_brought  # noqa: E402
from worldgauge_train.nets.brought_adapter import Adapter, AdapterShape, grouped, shape_read  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors  # noqa: E402

KINDS = ("wan21", "wan22", "ti2v", "skyreels", "forcing", "ltx", "svd", "cosmos")
SHAPE = AdapterShape(rank=4, alpha=4, columns=3)


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipeline(request.param, tmp_path_factory.mktemp("brought") / request.param)


def clip_of(stride: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    frames = 2 * stride + 1
    return torch.rand(1, frames, 3, 32, 32, generator=generator) * 2 - 1, torch.randn(1, frames, 3, generator=generator)


def loss_of(adapter: Adapter, rows: torch.Tensor | None, pixels: torch.Tensor, seed: int = 0) -> torch.Tensor:
    with adapter.telling(rows):
        return adapter.brought.losses(pixels, ["walk left"], 0.0, torch.Generator().manual_seed(seed)).mean()


def test_what_is_not_trained_is_the_pipeline_itself_and_then_actions_are_learned(folder: Path) -> None:
    brought = open_brought(folder)
    pixels, rows = clip_of(brought.stride)
    with torch.no_grad():
        plain = float(brought.losses(pixels, ["walk left"], 0.0, torch.Generator().manual_seed(0)))
    adapter = Adapter(brought, SHAPE)
    with torch.no_grad():
        assert float(loss_of(adapter, rows, pixels)) == pytest.approx(plain, abs=1e-5)
        assert float(loss_of(adapter, None, pixels)) == pytest.approx(plain, abs=1e-5)
    frozen = {name: value.clone() for name, value in brought.nets[0].named_parameters() if not value.requires_grad}
    optimiser = torch.optim.AdamW(adapter.parameters(), lr=1e-2)
    adapter.train()
    # Where two experts share the levels, both are asked.
    seeds = (0, 0, 0, 0) if len(brought.nets) == 1 else tuple(range(8))
    losses, reached = [], set()
    for seed in seeds:
        optimiser.zero_grad()
        loss = loss_of(adapter, rows, pixels, seed)
        loss.backward()
        reached |= {name for name, one in adapter._named.items() if one.grad is not None and one.grad.abs().sum() > 0}
        optimiser.step()
        losses.append(float(loss))
    assert reached == set(adapter.state_dict())
    if len(brought.nets) == 1:
        assert losses[-1] < losses[0]
    for name, value in brought.nets[0].named_parameters():
        if name in frozen:
            assert torch.equal(value, frozen[name])
    with torch.no_grad():
        assert float(loss_of(adapter, rows, pixels)) != pytest.approx(float(loss_of(adapter, -rows, pixels)), abs=1e-6)


def test_an_action_changes_its_own_frame_most(folder: Path) -> None:
    brought = open_brought(folder)
    adapter = Adapter(brought, SHAPE)
    with torch.no_grad():
        for one in adapter._hooked:
            torch.nn.init.normal_(one.injection.layers[-1].weight, generator=torch.Generator().manual_seed(1))
    pixels, rows = clip_of(brought.stride)
    other = rows.clone()
    other[:, -1] = -other[:, -1]
    given = {}
    for net in brought.nets:
        net.register_forward_hook(lambda module, args, made: given.update(made=made[0]))
    made = []
    for told in (rows, other):
        with torch.no_grad():
            loss_of(adapter, told, pixels)
        made.append(given["made"].float())
    changed = (made[0] - made[1]).abs()
    frames = 3
    if changed.ndim == 3:  # places in a row, frame by frame
        each = changed.reshape(frames, -1).mean(1)
    else:
        axis = 1 if type(brought).__name__ == "Svd" else 2
        each = changed.movedim(axis, 0).reshape(frames, -1).mean(1)
    # The norms of SVD's blocks go over all frames.
    assert each[-1] > (1 if type(brought).__name__ == "Svd" else 3) * each[0]


def test_blocks_that_run_again_are_told_the_same(tmp_path: Path) -> None:
    """Gradient checkpointing runs blocks of SVD again in the backward pass, after the context of `telling`."""
    folder, gradients = tiny_pipeline("svd", tmp_path / "svd"), []
    pixels, rows = clip_of(1)
    for checkpoints in (False, True):
        adapter = Adapter(open_brought(folder), AdapterShape("all", columns=3))
        torch.nn.init.normal_(
            adapter._hooked[0].injection.layers[-1].weight, generator=torch.Generator().manual_seed(1)
        )
        if checkpoints:
            adapter.brought.nets[0].enable_gradient_checkpointing()
        adapter.train()
        loss_of(adapter, rows, pixels).backward()
        gradients.append({name: one.grad for name, one in adapter._named.items() if one.grad is not None})
        with torch.no_grad():  # and a question without rows is told nothing
            assert float(loss_of(adapter, None, pixels)) != pytest.approx(
                float(loss_of(adapter, rows, pixels)), abs=1e-6
            )
    plain, again = gradients
    assert plain.keys() == again.keys()
    for name, one in plain.items():
        torch.testing.assert_close(again[name], one, atol=1e-6, rtol=1e-4)


def test_what_is_learned_is_saved_and_loaded(folder: Path, tmp_path: Path) -> None:
    adapter = Adapter(open_brought(folder), SHAPE)
    with torch.no_grad():
        for number, value in enumerate(adapter.parameters()):
            value.copy_(torch.randn(value.shape, generator=torch.Generator().manual_seed(number)) * 0.1)
    pixels, rows = clip_of(adapter.brought.stride)
    with torch.no_grad():
        wanted = loss_of(adapter, rows, pixels)
    save_tensors(tmp_path / "adapter.safetensors", adapter.state_dict())
    again = Adapter(open_brought(folder), SHAPE, seed=9)
    again.load_state_dict(load_tensors(tmp_path / "adapter.safetensors", again.state_dict()))
    with torch.no_grad():
        assert torch.equal(loss_of(again, rows, pixels), wanted)


def test_rows_of_latent_frames_by_hand() -> None:
    rows = torch.arange(9.0)[None, :, None]
    assert grouped(rows, 4)[0].tolist() == [[0, 0, 0, 0], [1, 2, 3, 4], [5, 6, 7, 8]]
    assert grouped(rows, 1)[0, :, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.fixture(scope="module")
def wan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipeline("ti2v", tmp_path_factory.mktemp("wan") / "wan")


class TestFolders:
    def test_no_pipeline(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"holds no model_index\.json"):
            kind_of(tmp_path)
        (tmp_path / "model_index.json").write_text('{"_class_name": "FluxPipeline"}')
        with pytest.raises(UsageError, match=r"is a FluxPipeline; those that can be post-trained are .*WanPipeline"):
            kind_of(tmp_path)

    def test_code_that_comes_with_weights_is_not_run(self, wan: Path, tmp_path: Path) -> None:
        index = json.loads((wan / "model_index.json").read_text())
        (tmp_path / "model_index.json").write_text(json.dumps({**index, "vae": ["own", "Own"]}))
        with pytest.raises(DataError, match="vae brings code of its own"):
            kind_of(tmp_path)

    def test_a_damaged_one_is_one_line(self, wan: Path, tmp_path: Path) -> None:
        (tmp_path / "model_index.json").write_text((wan / "model_index.json").read_text())
        with pytest.raises(DataError) as raised:
            open_brought(tmp_path)
        assert "\n" not in str(raised.value)

    def test_the_digest_is_of_contents(self, wan: Path) -> None:
        before = digest_of_pipeline(wan)
        (wan / "README.md").write_text("notes")
        assert digest_of_pipeline(wan) == before
        (wan / "more.json").write_text("{}")
        assert digest_of_pipeline(wan) != before
        (wan / "more.json").unlink()

    def test_words_alone_are_no_image_to_video(self, tmp_path: Path) -> None:
        folder = tiny_pipeline("ti2v", tmp_path / "words")
        index = folder / "model_index.json"
        index.write_text(index.read_text().replace('"expand_timesteps": true', '"expand_timesteps": false'))
        with pytest.raises(UsageError, match="conditioned on text only"):
            open_brought(folder)


@pytest.mark.parametrize(
    ("told", "because"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"weights": "some"}, "weights is 'some'"),
        ({"targets": ["qq"]}, "no layer 'qq'"),
        ({"columns": 10**9}, "columns is 1000000000"),
        ({"more": 1}, "more"),
        ({"targets": None}, "NoneType"),
    ],
)
def test_shapes_that_cannot_be(told: dict[str, object], because: str) -> None:
    whole = {"weights": "lora", "rank": 4, "alpha": 4, "targets": ["q"], "columns": 3}
    assert shape_read(whole, "here").rank == 4
    with pytest.raises(DataError, match=because):
        shape_read({**whole, **told}, "here")


def test_v_of_svd_by_hand() -> None:
    """x0 found back from v and x: c_skip x + c_out v, as the pipeline's scheduler has it."""
    rng = np.random.default_rng(0)
    x0, noise, sigma = rng.normal(size=5), rng.normal(size=5), 1.7
    x, v = x0 + sigma * noise, (noise - sigma * x0) / np.sqrt(sigma**2 + 1)
    np.testing.assert_allclose(x / (sigma**2 + 1) - v * sigma / np.sqrt(sigma**2 + 1), x0, atol=1e-12)


def test_all_weights_of_a_network(tmp_path: Path) -> None:
    adapter = Adapter(open_brought(tiny_pipeline("svd", tmp_path / "svd")), AdapterShape("all", columns=3))
    net = adapter.brought.nets[0]
    assert {name for name in adapter.state_dict() if name.startswith("net0.")} == {
        f"net0.{name}" for name, _ in net.named_parameters()
    }
    pixels, rows = clip_of(1)
    optimiser = torch.optim.AdamW(adapter.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = loss_of(adapter, rows, pixels)
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
    assert losses[2] < losses[0]


@pytest.mark.parametrize("kind", ["ti2v", "ltx"])
def test_in_bfloat16_what_is_learned_stays_float32(kind: str, tmp_path: Path) -> None:
    adapter = Adapter(open_brought(tiny_pipeline(kind, tmp_path / kind), half=True), SHAPE)
    assert {value.dtype for value in adapter.state_dict().values()} == {torch.float32}
    assert adapter.brought.nets[0].proj_out.weight.dtype == torch.bfloat16
    assert next(adapter.brought.pipe.vae.parameters()).dtype == torch.float32
    pixels, rows = clip_of(adapter.brought.stride)
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(adapter, rows, pixels)
    loss.backward()
    assert any(one.grad is not None and one.grad.abs().sum() > 0 for one in adapter.parameters())
