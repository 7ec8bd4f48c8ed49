"""MUSIQ trained on SPAQ, which gives the imaging score: our own torch for the published weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.perception.networks import ComputeDevice, networks, torch_for
from worldgauge.perception.networks._pretrained import framewise
from worldgauge.weights import expect, read_tensors

WEIGHTS = "musiq_spaq_ckpt-358bb6af.pth"


@networks.register("musiq-spaq", what="imaging")
class Musiq:
    """MUSIQ of SPAQ: scores (n,), roughly 0 to 100.
    With random weights of its size, where scores differed by 0.05, float16 moved them by 0.0014 and bfloat16 by 0.008:
    neither replaces float32. `folder` holds IQA-PyTorch's musiq_spaq_ckpt-358bb6af.pth. Source: Ke et al. 2021,
    sections 3.1 to 3.5, as in IQA-PyTorch, for MIND; the authors' version resizes with a Gaussian and takes the
    deviation with n."""

    name = "musiq-spaq"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        path = folder / WEIGHTS
        # Training on several devices puts "module." before every name.
        tensors = {name.removeprefix("module."): tensor for name, tensor in read_tensors(path).items()}
        self._encoder = Encoder(tensors, device, path)
        self._device = device

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Compute scores (n,) float32 of frames (n, H, W, 3) float32 in [-1, 1], one frame at a time."""

        def scored(images: Any) -> Any:
            return self._encoder.score(images[0])

        return {"scores": framewise(arrays["frames"], self._device, scored, sides=(), at_once=1)}


# MUSIQ's layers, as IQA-PyTorch's file has them and as the scorer that reads it applies them:
# - convolutions have no bias, and weights of mean 0 and deviation 1 (n - 1 in its denominator, plus 1e-5) per output
#   channel; padding is that of TensorFlow's "SAME", the odd pixel after; groups of normalisation are 32 everywhere,
#   with 1e-6 in the first and 1e-4 in the others;
# - a patch becomes a token by 7x7 with stride 2, pooling 3x3 with stride 2, a bottleneck of 1x1, 3x3, 1x1 with a
#   projected shortcut, and one linear layer over (row, column, channel);
# - layers normalise first (1e-6), heads are 64 wide, GELU is the exact one, dropout is 0;
# - the first two sizes are filled up to 49 and 144 tokens that are masked. What is masked is looked at by no token that
#   counts (its weight, exp(-1000), is 0 in float32), so that it is left out here.
Float32 = NDArray[np.float32]

_GROUPS = 32
_HEAD_WIDTH = 64
_PATCHES_AT_ONCE = 128
_LAYER = "transformer_encoder.transformer.encoderblock_"


@dataclass(frozen=True)
class Sizes:
    """Channels of a patch after the first convolution and after the bottleneck, of tokens, inside a layer; layers."""

    stem: int
    block: int
    width: int
    inner: int
    layers: int


PUBLISHED = Sizes(stem=64, block=256, width=384, inner=1152, layers=14)


