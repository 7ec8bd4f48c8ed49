"""Image to video: what reaches the pipeline and how chunks are joined; with torch, tiny pipelines of diffusers."""

import json
import shutil
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from adapters.image_to_video import ImageToVideo, spread_over

from adapters import image_to_video
from support.upstream import complaints
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import ModelError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import Needs, RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.run import run
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.tools.check_model import check_model
from worldgauge_serve import NotApplicable

WORDS = "Walk forward 4.3 metres."
ADAPTER = f"{image_to_video.__file__}:ImageToVideo"


def request(horizon: int = 7, seed: int = 5, text: str = WORDS, size: tuple[int, int] = (32, 32)) -> RolloutRequest:
    width, height = size
    frames = np.random.default_rng(1).integers(0, 200, (2, height, width, 3), dtype=np.uint8)
    context = Context(
        Clip.from_array(frames, 20.0),
        np.stack([np.eye(4)] * 2),
        Actions(LOOP_WALK, np.zeros((1, 4), np.float32)),
        Camera.from_vertical_fov(width, height, 75),
    )
    return RolloutRequest(context, horizon, seed, text=text)


class Brighter:
    """Draws the picture, and every frame by one level brighter than the one before."""

    def __init__(self, drawn: int = 4) -> None:
        self.identity = {"weights": "none"}
        self.asked: list[tuple[np.ndarray, str, int, int]] = []
        self._drawn = drawn

    def __call__(self, picture: np.ndarray, prompt: str, frames: int, seed: int) -> np.ndarray:
        self.asked.append((picture, prompt, frames, seed))
        return picture + np.arange(self._drawn, dtype=np.uint8)[:, None, None, None]


@pytest.mark.parametrize("view", ["perspective", "panorama"])
def test_a_decision_of_the_closed_loop_is_told_in_words_and_drawn_in_one_call(view: str) -> None:
    """33 frames for 13 steps: of a uniform grid in whole numbers, frame 0 being what is seen."""
    backend = Brighter(drawn=33)
    model = ImageToVideo("folder/tiny", frames=33, spread=True, view=view, backend=backend)
    asked = StepQuestions().question(model.spec, start=1, horizon=13, seed=4, size=None, turn=1.0)
    frames = np.concatenate(list(checked_rollout(model, asked)))
    ((picture, prompt, count, _),) = backend.asked
    assert count == 33
    np.testing.assert_array_equal(picture, asked.context.clip[0])
    assert prompt == asked.text
    assert prompt == "Turn left 292.5 degrees."
    levels = [int(frame[0, 0, 0] - picture[0, 0, 0]) for frame in frames]
    assert levels == [j * 32 // 13 for j in range(1, 14)]


def test_a_pipeline_is_asked_at_the_rate_it_was_made_for() -> None:
    assert ImageToVideo("folder/tiny", backend=Brighter()).spec.fps is None
    assert ImageToVideo("folder/tiny", fps=16, backend=Brighter()).spec.fps == 16


def test_fewer_frames_than_steps_end_on_the_last() -> None:
    assert spread_over(4, 6).tolist() == [1, 2, 3, 3, 3, 3]
    assert spread_over(7, 6).tolist() == [1, 2, 3, 4, 5, 6]
    assert spread_over(33, 13)[-1] == 32


def test_each_chunk_starts_from_the_last_frame_and_drops_it() -> None:
    backend = Brighter()
    chunks = list(ImageToVideo("folder/tiny", frames=4, backend=backend).rollout(request(horizon=7)))
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]
    last = request().context.clip[-1]
    for t, frame in enumerate(np.concatenate(chunks)):
        np.testing.assert_array_equal(frame, last + (t + 1))
    for number, (picture, _, frames, _) in enumerate(backend.asked):
        np.testing.assert_array_equal(picture, last + 3 * number)
        assert frames == 4


@pytest.mark.parametrize(("horizon", "calls"), [(1, 1), (3, 1), (4, 2), (6, 2)])
def test_no_call_too_many(horizon: int, calls: int) -> None:
    backend = Brighter()
    made = np.concatenate(list(ImageToVideo("tiny", frames=4, backend=backend).rollout(request(horizon))))
    assert len(made) == horizon
    assert len(backend.asked) == calls


