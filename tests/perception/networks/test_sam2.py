"""SAM 2 with tiny random weights in the published file format: boxes, memory over a clip, masks, refusals."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")

from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks._pretrained import IMAGENET, shown  # noqa: E402
from worldgauge.perception.networks.segmentation import Sam2  # noqa: E402

SIDE = 64
BOX = (10, 8, 40, 30)


def tiny_config() -> Any:
    backbone = {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": 8,
        "image_size": [SIDE, SIDE],
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2],
        "window_size_per_stage": [4, 4, 4, 4],
        "global_attention_blocks": [3],
        "window_positional_embedding_background_size": [2, 2],
    }
    vision = {
        "model_type": "sam2_vision_model",
        "backbone_config": backbone,
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[SIDE // 4] * 2, [SIDE // 8] * 2, [SIDE // 16] * 2],
        "fpn_hidden_size": 128,
    }
    return transformers.Sam2VideoConfig(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 128, "image_size": SIDE},
        mask_decoder_config={"hidden_size": 128, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 32},
        image_size=SIDE,
        memory_attention_hidden_size=128,
        memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=64,
        memory_attention_rope_feat_sizes=[SIDE // 16] * 2,
        memory_encoder_hidden_size=128,
        mask_downsampler_embed_dim=128,
        memory_fuser_num_layers=1,
        memory_fuser_embed_dim=128,
        memory_fuser_intermediate_dim=64,
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sam2")
    torch.manual_seed(3)
    model = transformers.Sam2VideoModel(tiny_config())
    for name, tensor in model.named_parameters():  # the published start would hide the object at once
        torch.nn.init.normal_(tensor, std=0.6 if "memory" in name or "pointer" in name else 0.1)
        if name.endswith("pred_obj_score_head.proj_out.bias"):
            torch.nn.init.constant_(tensor, 5.0)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def network(published: Path) -> Sam2:
    return Sam2(published, choose_device("cpu"))


@pytest.fixture(scope="module")
def frames() -> Any:
    return np.random.default_rng(2).integers(0, 256, (20, 36, 80, 3), np.uint8)


def test_masks_are_those_of_the_model_asked_directly_with_the_whole_clip(
    published: Path, network: Sam2, frames: Any
) -> None:
    """20 frames: more than the 16 that are kept."""
    model = transformers.Sam2VideoModel.from_pretrained(published, local_files_only=True).eval()
    video = torch.cat([shown(frame, SIDE, SIDE, *IMAGENET, choose_device("cpu")) for frame in frames])
    session = transformers.Sam2VideoInferenceSession(video, 36, 80, dtype=torch.float32)
    corners = torch.tensor(BOX, dtype=torch.float32).view(1, 1, 2, 2) * torch.tensor([SIDE / 80, SIDE / 36])
    session.add_point_inputs(
        session.obj_id_to_idx(7), 0, {"point_coords": corners, "point_labels": torch.tensor([[[2, 3]]])}
    )
    session.obj_with_new_inputs = [7]
    with torch.inference_mode():
        model(inference_session=session, frame_idx=0)
        answers = [answer.pred_masks for answer in model.propagate_in_video_iterator(session)]
    expected = torch.nn.functional.interpolate(torch.cat(answers), (36, 80), mode="bilinear")[:, 0] > 0
    masks = network.track(frames, BOX)
    assert masks.shape == (20, 36, 80)
    assert masks.dtype == np.bool_
    assert (masks == expected.numpy()).mean(axis=(1, 2)).min() > 0.999
    shares = masks.mean(axis=(1, 2))
    assert ((shares > 0) & (shares < 1)).sum() > 5, "the tiny network is to say something"


def test_only_what_the_network_looks_back_to_is_kept(
    network: Sam2, frames: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[Any] = []
    make = network._session
    monkeypatch.setattr(network, "_session", lambda *given: sessions.append(make(*given)) or sessions[-1])
    network.track(frames, BOX)
    assert len(sessions[0].output_dict_per_obj[0]["non_cond_frame_outputs"]) == 16
    assert len(sessions[0].cache._vision_features) == 1


def test_masks_depend_on_box_and_past_and_are_the_same_again(network: Sam2, frames: Any) -> None:
    masks = network.track(frames[:3], BOX)
    assert (masks[0] != network.track(frames[:1], (50, 20, 80, 36))[0]).any()
    other = frames[:3].copy()
    other[1] = 0
    changed = network.track(other, BOX)
    assert (masks[0] == changed[0]).all()
    assert (masks[2] != changed[2]).any()
    assert (network.track(frames[:3], BOX) == network.track(frames[:3], BOX)).all()


def test_boxes_clips_and_half_precision(published: Path, network: Sam2, frames: Any) -> None:
    half = Sam2(published, choose_device("cpu", "bfloat16")).track(frames[:3], BOX)
    assert (half == network.track(frames[:3], BOX)).mean() > 0.8
    assert network.segment_boxes(frames[0], []).shape == (0, 36, 80)
    wide, cut = ((network.track(frames[:1], box)) for box in ((-20, 8, 900, 99), (0, 8, 80, 36)))
    assert (wide == cut).all()
    for frames in (np.zeros((4, 4, 3), np.uint8), np.zeros((0, 4, 4, 3), np.uint8), np.zeros((1, 4, 4, 3))):
        with pytest.raises(ShapeError):
            network.track(frames, BOX)
    assert networks.get("sam2") is Sam2
    assert networks.entry("sam2").facts["what"] == "track"


def test_masks_land_in_the_pixels_of_a_wide_frame(network: Sam2, frames: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown_first: list[Any] = []

    def answer(*, inference_session: Any, frame_idx: int) -> Any:
        """The box itself, in the network's own pixels; nothing in the second frame."""
        corners = inference_session.point_inputs_per_obj[0][0]["point_coords"].view(4).tolist()
        shown_first.append(corners)
        logits = -torch.ones(1, 1, SIDE, SIDE)
        x0, y0, x1, y1 = (round(corner) for corner in corners)
        logits[0, 0, y0:y1, x0:x1] = 1 if frame_idx == 0 else -1
        return SimpleNamespace(pred_masks=logits)

    answer.config = network._video.config
    monkeypatch.setattr(network, "_video", answer)
    masks = network.track(np.zeros((2, 32, 128, 3), np.uint8), (16, 8, 64, 24))
    assert shown_first[0] == pytest.approx([8, 16, 32, 48])
    expected = np.zeros((32, 128), bool)
    expected[8:24, 16:64] = True
    assert (masks[0] == expected).all()
    assert not masks[1].any()


