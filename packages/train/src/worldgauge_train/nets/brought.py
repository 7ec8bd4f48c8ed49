"""Video pipelines of diffusers that are brought: what training needs to know of each, without touching the library."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge.core.registry import Registry


class Brought:
    """A loaded pipeline and how its networks are trained: by default flow matching, predicting noise - x0.

    Attributes:
        classes: Pipeline class to load, by the class that a folder names; some are published as text-to-video.
        modules: Names of a network's layers, by the names that recipes of LoRA use.
        parts: What replaces parts of the pipeline.
        is_first_shown: Whether the first latent frame is an input, so that its error does not count.
        fps: Rate of training and generation; some pipelines have it as an input.
    """

    classes: ClassVar[Mapping[str, str]] = {}
    modules: ClassVar[Mapping[str, str]] = {
        "q": "to_q",
        "k": "to_k",
        "v": "to_v",
        "o": "to_out.0",
        "ffn.0": "ffn.net.0.proj",
        "ffn.2": "ffn.net.2",
    }
    parts: ClassVar[Mapping[str, Any]] = {}
    is_first_shown: bool = False
    takes_words: bool = True
    fps: float = 24.0

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self._said: dict[str, Any] = {}

    @property
    def nets(self) -> list[Any]:
        """Its networks; two where one is for much noise and one for little."""
        return [self.pipe.transformer]

    @property
    def stride(self) -> int:
        """Frames of a latent frame; the first has one of its own."""
        return int(self.pipe.vae_scale_factor_temporal)

    @property
    def multiple(self) -> int:
        """Pixels by whose multiples both sides go."""
        return int(self.pipe.vae_scale_factor_spatial) * int(self.nets[0].config.patch_size[-1])

    def width(self, net: Any) -> int:
        """Size of the embedding of the level, to which actions are added."""
        return int(net.config.num_attention_heads * net.config.attention_head_dim)

    def entry(self, net: Any) -> Any:
        """The layer of a network that makes that embedding."""
        return net.condition_embedder.time_embedder

    def before(self, net: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Change what a network is called with, so that each latent frame has an embedding of its own."""
        return values

    def attach(self, net: Any, added: Callable[[Tensor], Tensor]) -> None:
        """Let what is told be added where the embedding of the level is made."""
        self.entry(net).register_forward_hook(lambda module, args, made: added(made))

    def latents(self, pixels: Tensor) -> Tensor:
        """Encode frames (B, T, 3, H, W) in -1..1 to (B, C, F, h, w) float32, scaled for the network."""
        raise NotImplementedError

    def words(self, prompts: Sequence[str]) -> list[Any]:
        """Embed prompts; each is asked of the text encoder once."""
        with torch.no_grad():
            for prompt in sorted({*prompts} - self._said.keys()):
                self._said[prompt] = self.said(prompt)
        return [self._said[prompt] for prompt in prompts]

    def said(self, prompt: str) -> Any:
        """Embed one prompt, by default as (1, tokens, size)."""
        return self.pipe.encode_prompt(prompt=[prompt], do_classifier_free_guidance=False)[0]

    def levels(self, count: int, latents: Tensor, shift: float, generator: torch.Generator) -> Tensor:
        """Draw levels of noise t, uniform before the shift of the schedule."""
        known = self.pipe.scheduler.config
        s = shift or float(known.get("flow_shift") or known.get("shift") or 1.0)
        u = torch.rand(count, generator=generator)
        return s * u / (1 + (s - 1) * u)

    def given(self, pixels: Tensor, latents: Tensor) -> Any:
        """What the network is shown; only the first frame of `pixels` and of `latents` may be used."""
        return None

    def guess(self, net: Any, x: Tensor, t: Tensor, prompts: Sequence[str], given: Any) -> Tensor:
        """Predict noise - x0 (B, C, F, h, w) from x at level t (B,), B prompts, and what `given` made."""
        raise NotImplementedError

    def losses(self, pixels: Tensor, prompts: Sequence[str], shift: float, generator: torch.Generator) -> Tensor:
        """Losses (B,) of clips (B, T, 3, H, W) in -1..1; `shift` as for `levels`, the generator on the CPU."""
        with torch.no_grad():
            latents = self.latents(pixels)
            given = self.given(pixels, latents)
        t = self.levels(len(pixels), latents, shift, generator).to(latents)
        noise = torch.randn(latents.shape, generator=generator).to(latents)
        x = torch.lerp(latents, noise, t[:, None, None, None, None])
        wrong = (self.guess(self.net_at(t), x, t, prompts, given).float() - (noise - latents)).square()
        return (wrong[:, :, 1:] if self.is_first_shown else wrong).flatten(1).mean(1)

    def net_at(self, t: Tensor) -> Any:
        """The network for these levels."""
        return self.nets[0]

    def call(self, guidance: float | None) -> dict[str, Any]:
        """Arguments of the pipeline's call besides those that all take."""
        return {} if guidance is None else {"guidance_scale": guidance}


def picture_of(pixels: Tensor) -> Any:
    """Pixels (3, H, W), -1 to 1, as a picture of Pillow, which encoders of pictures take."""
    from PIL import Image

    levels = ((pixels.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return Image.fromarray(levels.permute(1, 2, 0).cpu().numpy())


kinds: Registry[type[Brought]] = Registry(
    "pipeline", "worldgauge_train.nets.brought_pipelines", group="worldgauge.pipelines"
)

INDEX = "model_index.json"
_KEPT = (".json", ".safetensors", ".txt", ".model")
"""Files of a pipeline that make what it draws."""


def digest_of_pipeline(folder: Path) -> str:
    """SHA-256 over names and contents of all that makes a pipeline; about a second a GB."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _KEPT and path.is_file()):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{digest_of_file(path)}\n".encode())
    return whole.hexdigest()


def kind_of(folder: Path) -> type[Brought]:
    """The kind of the pipeline in a folder."""
    if not (folder / INDEX).is_file():
        raise DataError(f"{folder} holds no {INDEX}, so it is no pipeline of diffusers")
    index = read_json_object(folder / INDEX)
    made = index.get("_class_name")
    found = [kind for kind in (one.load() for one in kinds) if made in kind.classes]
    if not found:
        known = sorted(name for one in kinds for name in one.load().classes)
        raise UsageError(f"{folder} is a {made}; those that can be post-trained are {', '.join(known)}")
    kind = found[0]
    for name, entry in index.items():
        if name.startswith("_") or not isinstance(entry, list) or entry[:1] == [None] or name in kind.parts:
            continue
        if entry[0] not in ("diffusers", "transformers") or any((folder / name).glob("*.py")):
            raise DataError(f"{folder / INDEX}: {name} brings code of its own, which is not run")
    return kind


def open_brought(folder: Path, device: str = "cpu", half: bool = False) -> Brought:
    """Load a pipeline."""
    kind = kind_of(folder)
    try:
        import diffusers
    except ImportError:
        raise MissingExtraError("a pipeline of diffusers", "adapt") from None
    kinds_of_number: Any = {"default": torch.bfloat16, "vae": torch.float32} if half else torch.float32
    try:
        diffusers.utils.logging.disable_progress_bar()
        loaded = getattr(diffusers, kind.classes[read_json_object(folder / INDEX)["_class_name"]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `torch_dtype` has a new name in the newest version alone
            pipe = loaded.from_pretrained(
                str(folder), torch_dtype=kinds_of_number, use_safetensors=True, local_files_only=True, **kind.parts
            ).to(device)
    except (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: {str(error).strip().splitlines()[0][:300]}") from None
    pipe.set_progress_bar_config(disable=True)
    return kind(pipe)