def test_seeds_follow_from_the_request_and_differ_by_chunk() -> None:
    def seeds(seed: int) -> list[int]:
        backend = Brighter()
        list(ImageToVideo("tiny", frames=4, backend=backend).rollout(request(seed=seed)))
        return [asked[3] for asked in backend.asked]

    assert seeds(5) == seeds(5)
    assert len({*seeds(5), *seeds(6), *seeds(2**32 - 1)}) == 9


def test_words_go_to_every_chunk() -> None:
    backend = Brighter()
    list(ImageToVideo("tiny", frames=4, prompt="A game.", backend=backend).rollout(request()))
    assert [asked[1] for asked in backend.asked] == [f"A game. {WORDS}"] * 3


def test_a_chain_gives_each_sentence_calls_of_its_own() -> None:
    backend = Brighter()
    walk = np.zeros((7, 4), np.float32)
    walk[:5, 0], walk[5:, 2] = 1, -0.5
    asked = replace(request(), actions=Actions(LOOP_WALK, walk))
    assert asked.prompts is not None
    assert [said.frame for said in asked.prompts] == [0, 5]
    frames = list(ImageToVideo("tiny", frames=4, chain=True, backend=backend).rollout(asked))
    assert [len(part) for part in frames] == [3, 2, 2]
    assert [said for _, said, _, _ in backend.asked] == [asked.prompts[i].text for i in (0, 0, 1)]
    last = request().context.clip[-1]
    np.testing.assert_array_equal(backend.asked[2][0], last + 5)
    np.testing.assert_array_equal(frames[-1][-1], last + 7)


def test_a_chain_needs_sentences_and_is_no_single_call() -> None:
    with pytest.raises(NotApplicable, match="no sentences"):
        list(ImageToVideo("tiny", frames=4, chain=True, backend=Brighter()).rollout(request()))
    with pytest.raises(ValueError, match="give chain or spread"):
        ImageToVideo("tiny", chain=True, spread=True, backend=Brighter())


def test_the_caption_stands_between_the_words_where_it_is_wanted() -> None:
    backend = Brighter()
    model = ImageToVideo("tiny", frames=4, prompt="A game.", caption=True, backend=backend)
    assert tuple(model.spec.inputs) == ("caption",)
    list(model.rollout(replace(request(), caption="A kitchen.")))
    assert {asked[1] for asked in backend.asked} == {f"A game. A kitchen. {WORDS}"}
    assert ImageToVideo("tiny", backend=backend).spec.inputs == ()


def test_a_pipeline_that_rounds_says_what_to_ask_for() -> None:
    model = ImageToVideo("tiny", frames=6, backend=Brighter(drawn=5))
    with pytest.raises(
        ValueError, match=r"asked for 6 frames of 32x32, the pipeline drew 5 of 32x32; give frames=5&size"
    ):
        list(model.rollout(request()))


def test_what_it_says_of_itself() -> None:
    model = ImageToVideo("/weights/wan", frames=81, size="832x480", call={"guidance_scale": 5}, backend=Brighter())
    spec = model.spec
    assert (spec.name, spec.control, spec.frame_size) == ("wan", "text", (832, 480))
    assert (spec.max_context, spec.chunk) == (1, 80)
    assert json.loads(json.dumps(spec.settings)) == {
        **{"weights": "none", "frames": 81, "steps": 25, "prompt": "", "dtype": "bfloat16"},
        "call": {"guidance_scale": 5},
    }
    assert Needs.of(model) == Needs(gpus=1)
    assert ImageToVideo("tiny", backend=Brighter()).spec.frame_size is None


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"frames": 1}, "frames is 1"),
        ({"size": "832"}, "size is '832'; give WIDTHxHEIGHT"),
        ({"size": "0x9"}, "size is '0x9'"),
        ({"dtype": "int8"}, "dtype is 'int8'; give one of bfloat16"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        ImageToVideo("tiny", backend=Brighter(), **settings)


def test_a_folder_that_is_no_pipeline(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no model_index\.json"):
        ImageToVideo(str(tmp_path))


# With torch and diffusers: real pipelines with tiny random weights, saved, and loaded as a user's would be


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    """The parts of an LTX pipeline."""
    torch, diffusers = pytest.importorskip("torch"), pytest.importorskip("diffusers")
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "walk", "turn", "left", "."])}
    tokens = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokens.normalizer = tokenizers.normalizers.Lowercase()
    tokens.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    blocks = (8, 8, 8, 8)
    vae = diffusers.AutoencoderKLLTXVideo(
        latent_channels=8,
        block_out_channels=blocks,
        decoder_block_out_channels=blocks,
        layers_per_block=(1,) * 5,
        decoder_layers_per_block=(1,) * 5,
    )
    text = transformers.T5Config(
        vocab_size=len(words), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=0
    )
    return {
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(),
        "vae": vae,
        "text_encoder": transformers.T5EncoderModel(text),
        "tokenizer": transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokens, pad_token="[PAD]", unk_token="[UNK]"
        ),
        "transformer": diffusers.LTXVideoTransformer3DModel(
            in_channels=8,
            out_channels=8,
            num_attention_heads=2,
            attention_head_dim=8,
            cross_attention_dim=16,
            num_layers=1,
            caption_channels=16,
        ),
    }


