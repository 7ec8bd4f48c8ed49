"""Post-training of SVD with World-in-World's ten tensors: its network is theirs, and theirs is read and written."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
for needed in ("diffusers", "transformers", "peft"):
    pytest.importorskip(needed)

from adapters.wiw_svd import open_unet, step_rows  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from support.pipelines import tiny_pipeline  # noqa: E402
from support.wiw_svd import Recorded  # noqa: E402
from worldgauge.core.actions import LOOP_WALK  # noqa: E402
from worldgauge.core.episode import Context  # noqa: E402
from worldgauge.core.errors import DataError, UsageError  # noqa: E402
from worldgauge.core.geometry import Camera  # noqa: E402
from worldgauge.core.model import RolloutRequest, checked_rollout  # noqa: E402
from worldgauge.core.video import Clip  # noqa: E402
from worldgauge.worlds.walking.primitives import NAV_STEPS, as_actions, from_letters  # noqa: E402
from worldgauge_train.models import Adapted  # noqa: E402
from worldgauge_train.nets.brought import open_brought  # noqa: E402
from worldgauge_train.nets.brought_adapter import IDS, Adapter, AdapterShape, load_ids  # noqa: E402
from worldgauge_train.nets.brought_pipelines import Svd  # noqa: E402
from worldgauge_train.training.adapt import Adaptation, named_adaptation  # noqa: E402
from worldgauge_train.training.adapting import adapt, check_fits  # noqa: E402
from worldgauge_train.training.clip import Split, TrainingClip, read_clips, training_sources  # noqa: E402
from worldgauge_train.training.material import read_material  # noqa: E402
from worldgauge_train.training.recipe import changed  # noqa: E402

SMALL = {"size": (32, 32), "batch": 2, "parts": 2, "steps": 2, "learning_rate": 1e-2, "average": 0.5}
RECIPE = changed(named_adaptation("wiw-svd"), SMALL)
PLAN = "FLLRRFFLFRFFL"


@training_sources.register("steps-through-noise")
def steps_through_noise(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Two walks of 14 frames."""
    for number, letters in enumerate((PLAN, "RFFFFLLFRRFLF") if split == "train" else ()):
        rng = np.random.default_rng(number)
        frames = Clip.from_array(rng.integers(0, 256, (14, 32, 32, 3), np.uint8), 5.0)
        poses, camera = np.tile(np.eye(4), (14, 1, 1)), Camera.from_horizontal_fov(32, 32, 90)
        actions = as_actions(from_letters(letters))
        yield TrainingClip(f"{number}", "noise", split, f"d-{number}", frames, actions, poses, camera, None)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny_pipeline("svd", tmp_path_factory.mktemp("base") / "svd")
    config = folder / "unet" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "num_frames": 14}))
    return folder