class Encoder:
    """The network on its device."""

    def __init__(self, tensors: Mapping[str, Float32], device: ComputeDevice, path: Path) -> None:
        sizes = _checked(tensors, path)
        torch = torch_for("'musiq-spaq'")
        self._functional = torch.nn.functional
        self._layers = [f"{_LAYER}{i}" for i in range(sizes.layers)]
        held = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
        for name, tensor in held.items():
            if tensor.ndim == 4:
                centred = tensor - tensor.mean((1, 2, 3), keepdim=True)
                held[name] = centred / (tensor.std((1, 2, 3), keepdim=True) + 1e-5)
        # Sorted once as patches come out of the convolutions: channel, row, column.
        side = PATCH // 4
        ordered = held["embedding.weight"].reshape(-1, side, side, sizes.block).permute(0, 3, 1, 2)
        held["embedding.weight"] = ordered.flatten(1).contiguous()
        for layer in self._layers:
            for kind in ("weight", "bias"):
                parts = [held.pop(f"{layer}.attention.{part}.{kind}") for part in ("query", "key", "value")]
                held[f"{layer}.attention.all.{kind}"] = torch.cat(parts)
        # The head stays in float32: at a score of 70 the steps of float16 are 0.06, those of bfloat16 0.5.
        self._held = {
            name: tensor.to(device.name, torch.float32 if name.startswith("head.") else device.dtype)
            for name, tensor in held.items()
        }
        self._device = device

    def score(self, image: Any) -> Any:
        """The score (1,) of an image (3, H, W) float32 in [-1, 1]."""
        torch = torch_for("'musiq-spaq'")
        cells, scales, first = (
            self._held[f"transformer_encoder.{name}"].flatten(0, -2)
            for name in ("posembed_input.position_emb", "scaleembed_input.scale_emb", "cls")
        )
        tokens = [first]
        for size, scale in zip(scaled(image), scales, strict=True):
            patches = patches_of(size).to(self._device.dtype)
            embedded = torch.cat([self._embedded(part) for part in patches.split(_PATCHES_AT_ONCE)])
            tokens.append(embedded + cells[cells_of(size)] + scale)
        x = torch.cat(tokens)[None]
        for layer in self._layers:
            x = x + self._attended(self._normed(x, f"{layer}.norm1"), f"{layer}.attention")
            inner = self._linear(self._normed(x, f"{layer}.norm2"), f"{layer}.mlp.fc1")
            x = x + self._linear(self._functional.gelu(inner), f"{layer}.mlp.fc2")
        return self._linear(self._normed(x[:, 0], "transformer_encoder.encoder_norm").float(), "head")[0]

    def _embedded(self, patches: Any) -> Any:
        """Tokens (patches, width) of patches (patches, 3, 32, 32)."""
        pad, pool = self._functional.pad, self._functional.max_pool2d
        x = self._grouped(self._convolved(pad(patches, (2, 3, 2, 3)), "conv_root", stride=2), "gn_root", 1e-6).relu()
        x = pool(pad(x, (0, 1, 0, 1)), 3, 2)
        shortcut = self._grouped(self._convolved(x, "block1.conv_proj"), "block1.gn_proj")
        x = self._grouped(self._convolved(x, "block1.conv1"), "block1.gn1").relu()
        x = self._grouped(self._convolved(x, "block1.conv2", padding=1), "block1.gn2").relu()
        x = self._grouped(self._convolved(x, "block1.conv3"), "block1.gn3")
        return self._linear((x + shortcut).relu().flatten(1), "embedding")

    def _attended(self, x: Any, name: str) -> Any:
        heads = self._linear(x, f"{name}.all").unflatten(-1, (3, -1, _HEAD_WIDTH)).permute(2, 0, 3, 1, 4)
        mixed = self._functional.scaled_dot_product_attention(*heads)
        return self._linear(mixed.transpose(1, 2).flatten(2), f"{name}.out")

    def _convolved(self, x: Any, name: str, *, stride: int = 1, padding: int = 0) -> Any:
        return self._functional.conv2d(x, self._held[f"{name}.weight"], stride=stride, padding=padding)

    def _grouped(self, x: Any, name: str, epsilon: float = 1e-4) -> Any:
        return self._functional.group_norm(x, _GROUPS, *self._pair(name), epsilon)

    def _normed(self, x: Any, name: str) -> Any:
        return self._functional.layer_norm(x, x.shape[-1:], *self._pair(name), 1e-6)

    def _linear(self, x: Any, name: str) -> Any:
        return self._functional.linear(x, *self._pair(name))

    def _pair(self, name: str) -> tuple[Any, Any]:
        return self._held[f"{name}.weight"], self._held[f"{name}.bias"]


