"""Stages: what each asks and learns, and in which order they come."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.training_processes import interrupted, material_of, noise_clips  # noqa: E402
from worldgauge.core.errors import RunError, UnknownNameError, UsageError  # noqa: E402
from worldgauge.core.io import loads, read_json_object  # noqa: E402
from worldgauge_train.models import Trained  # noqa: E402
from worldgauge_train.nets.architectures import ClipWindow, architectures, sampling_levels  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors  # noqa: E402
from worldgauge_train.training import stages_distil as distil  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402
from worldgauge_train.training.material import Material  # noqa: E402
from worldgauge_train.training.parents import check_order  # noqa: E402
from worldgauge_train.training.recipe import Recipe, changed  # noqa: E402
from worldgauge_train.training.stages import TRAJECTORIES, ways_of  # noqa: E402
from worldgauge_train.training.stages_distil import looks_of, matching_loss, rolled  # noqa: E402
from worldgauge_train.training.state import MUON_RATE, begin_state  # noqa: E402

TINY = Recipe(
    stage="causal", architecture="causal", size=(16, 8), frames=2, past=2, drawn=3, width=16, depth=1, heads=2,
    window=3, channels=(8,), batch=2, steps=4, warm_up=1, denoising_steps=2, trajectories=4, critic_steps=1,
)  # fmt: skip


@pytest.fixture(scope="module")
def material() -> Material:
    return material_of(noise_clips(3, 20))


@pytest.fixture(scope="module")
def causal(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(TINY, material, tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="module")
def init(material: Material, causal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(changed(TINY, {"stage": "init"}), material, tmp_path_factory.mktemp("init"), parent=causal)


@pytest.mark.parametrize("memory", ["window", "fetched", "state"])
@pytest.mark.parametrize("stage", ["regress", "causal"])
def test_stages_that_begin_from_nothing(stage: str, memory: str, material: Material, tmp_path: Path) -> None:
    folder = train(changed(TINY, {"stage": stage, "memory": memory, "steps": 2}), material, tmp_path)
    model = Trained(str(folder))
    assert model.spec.chunk == 2
    assert model.spec.settings["steps"] == (0 if stage == "regress" else 2)


def test_a_teacher_draws_all_steps_of_a_window_at_once(material: Material, tmp_path: Path) -> None:
    model = Trained(str(train(changed(TINY, {"stage": "teacher"}), material, tmp_path)))
    assert model.spec.chunk == 6
    with pytest.raises(UsageError, match="bidirectional"):
        train(changed(TINY, {"stage": "teacher", "memory": "state"}), material, tmp_path / "none")


def test_a_whole_distillation_and_what_it_says_of_itself(material: Material, init: Path, tmp_path: Path) -> None:
    student = train(changed(TINY, {"stage": "distil"}), material, tmp_path, parent=init)
    config = read_json_object(student / "config.json")
    assert [one["stage"] for one in config["lineage"]] == ["causal", "init"]
    assert config["teacher"] is None
    assert read_json_object(init / "config.json")["teacher"] is not None
    assert Trained(str(student)).spec.settings["steps"] == 2


def test_the_average_of_a_student_counts_its_own_updates(material: Material, init: Path, tmp_path: Path) -> None:
    """Of two steps the first is the critic's: the average has then seen one update, as after one step elsewhere."""
    recipe = changed(TINY, {"stage": "distil", "steps": 2})
    folder = train(recipe, material, tmp_path, parent=init)
    first, last = Trained(str(init))._drawing.net.state_dict(), Trained(str(folder), weights="last")._drawing.net
    assert any(not torch.equal(first[name], value) for name, value in last.state_dict().items())
    (state,) = (folder / "state").glob("*.safetensors")
    found = load_tensors(state, last.state_dict(), "average.")
    for name, value in last.state_dict().items():
        torch.testing.assert_close(found[name], 0.1 * first[name] + 0.9 * value, atol=1e-6, rtol=0)


@pytest.mark.parametrize("stage", ["init", "distil"])
def test_an_interrupted_distillation_ends_in_the_same_weights(
    stage: str, material: Material, causal: Path, init: Path, tmp_path: Path
) -> None:
    parent, recipe = {"init": causal, "distil": init}[stage], changed(TINY, {"stage": stage})
    whole = train(recipe, material, tmp_path / "whole", parent=parent)
    interrupted(3, lambda: train(recipe, material, tmp_path / "again", parent=parent))
    again = train(recipe, material, tmp_path / "again", parent=parent)
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_consistency_needs_no_trajectories(material: Material, causal: Path, tmp_path: Path) -> None:
    folder = train(changed(TINY, {"stage": "init", "init": "consistency"}), material, tmp_path, parent=causal)
    assert not (folder / TRAJECTORIES).exists()