@pytest.fixture(scope="module")
def made(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    source = [("steps-through-noise", place)]
    texts = {one.id: one for one in read_clips(source).clips}
    return adapt(RECIPE, read_material(source, RECIPE, place), texts, base, place / "out")


def keys_of(letters: str) -> Any:
    """Rows (1, 14, 3) as training has them; none leads to the first frame."""
    return torch.from_numpy(np.concatenate([np.zeros((1, 3), np.float32), as_actions(from_letters(letters)).values]))[
        None
    ]


def test_the_network_that_is_trained_is_the_released_one() -> None:
    recorded = Recorded("navigation")
    unet = recorded.network()
    brought = Svd(SimpleNamespace(unet=unet, components={"unet": unet}))
    adapter = Adapter(brought, AdapterShape("all", columns=3, ids=14))
    recorded.fill(unet)
    steps = recorded.rows[0, 13, 1:].astype(int) - 1
    rows = np.concatenate([np.zeros((1, 3)), np.eye(3)[steps]])
    with torch.no_grad(), adapter.telling(torch.from_numpy(rows)[None].float()):
        np.testing.assert_allclose(unet(**recorded.asked())[0].numpy(), recorded.output, atol=1e-5)
    assert sum(name.startswith(tuple(f"net0.{one}" for one in IDS)) for name in adapter.state_dict()) == 10
    assert not [name for name in adapter.state_dict() if "add_embedding." in name]  # it is not used


def test_what_is_trained_is_a_checkpoint_for_the_adapter(base: Path, made: Path) -> None:
    conditioned, channels, _ = open_unet(made, base)
    assert channels == 14
    adapter = Adapted(str(made), str(base))._adapter
    trained = adapter.brought.nets[0]
    first = Adapter(open_brought(base), adapter.shape, RECIPE.seed).brought.nets[0]
    assert (trained.add_action_proj["proj"].weight - first.add_action_proj["proj"].weight).abs().max() > 1e-3
    given = (torch.randn(1, 14, 8, 16, 16), 0.7, torch.randn(1, 1, 16), torch.tensor([[6, 127, 0.02]]))
    with torch.no_grad():
        conditioned.condition_on(torch.from_numpy(step_rows(as_actions(from_letters(PLAN)))[0])[None])
        here = conditioned.unet(*given).sample
        with adapter.telling(keys_of(PLAN)):
            torch.testing.assert_close(trained(*given).sample, here, atol=1e-5, rtol=1e-5)
        with adapter.telling(keys_of("F" * 13)):
            assert (trained(*given).sample - here).abs().max() > 1e-4


def test_it_is_a_model_whose_surplus_frames_go_forward(base: Path, made: Path) -> None:
    model = Adapted(str(made), str(base), steps=1)
    told: list[Any] = []
    call = model._drawing._call
    object.__setattr__(
        model._drawing, "_call", lambda picture, rows, *more: (told.append(rows), call(picture, rows, *more))[1]
    )
    frames = np.zeros((1, 32, 32, 3), np.uint8)
    context = Context(
        Clip.from_array(frames, 5.0), np.eye(4)[None], as_actions(()), Camera.from_horizontal_fov(32, 32, 90)
    )
    drawn = np.concatenate(
        list(checked_rollout(model, RolloutRequest(context, 2, 5, actions=as_actions(from_letters("LR")))))
    )
    assert drawn.shape == (2, 32, 32, 3)
    assert told[0][:4].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_training_goes_on_from_the_ten_tensors_of_a_base(base: Path, made: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(base, tmp_path / "base")
    shutil.rmtree(whole / "unet")
    shutil.copytree(made / "unet", whole / "unet")
    net = Adapter(open_brought(whole), AdapterShape("all", columns=3, ids=14)).brought.nets[0]
    load_ids(net, whole / "unet")
    wanted = open_unet(made, base)[0].unet.state_dict()
    for name, one in net.state_dict().items():
        assert torch.equal(one, wanted[name]), name
    file = whole / "unet" / "diffusion_pytorch_model.safetensors"
    held = load_file(file)
    save_file({**held, "add_action_proj.proj.weight": torch.zeros(32, 12 * 10)}, file)
    with pytest.raises(DataError, match="weight is of another number of frames"):
        load_ids(net, whole / "unet")


def test_what_has_no_ids(base: Path) -> None:
    brought = open_brought(base)
    check_fits(RECIPE, brought, (NAV_STEPS.name,))
    for change, spaces in (({}, (LOOP_WALK.name,)), ({"told": "both"}, (NAV_STEPS.name,))):
        with pytest.raises(UsageError, match=r"conditioning 'ids' needs SVD.* --set conditioning=injection"):
            check_fits(changed(RECIPE, change), brought, spaces)
    check_fits(changed(RECIPE, {"conditioning": "injection"}), brought, (LOOP_WALK.name,))
    with pytest.raises(UsageError, match="conditioning is 'words'; give injection or ids"):
        Adaptation(conditioning="words")
