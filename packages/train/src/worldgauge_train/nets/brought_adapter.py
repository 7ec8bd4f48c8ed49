"""What is learned beside a brought pipeline: LoRA or all weights, and the injection of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from worldgauge.core.errors import DataError, ModelError, UsageError, did_you_mean
from worldgauge.core.image import Frames, Image
from worldgauge.models.baselines.tiny import Rows
from worldgauge.worlds.walking.primitives import Primitive, micro_cond
from worldgauge_train.nets.brought import Brought

HIDDEN = 256
"""Size between the two layers."""


def grouped(rows: Tensor, stride: int) -> Tensor:
    """Group rows (B, T, columns), T = stride n + 1, by latent frame: frame i has rows stride (i - 1) + 1 to stride i,
    the first none."""
    first = rows.new_zeros((len(rows), 1, stride * rows.shape[2]))
    return torch.cat([first, rows[:, 1:].unflatten(1, (-1, stride)).flatten(2)], 1)


class Injection(nn.Module):  # type: ignore[misc, unused-ignore]
    """From rows to what is added to an embedding; nothing at first, since the last layer is zero."""

    def __init__(self, columns: int, stride: int, width: int) -> None:
        super().__init__()
        self.stride = stride
        self.layers = nn.Sequential(nn.Linear(stride * columns, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, width))
        nn.init.zeros_(self.layers[-1].weight)
        nn.init.zeros_(self.layers[-1].bias)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (B, T, columns) as (B, F, width)."""
        told: Tensor = self.layers(grouped(rows, self.stride).to(self.layers[0].weight))
        return told


