"""Networks that transformers has the code of, from a folder as their owners publish it: config.json, model.safetensors.

Only these two files are read, and neither is run: no pickle, no code of the folder, nothing over the network.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.perception.networks.device import ComputeDevice, torch_for, transformers_for

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
    """Load a model of transformers, in evaluation mode.

    Args:
        model_class_name: Its class in transformers.
        folder: Folder with config.json and model.safetensors.
        device: Where it runs.
        what: What needs it, for messages.
        ignored_prefixes: Prefixes of tensors in the file that the model does not use.
        also: Further model types whose folders hold this model as a part.

    Raises:
        MissingExtraError: transformers is not installed.
        DataError: A file is missing, unreadable, or of another model.
    """
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
            raise DataError(f"{folder / WEIGHTS}: not the weights of {what}, tensors {fault}: {_few(names)}")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = tensor.data.clone()  # until now the file itself, mapped: who writes to it would change answers
    return model.requires_grad_(False).to(device.name).eval()


def load_tokenizer(folder: Path, *, what: str, words: int) -> Any:
    """Load a tokenizer that neither truncates nor pads.

    Args:
        folder: Folder with tokenizer.json.
        what: What needs it, for messages.
        words: Size of the model's vocabulary.

    Raises:
        MissingExtraError: transformers is not installed.
        DataError: The file is missing, unreadable, or has a larger vocabulary.
    """
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


def _few(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _line(error: Exception) -> str:
    """The first line of a message; its class where there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