def test_boxes_of_one_frame_get_masks_of_the_same_weights(published: Path, network: Sam2, frames: Any) -> None:
    boxes = [BOX, (50, 20, 80, 36), (0, 0, 80, 36)]
    masks = network.segment_boxes(frames[0], boxes)
    model = transformers.Sam2Model.from_pretrained(published, local_files_only=True).eval()
    scaled = torch.tensor([boxes], dtype=torch.float32) * torch.tensor([SIDE / 80, SIDE / 36] * 2)
    with torch.inference_mode():
        answer = model(
            pixel_values=shown(frames[0], SIDE, SIDE, *IMAGENET, choose_device("cpu")),
            input_boxes=scaled,
            multimask_output=False,
        )
    expected = torch.nn.functional.interpolate(answer.pred_masks[0], (36, 80), mode="bilinear")[:, 0] > 0
    assert masks.shape == (3, 36, 80)
    assert (masks == expected.numpy()).mean() > 0.999
    alone = np.concatenate([network.segment_boxes(frames[0], [box]) for box in boxes])
    assert (masks == alone).mean() > 0.999
    assert (masks[0] == network.track(frames[:1], BOX)[0]).mean() > 0.95


@pytest.mark.parametrize(
    "box", [(1, 2, 3), (5, 5, 5, 9), (9, 9, 5, 5), (80, 0, 90, 9), (0, 0, float("nan"), 4), (-9, -9, 0, 0)]
)
def test_boxes_that_hold_nothing_are_refused(network: Sam2, frames: Any, box: tuple[float, ...]) -> None:
    with pytest.raises(ShapeError, match="box"):
        network.track(frames, box)
    with pytest.raises(ShapeError, match="box"):
        network.segment_boxes(frames[0], [box])


def test_another_model_is_refused(published: Path, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes((published / "model.safetensors").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "sam"}')
    with pytest.raises(DataError, match="of a 'sam'; the folder of a sam2_video is needed"):
        Sam2(tmp_path, choose_device("cpu"))
