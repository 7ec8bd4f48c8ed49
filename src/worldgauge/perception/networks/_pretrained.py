"""Networks that transformers has the code of, from a folder as their owners publish it: config.json, model.safetensors.

Only these two files are read, and neither is run: no pickle, no code of the folder, nothing over the network.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.perception.networks import Batches, ComputeDevice, inference, torch_for, transformers_for

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
_TABLES = 10_000_000
"""Numbers that a model may work out for itself, such as sines of positions."""


def load_pretrained(
    model_class_name: str,
    folder: Path,
    device: ComputeDevice,
    *,
    what: str,
    ignored_prefixes: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
) -> Any:
    """Load a model of transformers, in evaluation mode."""
    model_class = getattr(transformers_for(what), model_class_name)
    config = _config(model_class, folder, (model_class.config_class.model_type, *also))
    state = _tensors(folder / WEIGHTS)
    with _quiet():
        try:
            _check_size(model_class, config, state)
            model, found = model_class.from_pretrained(
                None,
                config=config,
                state_dict=state,
                dtype=device.dtype,
                ignore_mismatched_sizes=True,  # they are named below, with the others
                output_loading_info=True,
                local_files_only=True,
                use_safetensors=True,
            )
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None
        except Exception as error:  # of many kinds, by the field of the configuration that is wrong
            raise DataError(f"{folder}: no {model_class_name} comes of it ({_line(error)})") from error
    left_over = [name for name in found["unexpected_keys"] if not name.startswith(ignored_prefixes)]
    reshaped = [f"{name} {tuple(got)} for {tuple(due)}" for name, got, due in found["mismatched_keys"]]
    for fault, names in (("missing", found["missing_keys"]), ("left over", left_over), ("of another shape", reshaped)):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            listed = ", ".join(sorted(names)[:3])
            raise DataError(f"{folder / WEIGHTS}: not the weights of {what}, tensors {fault}: {listed}{more}")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = tensor.data.clone()  # until now the file itself, mapped: who writes to it would change answers
    return model.requires_grad_(False).to(device.name).eval()


def load_tokenizer(folder: Path, *, what: str, words: int) -> Any:
    """Load a tokenizer that neither truncates nor pads."""
    transformers_for(what)
    from tokenizers import Tokenizer

    path = _file(folder / TOKENIZER)
    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the package raises plain Exception
        raise DataError(f"{path}: not a tokenizer ({_line(error)})") from error
    if tokenizer.get_vocab_size() > words:
        raise DataError(f"{path}: of {tokenizer.get_vocab_size()} words for a model of {words}; it is of another model")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _config(model_class: Any, folder: Path, types: tuple[str, ...]) -> Any:
    path = _file(folder / CONFIG)
    try:
        written = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({_line(error)})") from error
    found = written.get("model_type") if isinstance(written, dict) else None
    if found not in types:
        raise DataError(f"{path}: of a '{found}'; the folder of a {' or '.join(types)} is needed")
    if "quantization_config" in written:
        raise DataError(f"{path}: quantized weights; take those in the precision they were published in")
    with _quiet():
        try:
            config = model_class.config_class.from_pretrained(str(folder), local_files_only=True)
        except Exception as error:
            raise DataError(f"{path}: not the configuration of a {found} ({_line(error)})") from error
    # Each part takes its own default: the file may name one whose code would be fetched, and naming one for all parts
    # changes answers, as eager text encoders add the masks that others apply.
    config._attn_implementation = None
    return config


def _check_size(model_class: Any, config: Any, state: dict[str, Any]) -> None:
    """Before memory is taken: a configuration may not ask for far more numbers than the file brings."""
    with torch_for("a network").device("meta"):
        skeleton = model_class(copy.deepcopy(config))
    asked = sum(tensor.numel() for tensor in (*skeleton.parameters(), *skeleton.buffers()))
    held = sum(tensor.numel() for tensor in state.values())
    if asked > 2 * held + _TABLES:
        raise DataError(f"{CONFIG} describes {asked:,} numbers and {WEIGHTS} holds {held:,}; one is of another model")


def _tensors(path: Path) -> dict[str, Any]:
    torch_for(path.name)
    from safetensors.torch import load_file

    try:
        tensors: dict[str, Any] = load_file(_file(path))
    except Exception as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not a safetensors file ({_line(error)})") from error
    return tensors


def _file(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"{path}: no such file; a folder as its owner publishes it has {path.name}")
    return path


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what transformers prints on loading: what matters of it is raised."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity(logging.CRITICAL)
        logging.disable_progress_bar()
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def _line(error: Exception) -> str:
    """The first line of a message; its class where there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


Float32 = NDArray[np.float32]