def test_a_student_of_a_teacher_that_looks_both_ways(material: Material, tmp_path: Path) -> None:
    teacher = train(changed(TINY, {"stage": "teacher"}), material, tmp_path / "teacher")
    init = train(changed(TINY, {"stage": "init"}), material, tmp_path / "init", parent=teacher)
    student = train(changed(TINY, {"stage": "distil"}), material, tmp_path / "student", parent=init)
    assert Trained(str(student)).spec.chunk == 2


def test_the_order_of_stages_is_kept(material: Material, causal: Path, tmp_path: Path) -> None:
    for stage, parent, told in (
        ("init", None, "add --from"),
        ("distil", None, "checkpoint of init: add --from"),
        ("distil", causal, "checkpoint of init; .* is one of causal"),
        ("teacher", causal, "checkpoint of teacher"),
    ):
        with pytest.raises(UsageError, match=told):
            train(changed(TINY, {"stage": stage}), material, tmp_path / stage, parent=parent)
    with pytest.raises(UnknownNameError, match="causal"):
        train(changed(TINY, {"stage": "causel"}), material, tmp_path / "none")
    with pytest.raises(UsageError, match=r"tensor 'blocks.0.along.bias' is \(48,\), here \(24,\)"):
        train(changed(TINY, {"stage": "init", "width": 8}), material, tmp_path / "other", parent=causal)


def test_the_order_of_stages_is_checked_without_reading_weights(causal: Path, tmp_path: Path) -> None:
    only = tmp_path / "only"
    only.mkdir()
    (only / "config.json").write_text((causal / "config.json").read_text())
    init, distil, last = (changed(TINY, {"stage": stage}) for stage in ("init", "distil", "causal"))
    check_order([init, distil], only)
    check_order([last, init, distil], None)
    for recipes, folder, because in (
        ([distil], only, "begins from a checkpoint of init; .*only is one of causal"),
        ([init, last], only, "'causal' begins from a checkpoint of .*; the stage before is one of init"),
        ([last, distil], None, "'distil' begins from a checkpoint of init; the stage before is one of causal"),
        ([init], None, "add --from FOLDER"),
    ):
        with pytest.raises(UsageError, match=because):
            check_order(recipes, folder)


def test_another_parent_in_a_folder_is_refused(material: Material, causal: Path, init: Path, tmp_path: Path) -> None:
    other = train(changed(TINY, {"seed": 5}), material, tmp_path / "other")
    with pytest.raises(RunError, match="another checkpoint"):
        train(changed(TINY, {"stage": "init"}), material, init, parent=other)


def test_ways_end_where_euler_steps_end() -> None:
    """Of a teacher that guesses a tenth of what it sees: x0 is known in closed form, step by step."""

    class Tenth(torch.nn.Module):
        shape = architectures.get("conv").shape_read({"columns": 1, "channels": [8], "frames": 1, "past": 1})

        def guesses(self, window: ClipWindow, noisy: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            return 0.1 * noisy

    window = ClipWindow(torch.zeros(2, 3, 3, 4, 4), torch.zeros(2, 3, 1))
    recipe = changed(TINY, {"denoising_steps": 4})
    found = ways_of(Tenth(), window, recipe, torch.Generator().manual_seed(1))  # type: ignore[arg-type]
    levels = sampling_levels(48)
    shares = [0.1 + 0.9 * following / t for t, following in pairwise(levels)]
    assert found.shape == (5, 2, 2, 1, 3, 4, 4)
    for number in range(5):
        torch.testing.assert_close(found[number], found[0] * float(np.prod(shares[: 12 * number])), atol=1e-5, rtol=0)
    assert [levels[12 * number] for number in range(5)] == pytest.approx(sampling_levels(4))


def test_the_gradient_of_distribution_matching_by_hand() -> None:
    """Student N(1, 1), teacher N(0, 1), both known exactly: each sample is moved towards the teacher's mean."""
    x = torch.tensor([[1.5], [0.2]], requires_grad=True)
    t, noise = 0.5, torch.tensor([[0.3], [-0.4]])
    noisy = (1 - t) * x.detach() + t * noise
    share = (1 - t) / ((1 - t) ** 2 + t**2)  # E[x0 | noisy] = mean + share (noisy - (1 - t) mean)
    fake, real = 1 + share * (noisy - (1 - t)), share * noisy
    matching_loss(x, fake, real).sum().backward()
    gap = 1 - share * (1 - t)
    expected = gap / (x.detach() - real).abs()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, expected)
    assert (x.grad > 0).all()


def test_matching_brings_a_gaussian_to_its_teacher() -> None:
    generator = torch.Generator().manual_seed(0)
    mean = torch.tensor([2.0], requires_grad=True)
    optimiser = torch.optim.Adam([mean], lr=0.1)
    for _ in range(150):
        x = mean + torch.randn(64, 1, generator=generator)
        t = 0.02 + 0.96 * torch.rand(64, 1, generator=generator)
        noisy = (1 - t) * x.detach() + t * torch.randn(64, 1, generator=generator)
        share = (1 - t) / ((1 - t) ** 2 + t**2)
        fake, real = (m + share * (noisy - (1 - t) * m) for m in (mean.detach(), torch.zeros(1)))
        optimiser.zero_grad()
        matching_loss(x, fake, real).mean().backward()
        optimiser.step()
    assert abs(float(mean.detach())) < 0.15