def shapes_of(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor in a file."""
    stem, block, width, inner = sizes.stem, sizes.block, sizes.width, sizes.inner
    convolutions = {
        "conv_root": (stem, 3, 7, 7),
        "block1.conv1": (stem, stem, 1, 1),
        "block1.conv2": (stem, stem, 3, 3),
        "block1.conv3": (block, stem, 1, 1),
        "block1.conv_proj": (block, stem, 1, 1),
    }
    norms = {"gn_root": stem, "block1.gn1": stem, "block1.gn2": stem, "block1.gn3": block, "block1.gn_proj": block}
    norms["transformer_encoder.encoder_norm"] = width
    linears = {"embedding": (width, block * (PATCH // 4) ** 2), "head": (1, width)}
    for layer in (f"{_LAYER}{i}" for i in range(sizes.layers)):
        norms |= {f"{layer}.norm1": width, f"{layer}.norm2": width}
        linears |= {f"{layer}.attention.{part}": (width, width) for part in ("query", "key", "value", "out")}
        linears |= {f"{layer}.mlp.fc1": (inner, width), f"{layer}.mlp.fc2": (width, inner)}
    return {
        "transformer_encoder.cls": (1, 1, width),
        "transformer_encoder.posembed_input.position_emb": (1, GRID**2, width),
        "transformer_encoder.scaleembed_input.scale_emb": (len(LONGER_SIDES) + 1, width),
        **{f"{name}.weight": shape for name, shape in convolutions.items()},
        **{f"{name}.{kind}": (channels,) for name, channels in norms.items() for kind in ("weight", "bias")},
        **{f"{name}.weight": shape for name, shape in linears.items()},
        **{f"{name}.bias": shape[:1] for name, shape in linears.items()},
    }


def _checked(tensors: Mapping[str, Float32], path: Path) -> Sizes:
    """The sizes that the tensors have. Raises DataError unless all are there, no other is, and their shapes agree."""
    leading = ("conv_root", "block1.conv3", "embedding", f"{_LAYER}0.mlp.fc1")
    shapes = [tensors[name].shape if (name := f"{each}.weight") in tensors else () for each in leading]
    stem, block, width, inner = (shape[0] if shape else 1 for shape in shapes)
    layers = {found[1] for name in tensors if (found := re.match(rf"{re.escape(_LAYER)}(\d+)\.", name))}
    sizes = Sizes(stem, block, width, inner, max(1, len(layers)))
    due = shapes_of(sizes)
    expect(tensors, due, path)
    if more := sorted(tensors.keys() - due.keys()):
        raise DataError(f"{path}: not these weights, '{more[0]}' is none of the {len(due)} tensors of a MUSIQ")
    # Narrower ones are made for tests; of this width there is one.
    odd = sizes.width % _HEAD_WIDTH or sizes.stem % _GROUPS or sizes.block % _GROUPS or 0 in astuple(sizes)
    if odd or (sizes.width >= PUBLISHED.width and sizes != PUBLISHED):
        raise DataError(f"{path}: a MUSIQ of other sizes than the published one: {sizes}, not {PUBLISHED}")
    return sizes


# What MUSIQ sees of an image: patches of 32x32 at three sizes, each with its cell of a 10x10 grid over the image. Facts
# of the released scorer: the longer side becomes 224 and 384, bicubic (a = -0.75) without antialiasing, the other side
# rounded; the third size is the image's own. Each is filled up with zeros to whole patches, half before and half after,
# the odd pixel after. Patches go row by row.
PATCH = 32
LONGER_SIDES = (224, 384)
GRID = 10


def sizes_of(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the sizes of the three images made of one frame."""
    ratios = [longer / max(rows, columns) for longer in LONGER_SIDES]
    sizes = [(round(rows * ratio), round(columns * ratio)) for ratio in ratios]
    if any(0 in size for size in sizes):
        raise ShapeError(
            f"a frame of {rows}x{columns} is too narrow: nothing is left of it at {LONGER_SIDES[0]} pixels"
        )
    return [*sizes, (rows, columns)]


def scaled(image: Any) -> Iterator[Any]:
    """The three images (3, h, w) of one (3, H, W)."""
    torch = torch_for("'musiq-spaq'")
    for size in sizes_of(*image.shape[1:]):
        own = size == image.shape[1:]
        yield image if own else torch.nn.functional.interpolate(image[None], size, mode="bicubic")[0]


def patches_of(image: Any) -> Any:
    """(patches, 3, 32, 32) of an image (3, h, w)."""
    pad = torch_for("'musiq-spaq'").nn.functional.pad
    short = [-side % PATCH for side in image.shape[1:]]
    (top, left), (bottom, right) = (side // 2 for side in short), (side - side // 2 for side in short)
    whole = pad(image, (left, right, top, bottom))
    cut = whole.unflatten(2, (-1, PATCH)).unflatten(1, (-1, PATCH))  # (3, rows, 32, columns, 32)
    return cut.permute(1, 3, 0, 2, 4).flatten(0, 1)


def cells_of(image: Any) -> Any:
    """(patches,) index into the 100 cells, row by row, of every patch of an image (3, h, w).
    The nearest cell before, with the rounding of torch's resizing of a grid."""
    torch = torch_for("'musiq-spaq'")
    grid = torch.arange(GRID, dtype=torch.float32, device=image.device)[None, None]
    down, across = (
        torch.nn.functional.interpolate(grid, -(-side // PATCH), mode="nearest")[0, 0].long()
        for side in image.shape[1:]
    )
    return (down[:, None] * GRID + across).flatten()