@pytest.fixture(scope="module")
def ltx(parts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an LTX pipeline: words and picture, 8 k + 1 frames, sides that 32 divides."""
    import diffusers

    folder = tmp_path_factory.mktemp("pipelines") / "ltx-tiny"
    diffusers.LTXImageToVideoPipeline(**parts).save_pretrained(folder)
    return folder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def loaded(folder: Path, **settings: Any) -> ImageToVideo:
    return ImageToVideo(str(folder), **{"frames": 9, "steps": 2, "dtype": "float32", "device": "cpu", **settings})


def drawn(model: ImageToVideo, **asked: Any) -> np.ndarray:
    return np.concatenate(list(model.rollout(request(**asked))))


@pytest.mark.usefixtures("no_network")
def test_a_pipeline_with_words(ltx: Path) -> None:
    model = loaded(ltx)
    frames = drawn(model, horizon=10)
    assert (frames.shape, frames.dtype) == ((10, 32, 32, 3), np.uint8)
    assert frames.std() > 1
    np.testing.assert_array_equal(drawn(loaded(ltx), horizon=10), frames)
    assert not np.array_equal(drawn(model, horizon=10, seed=6), frames)
    assert not np.array_equal(drawn(model, horizon=10, text="Turn left."), frames)
    assert drawn(loaded(ltx, dtype="bfloat16"), horizon=1).shape == (1, 32, 32, 3)


@pytest.mark.usefixtures("no_network")
def test_a_pipeline_keeps_the_promises_of_a_model(ltx: Path) -> None:
    assert complaints(check_model(loaded(ltx, caption=True, size="64x32"))) == []


@pytest.mark.usefixtures("no_network")
def test_a_pipeline_without_words(tmp_path: Path) -> None:
    torch, diffusers = pytest.importorskip("torch"), pytest.importorskip("diffusers")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    vision = transformers.CLIPVisionConfig(
        hidden_size=16,
        projection_dim=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        patch_size=32,
    )
    diffusers.StableVideoDiffusionPipeline(
        vae=diffusers.AutoencoderKLTemporalDecoder(
            block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2, latent_channels=4
        ),
        image_encoder=transformers.CLIPVisionModelWithProjection(vision),
        unet=diffusers.UNetSpatioTemporalConditionModel(
            sample_size=16,
            block_out_channels=(32, 32),
            down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
            up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
            cross_attention_dim=16,
            num_attention_heads=2,
            layers_per_block=1,
            projection_class_embeddings_input_dim=96,
            addition_time_embed_dim=32,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(
            prediction_type="v_prediction", timestep_type="continuous", use_karras_sigmas=True, sigma_max=700.0
        ),
        feature_extractor=transformers.CLIPImageProcessor(crop_size=32, size=32),
    ).save_pretrained(tmp_path / "svd")
    model = loaded(tmp_path / "svd", frames=3, call={"fps": 20, "motion_bucket_id": 90})
    frames = drawn(model, horizon=3)
    assert frames.shape == (3, 32, 32, 3)
    np.testing.assert_array_equal(drawn(model, horizon=3, text="Turn left."), frames)


def test_through_the_engine(ltx: Path, walks: Path, tmp_path: Path) -> None:
    """As a user names it: a command that serves the file, with settings in its query; frames at its own size."""
    target = f"{ADAPTER}?pipeline={ltx}&frames=9&steps=1&device=cpu&dtype=float32&size=64x32"
    text = f"cmd:{sys.executable} -m worldgauge_serve '{target}'"
    result = run("loopnav", model=text, data=walks, out=tmp_path / "runs", limit=1, gpus_per_worker=0)
    assert str(result.counts) == "1 expected = 1 scored + 0 skipped + 0 failed"
    (video,) = (tmp_path / "runs").rglob("rollout.mp4")
    assert (Clip.open(video).width, Clip.open(video).height) == (64, 32)


def test_frames_that_the_pipeline_rounds(ltx: Path) -> None:
    with pytest.raises(ValueError, match=r"the pipeline drew 9 of 32x32; give frames=9"):
        drawn(loaded(ltx, frames=10))


def test_arguments_of_the_call(ltx: Path) -> None:
    assert not np.array_equal(drawn(loaded(ltx, call={"guidance_scale": 1})), drawn(loaded(ltx)))
    for name in ("guidance", "prompt", "generator"):
        with pytest.raises(ValueError, match=f"LTXImageToVideoPipeline takes no {name} from call"):
            loaded(ltx, call={name: 1})


def test_values_that_are_not_finite(ltx: Path) -> None:
    model = loaded(ltx)
    model._backend._pipe.vae.decoder.conv_out.conv.weight.data[:] = float("nan")
    with pytest.raises(ValueError, match="not finite; with float16, try"):
        drawn(model)


def test_identity_is_the_contents_and_not_the_place(ltx: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(ltx, tmp_path / "ltx-tiny")
    (copy / "README.md").write_text("notes")
    assert loaded(copy).spec == loaded(ltx).spec
    config = copy / "scheduler" / "scheduler_config.json"
    config.write_text(config.read_text().replace('"shift": 1.0', '"shift": 2.0'))
    assert loaded(copy).spec.settings["weights"] != loaded(ltx).spec.settings["weights"]


@pytest.mark.usefixtures("no_network")
def test_nothing_is_fetched_unasked() -> None:
    pytest.importorskip("diffusers")
    with pytest.raises(ValueError, match=r"somebody/wan is no folder here, and not in the cache .*download=true"):
        ImageToVideo("somebody/wan")


def test_only_safetensors_are_read(parts: dict[str, Any], tmp_path: Path) -> None:
    import diffusers

    diffusers.LTXImageToVideoPipeline(**parts).save_pretrained(tmp_path / "old", safe_serialization=False)
    with pytest.raises((OSError, ValueError), match="safetensors"):
        loaded(tmp_path / "old")


def test_a_pipeline_of_words_alone(parts: dict[str, Any], tmp_path: Path) -> None:
    import diffusers

    diffusers.LTXPipeline(**parts).save_pretrained(tmp_path / "words")
    with pytest.raises(ValueError, match="LTXPipeline is no image-to-video pipeline: it takes no image"):
        loaded(tmp_path / "words")


@pytest.mark.parametrize(
    ("part", "entry"),
    [
        ("_class_name", ["pipeline", "Own"]),
        ("vae", ["own", "AutoencoderKLLTXVideo"]),
        ("vae", ["diffusers", "AutoencoderKLLTXVideo"]),
        ("vae", ["os", "path"]),
    ],
)
def test_code_that_comes_with_weights_is_not_run(ltx: Path, tmp_path: Path, part: str, entry: list[str]) -> None:
    copy = shutil.copytree(ltx, tmp_path / "code")
    index = json.loads((copy / "model_index.json").read_text())
    (copy / "model_index.json").write_text(json.dumps({**index, part: entry}))
    if entry[0] != "os":
        own = copy / part / f"{entry[0]}.py" if part == "vae" else copy / "pipeline.py"
        own.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ValueError, match=f"brings code of its own for {part}"):
        loaded(copy)
    assert not (tmp_path / "ran").exists()


def test_a_pipeline_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"could not be made: ValueError: .*holds no model_index\.json"):
        resolve_model(f"{ADAPTER}?pipeline={tmp_path}")