SIDE = 224
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of its colours, of 1."""
_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def dino_input(frames: Float32, *, released: bool = False) -> Float32:
    """Prepare frames (n, H, W, 3) float32 in [0, 1] for DINO: squeezed to 224 x 224, normalised as for ImageNet."""
    small = np.empty((len(frames), SIDE, SIDE, 3), np.float32)
    for frame, out in zip(frames, small, strict=True):
        across = _shrunk(frame).transpose(1, 0, 2)  # (W, 224, 3)
        out[:] = _shrunk(across).transpose(1, 0, 2)
    if released:
        small /= np.float32(255)
    return _normalised(small, *IMAGENET)


def clip_input(frames: Float32) -> Float32:
    """(n, 224, 224, 3): bicubic (a = -0.75) unsmoothed, the shorter side to 224, its centre, CLIP's constants."""
    rows, columns = frames.shape[1:3]
    short = min(rows, columns)
    size = (SIDE * columns // short, SIDE * rows // short)
    left, top = ((side - SIDE) // 2 for side in size)
    small = [cv2.resize(frame, size, interpolation=cv2.INTER_CUBIC)[top:, left:][:SIDE, :SIDE] for frame in frames]
    return _normalised(np.stack(small), _CLIP_MEAN, _CLIP_STD)


def musiq_input(frames: Float32) -> Float32:
    """(n, H, W, 3) in [-1, 1]; the network makes its three scales itself."""
    return np.asarray(2 * frames - 1, np.float32)


def _normalised(frames: Float32, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Float32:
    return np.asarray((frames - np.array(mean, np.float32)) / np.array(deviation, np.float32), np.float32)


def _shrunk(stack: Float32) -> Float32:
    """(n, m, 3) with 224 weighted means along the first axis: (224, m, 3)."""
    rows = np.ascontiguousarray(stack).reshape(len(stack), -1)
    result: Float32 = (_shrinking(len(stack)) @ rows).reshape(SIDE, *stack.shape[1:])
    return result


@lru_cache(maxsize=8)
def _shrinking(n: int) -> Float32:
    """Weights (224, n) of a triangle as wide as the step between outputs, at least as that between inputs."""
    scale = n / SIDE
    reach = max(scale, 1.0)
    centres = (np.arange(SIDE) + 0.5) * scale
    weights = np.maximum(0, 1 - np.abs(np.arange(n) + 0.5 - centres[:, None]) / reach)
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)


def framewise(
    frames: NDArray[Any],
    device: ComputeDevice,
    run: Callable[[Any], Any],
    *,
    sides: tuple[int, ...],
    at_once: int,
    on_gpu: int | None = None,
) -> Float32:
    """Run a network (b, 3, H, W) on frames (n, H, W, 3) float32 in batches. Returns (n, *sides) float32."""
    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.float32 or 0 in frames.shape[1:]:
        raise ShapeError(f"expected frames (n, H, W, 3) float32, got {frames.shape} {frames.dtype}")
    torch = torch_for("a network")
    found = np.empty((len(frames), *sides), np.float32)

    def answer(part: slice) -> range:
        shown = np.ascontiguousarray(frames[part].transpose(0, 3, 1, 2))
        found[part] = run(torch.tensor(shown, device=device.name)).float().cpu().numpy()
        return range(part.start, part.stop)

    most = on_gpu if device.is_cuda and on_gpu is not None else at_once
    with inference(device):
        Batches(device, "frame").run(answer, len(frames), most)
    return found


def square_frames(frames: NDArray[Any], side: int) -> NDArray[Any]:
    """Check that frames are square. frames: (n, side, side, 3)."""
    if frames.shape[1:3] != (side, side):
        raise ShapeError(f"expected frames (n, {side}, {side}, 3), got {frames.shape}")
    return frames


def pair(side: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of a size that a configuration gives as one number or as two."""
    height, width = (side, side) if isinstance(side, int) else side
    return height, width


def checked_frame(rgb: NDArray[np.uint8]) -> tuple[int, int]:
    """Return height and width of a frame (H, W, 3) uint8."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or 0 in rgb.shape:
        raise ShapeError(f"a frame is (H, W, 3) uint8, got {rgb.shape} {rgb.dtype}")
    return rgb.shape[0], rgb.shape[1]


def checked_box(box: Any, height: int, width: int) -> NDArray[np.float32]:
    """Check a box and clip it to the frame. Returns (4,) float32."""
    corners = np.asarray(box, np.float32)
    if corners.shape != (4,) or not np.isfinite(corners).all():
        raise ShapeError(f"a box is four finite numbers x0, y0, x1, y1 in pixels, got {corners.tolist()}")
    inside = np.clip(corners, 0, np.array([width, height, width, height], np.float32))
    if not (inside[0] < inside[2] and inside[1] < inside[3]):
        raise ShapeError(f"the box {corners.tolist()} holds nothing of a frame of {width}x{height}")
    return inside


def shown(rgb: NDArray[np.uint8], height: int, width: int, mean: Any, deviation: Any, device: ComputeDevice) -> Any:
    """Convert a frame to a normalised tensor (1, 3, height, width), resized as the published processors do.
    Bilinear, antialiased if it shrinks, in whole levels; always on the CPU, so that every device gets the same."""
    torch = torch_for("a network")
    levels = torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))[None]
    if rgb.shape[:2] != (height, width):
        levels = torch.nn.functional.interpolate(levels, (height, width), mode="bilinear", antialias=True)
    levels = levels.to(device.name, torch.float32)
    centre, spread = (255 * torch.tensor(each, device=device.name).view(1, 3, 1, 1) for each in (mean, deviation))
    return ((levels - centre) / spread).to(device.dtype)


def masks_of(logits: Any, height: int, width: int) -> NDArray[np.bool_]:
    """Resize mask logits (n, h, w) bilinearly and threshold them at a probability of 0.5, one by one to save memory."""
    torch = torch_for("a network")
    masks = np.zeros((len(logits), height, width), np.bool_)
    for each, mask in zip(logits, masks, strict=True):
        resized = torch.nn.functional.interpolate(each.float()[None, None], (height, width), mode="bilinear")
        mask[:] = (resized[0, 0] > 0).cpu().numpy()
    return masks