class Hooked:
    """A network whose level embedding gets an injection while it runs. The library's code is unchanged."""

    def __init__(self, brought: Brought, net: Any, injection: Callable[[Tensor], Tensor]) -> None:
        self.injection = injection
        self._rows: Tensor | None = None
        self._told: Tensor | None = None
        self._batch = 0
        self._names = list(signature(net.forward).parameters)

        def before(
            module: Any, args: tuple[Any, ...], values: dict[str, Any]
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            if self._rows is None:
                self._told = None
                return args, values
            named = {**dict(zip(self._names, args, strict=False)), **values}
            self._told, self._batch = self.injection(self._rows), len(named[self._names[0]])
            return (), brought.before(net, named)

        net.register_forward_pre_hook(before, with_kwargs=True)
        brought.attach(net, self.added)

    @contextmanager
    def telling(self, rows: Tensor | None) -> Iterator[None]:
        """Condition the network on action rows (B, T, columns) within this context."""
        self._rows = rows
        try:
            yield
        finally:
            # The conditioning stays: gradient checkpointing runs blocks again, after this.
            self._rows = None

    def added(self, embedding: Tensor) -> Tensor:
        """Add what is told to an embedding (..., width) of a batch, or of as many as guidance makes of it."""
        if self._told is None:
            return embedding
        batch, frames, width = self._told.shape
        told = self._told.repeat(self._batch // batch, 1, 1)
        each = embedding.numel() // (width * self._batch * frames)
        if each * width * self._batch * frames != embedding.numel():
            raise ValueError(f"actions of {frames} latent frames do not fit an embedding of {tuple(embedding.shape)}")
        return embedding + told.repeat_interleave(each, 1).reshape(embedding.shape).to(embedding)


IDS = ("add_action_proj", "add_embedding_action", "add_embedding_noise")
"""What holds World-in-World's ten tensors."""
FREQUENCIES = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)


def add_ids(net: Any, frames: int) -> Callable[[Tensor], Tensor]:
    """Give a network of SVD World-in-World's ten tensors, which take steps as ids and leave out fps and motion.

    Returns what embeds rows of keys (B, T, 3) as (B, T, width).
    """
    from diffusers.models.embeddings import TimestepEmbedding

    size, width = net.config.addition_time_embed_dim, net.time_embedding.linear_2.out_features
    made = nn.ModuleDict({"proj": nn.Linear(12 * frames, size)}), *(TimestepEmbedding(size, width) for _ in range(2))
    for name, module in zip(IDS, made, strict=True):
        setattr(net, name, module.to(net.device))
    net.add_embedding.requires_grad_(False)  # it runs, and what it makes is not used

    def of_noise(module: Any, args: tuple[Tensor], made: Tensor) -> Tensor:
        """The last of three sinusoids is that of the noise."""
        embedded: Tensor = net.add_embedding_noise(args[0][:, -size:].to(net.add_embedding_noise.linear_1.weight))
        return embedded.to(made)

    net.add_embedding.register_forward_hook(of_noise)

    def embed(rows: Tensor) -> Tensor:
        ids = torch.where(rows.any(-1), rows.argmax(-1) + 1, int(Primitive.STOP)).cpu().numpy()
        weight = net.add_action_proj["proj"].weight
        angles = torch.tensor(np.stack([micro_cond(one) for one in ids])[..., None] * np.array(FREQUENCIES)).to(weight)
        features = torch.stack([angles.cos(), angles.sin()], -1).flatten(-3)
        embedded: Tensor = net.add_embedding_action(net.add_action_proj["proj"](features))
        return embedded

    return embed


def load_ids(net: Any, folder: Path) -> None:
    """Take over World-in-World's ten tensors from the safetensors of a network, if they are there."""
    import safetensors

    like = {name: value for name, value in net.state_dict().items() if name.startswith(IDS)}
    for path in sorted(folder.glob("*.safetensors")):
        with safetensors.safe_open(path, "pt") as file:
            for name in like.keys() & set(file.keys()):
                if tuple(file.get_slice(name).get_shape()) != tuple(like[name].shape):
                    raise DataError(f"{path}: {name} is of another number of frames")
                like[name].copy_(file.get_tensor(name))


Weights = Literal["lora", "all"]
FORMAT = "worldgauge-adapted/1"
CONFIG, TENSORS = "config.json", "adapter.safetensors"


@dataclass(frozen=True)
class AdapterShape:
    """What an adapter is made of: "lora" at scale alpha / rank, or "all" weights of the networks.

    Attributes:
        targets: Layers that it is put beside, by the names in `Brought.modules`.
        columns: Numbers of an action row; 0 without actions.
        ids: Frames whose steps World-in-World's ten tensors take; 0 for the injection.
    """

    weights: Weights = "lora"
    rank: int = 32
    alpha: int = 32
    targets: tuple[str, ...] = ("q", "k", "v", "o", "ffn.0", "ffn.2")
    columns: int = 0
    ids: int = 0

    def __post_init__(self) -> None:
        """Check all values."""
        for name, fine, rule in (
            ("weights", self.weights in get_args(Weights), f"one of {', '.join(get_args(Weights))}"),
            ("rank", type(self.rank) is int and 1 <= self.rank <= 4096, "1 to 4096"),
            ("alpha", type(self.alpha) is int and 1 <= self.alpha <= 65_536, "1 to 65536"),
            ("columns", type(self.columns) is int and 0 <= self.columns <= 4096, "0 to 4096"),
            ("ids", type(self.ids) is int and 0 <= self.ids <= 1000, "0 to 1000"),
        ):
            if not fine:
                raise UsageError(f"adapter: {name} is {getattr(self, name)!r}; give {rule}")
        for target in self.targets:
            if target not in Brought.modules:
                near = did_you_mean(str(target), list(Brought.modules))
                raise UsageError(f"adapter: no layer '{target}'. {near}Known: {', '.join(Brought.modules)}")


class Adapter:
    """The trained weights by name. The networks of the pipeline get LoRA and hooks; the library's code is unchanged."""

    def __init__(self, brought: Brought, shape: AdapterShape, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.brought, self.shape = brought, shape
        self._hooked: list[Hooked] = []
        self._named: dict[str, Any] = {}
        for part in brought.pipe.components.values():
            if isinstance(part, torch.nn.Module):
                part.requires_grad_(False).eval()
        for number, net in enumerate(brought.nets):
            if shape.weights == "lora":
                _add_lora(net, brought, shape)
            else:
                net.requires_grad_(True)
            if shape.ids:
                self._hooked.append(Hooked(brought, net, add_ids(net, shape.ids)))
            for name, value in net.named_parameters():
                if value.requires_grad:
                    value.data = value.data.float()
                    self._named[f"net{number}.{name}"] = value
            if shape.columns and not shape.ids:
                injection = Injection(shape.columns, brought.stride, brought.width(net)).to(net.device)
                self._hooked.append(Hooked(brought, net, injection))
                self._named |= {f"actions{number}.{name}": value for name, value in injection.named_parameters()}

    @contextmanager
    def telling(self, rows: Tensor | None) -> Iterator[None]:
        """Condition the networks on action rows (B, T, columns) within this context."""
        with ExitStack() as stack:
            for one in self._hooked:
                stack.enter_context(one.telling(rows))
            yield

    @property
    def unguided(self) -> float | None:
        """Scale of guidance where no words are told, so none; SVD is guided by its picture."""
        return 1.0 if self.brought.takes_words else None

    @property
    def modules(self) -> list[Any]:
        """Networks and injections, for what looks for weights in modules."""
        return [*self.brought.nets, *(one.injection for one in self._hooked if isinstance(one.injection, nn.Module))]

    def parameters(self) -> list[Any]:
        """All that is trained."""
        return list(self._named.values())

    def state_dict(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        return {name: value.detach() for name, value in self._named.items()}

    def load_state_dict(self, found: Mapping[str, Tensor]) -> None:
        """Take over weights of these names and shapes."""
        with torch.no_grad():
            for name, value in self._named.items():
                value.copy_(found[name])

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Draw with other weights of these names for a while."""
        own = {name: value.clone() for name, value in self.state_dict().items()}
        self.load_state_dict(weights)
        self.eval()
        try:
            yield
        finally:
            self.load_state_dict(own)
            self.train()

    def train(self) -> None:
        """Networks as they are trained; the rest stays as it draws."""
        for net in self.brought.nets:
            net.train()

    def eval(self) -> None:
        """Networks as they draw."""
        for net in self.brought.nets:
            net.eval()


def shape_read(told: Any, where: str) -> AdapterShape:
    """Read a shape from JSON."""
    try:
        return AdapterShape(**{**told, "targets": tuple(told["targets"])})
    except (KeyError, TypeError, UsageError) as error:
        raise DataError(f"{where}: adapter: {error!r}") from None


def _add_lora(net: Any, brought: Brought, shape: AdapterShape) -> None:
    from peft import LoraConfig, inject_adapter_in_model

    targets = [brought.modules[name] for name in shape.targets]
    config = LoraConfig(r=shape.rank, lora_alpha=shape.alpha, target_modules=targets)
    if hasattr(net, "add_adapter"):
        net.add_adapter(config)
    else:  # U-Nets of video have no such method
        net.requires_grad_(False)
        inject_adapter_in_model(config, net)


@dataclass(frozen=True)
class BroughtDrawing:
    """How a pipeline is called. Each call begins with the last frame; surplus frames are dropped.

    Attributes:
        frames: Frames per call, including the image that it begins with.
        guidance: Scale of guidance. None for the pipeline's own.
    """

    adapter: Adapter
    frames: int
    steps: int
    guidance: float | None
    name: str

    def chunks(self, picture: Image, rows: Rows | None, horizon: int, words: str, seed: int) -> Iterator[Frames]:
        """Generate `horizon` frames after a picture (H, W, 3) uint8; rows (horizon, columns) lead to each frame."""
        each = self.frames - 1
        for number, first in enumerate(range(0, horizon, each)):
            part = None
            if rows is not None:
                part = np.zeros((self.frames, rows.shape[1]), np.float32)
                part[:, 0] = self.adapter.shape.ids > 0  # those steps were trained with forward after their end
                given = rows[first : first + each]
                part[1 : 1 + len(given)] = given
            of_call = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            drawn = self._call(picture, part, words, of_call)
            picture = drawn[-1]
            yield drawn[1 : 1 + horizon - first]

    def _call(self, picture: Image, rows: Rows | None, words: str, seed: int) -> Frames:
        from PIL import Image as Pictures  # comes with the extra adapt

        brought, (height, width) = self.adapter.brought, picture.shape[:2]
        device = brought.nets[0].device
        told = None if rows is None else torch.from_numpy(rows)[None].to(device)
        prompt = {"prompt": words} if brought.takes_words else {}
        with torch.no_grad(), self.adapter.telling(told):
            made = brought.pipe(
                image=Pictures.fromarray(np.ascontiguousarray(picture)),
                height=height,
                width=width,
                num_frames=self.frames,
                num_inference_steps=self.steps,
                generator=torch.Generator("cpu").manual_seed(seed),  # the same noise whatever the device
                output_type="np",
                **prompt,
                **brought.call(self.guidance),
            ).frames[0]
        values = np.asarray(made, np.float32)
        if values.shape != (self.frames, height, width, 3):
            raise ModelError(f"'{self.name}' drew {values.shape}, not {(self.frames, height, width, 3)}")
        if not np.isfinite(values).all():
            raise ModelError(f"'{self.name}' drew values that are not finite")
        return (values.clip(0, 1) * 255).round().astype(np.uint8)