@pytest.mark.parametrize("kind", ["conv", "causal"])
def test_a_rollout_has_gradients_through_one_denoising_step(kind: str) -> None:
    architecture = architectures.get(kind)
    settings = {**vars(changed(TINY, {"past": 4})), "memory": "window", "together": 0}
    torch.manual_seed(0)
    net = architecture(architecture.shape_from(settings, columns=3, planes=3, size=(16, 8)))
    window = ClipWindow(torch.rand(2, 10, 3, 8, 16), torch.rand(2, 10, 3))
    drawn = rolled(net, window, sampling_levels(4), torch.Generator().manual_seed(2))
    assert drawn.shape == (2, 3, 2, 3, 8, 16)
    drawn.square().mean().backward()
    grads = [one.grad for one in net.parameters() if one.grad is not None]
    assert any(bool(grad.any()) for grad in grads)
    again = rolled(net, window, sampling_levels(4), torch.Generator().manual_seed(2))
    torch.testing.assert_close(again, drawn)


def test_a_student_that_collapses_is_stopped_and_its_best_weights_are_kept(
    material: Material, init: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distil, "EVERY", 1)
    recipe = changed(TINY, {"stage": "distil", "steps": 60, "learning_rate": 0.9, "average": 0.0, "clip_norm": 100})
    folder = train(recipe, material, tmp_path, parent=init)
    rows = [loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    (stopped,) = [row for row in rows if "stopped" in row]
    assert stopped["step"] < 60
    assert stopped["stopped"].startswith("the student")
    assert read_json_object(folder / "config.json")["steps_done"] == stopped["step"]
    again = Trained(str(folder), weights="last")._drawing.net
    best = Trained(str(folder))._drawing.net
    assert max(float(one.detach().abs().max()) for one in best.parameters()) < 0.9 * max(
        float(one.detach().abs().max()) for one in again.parameters()
    )


def test_muon_turns_matrices_and_adamw_moves_the_rest() -> None:
    net = torch.nn.Linear(6, 4)
    before = {name: value.detach().clone() for name, value in net.named_parameters()}
    recipe = changed(TINY, {"learning_rate": 1e-3, "decay": 0.0})
    state = begin_state(net, recipe, (0.9, 0.99), optimizer="muon")
    assert [group["scale"] for group in state.optimiser.param_groups] == [MUON_RATE, 1.0]
    for group in state.optimiser.param_groups:
        group["lr"] = group["scale"] * recipe.learning_rate
    net(torch.randn(8, 6, generator=torch.Generator().manual_seed(1))).square().sum().backward()
    gradient = net.weight.grad.clone()  # type: ignore[union-attr]
    state.optimiser.step()
    turned = (before["weight"] - net.weight.detach()) / 0.02
    sizes = torch.linalg.svdvals(turned)
    assert 0.6 < float(sizes.min()) <= float(sizes.max()) < 1.3  # all directions alike, whatever the gradient's sizes
    assert float(torch.linalg.svdvals(gradient).max() / torch.linalg.svdvals(gradient).min()) > 2
    u, _, v = torch.linalg.svd(gradient, full_matrices=False)
    assert float(torch.nn.functional.cosine_similarity(turned.flatten(), (u @ v).flatten(), 0)) > 0.95
    moved = before["bias"] - net.bias.detach()
    torch.testing.assert_close(moved.abs(), torch.full((4,), 1e-3), rtol=1e-3, atol=0)  # AdamW's first step


def test_the_running_average_by_hand(material: Material, tmp_path: Path) -> None:
    folder = train(changed(TINY, {"steps": 1}), material, tmp_path)
    torch.manual_seed(TINY.seed)
    last = Trained(str(folder), weights="last")._drawing.net
    first = type(last)(last.shape).state_dict()
    for name, kept in Trained(str(folder))._drawing.net.state_dict().items():
        torch.testing.assert_close(kept, 0.1 * first[name] + 0.9 * last.state_dict()[name], atol=1e-6, rtol=0)


def test_looks_by_hand() -> None:
    truth = torch.rand(1, 2, 2, 3, 16, 20)
    same = looks_of(truth, truth)
    assert (same.detail, same.error) == (pytest.approx(1, abs=1e-5), 0)
    assert looks_of(-truth, truth).detail == pytest.approx(-1, abs=1e-5)
    flat = looks_of(torch.full_like(truth, 0.5), truth)
    assert (flat.energy, flat.detail) == (0, pytest.approx(0, abs=1e-3))
    assert flat.error == pytest.approx(float((truth[:, 0] - 0.5).square().mean()))
