"""SAM 3: every instance of what a short text names, as a mask with a confidence.

    found = open_network("sam3").segment(rgb, CATEGORIES)
    scene = worldgauge.perception.segment.Masks(found).scene()

Source: LoopNav, section on the scene graph score; the published processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.perception.networks import Place, networks
from worldgauge.perception.networks._pretrained import load_pretrained, load_tokenizer
from worldgauge.perception.networks.place import inference, torch_for, transformers_for
from worldgauge.perception.networks.preprocessing import checked_frame, masks_of, pair, shown
from worldgauge.perception.segment import CONFIDENCE

Found = dict[str, list[tuple[NDArray[np.bool_], float]]]
"""By category, (mask (H, W) bool, confidence) pairs, the surest first; masks may overlap."""

_HALF = (0.5, 0.5, 0.5)
_PROMPTS = 5
"""Texts at once; each takes memory of its own next to that of the frame."""


@networks.register("sam3", what="segment")
class Sam3:
    """Instances of what texts name in one frame. Frames are squeezed to the network's square, 1008x1008.

    folder: config.json, model.safetensors (of the image model, or of the video model that contains it) and
    tokenizer.json, as published for transformers. Raises DataError for files that do not fit.
    """

    name = "sam3"
    version = 1

    def __init__(self, folder: Path, place: Place) -> None:
        self._place = place
        self._model = load_pretrained(
            "Sam3Model",
            folder,
            place,
            what=f"'{self.name}'",
            ignored_prefixes=("tracker_model.", "tracker_neck."),
            also=("sam3_video",),
        )
        text = self._model.config.text_config
        self._tokenizer = load_tokenizer(folder, what=f"'{self.name}'", words=text.vocab_size)
        self._width = text.max_position_embeddings
        self._texts: dict[tuple[str, ...], tuple[Any, Any]] = {}

    def segment(self, rgb: NDArray[np.uint8], categories: Sequence[str], *, above: float = CONFIDENCE) -> Found:
        """What was found of each of `categories`, taken once each in their order, in a frame (H, W, 3) uint8.

        Confidence: probability of the instance times that of its category being in the frame at all; those at or below
        `above` are left out. Raises ShapeError, and UsageError for a category without words or too long a one.
        """
        height, width = checked_frame(rgb)
        names = tuple(dict.fromkeys(categories))
        outputs = transformers_for(self.name).modeling_outputs
        found: Found = {}
        if not names:
            return found
        with inference(self._place):
            texts, in_text = self._texts_of(names)
            side = self._model.config.vision_config.image_size
            vision = self._model.get_vision_features(shown(rgb, *pair(side), _HALF, _HALF, self._place))
            for start in range(0, len(names), _PROMPTS):
                part = slice(start, start + _PROMPTS)
                answer = self._model(
                    vision_embeds=_repeated(vision, len(names[part])),
                    text_embeds=outputs.BaseModelOutputWithPooling(pooler_output=texts[part]),
                    attention_mask=in_text[part],
                )
                confidence = answer.pred_logits.float().sigmoid() * answer.presence_logits.float().sigmoid()
                for name, sure, logits in zip(names[part], confidence, answer.pred_masks, strict=True):
                    order = sure.argsort(descending=True, stable=True)
                    order = order[sure[order] > above]
                    masks = masks_of(logits[order], height, width)
                    found[name] = list(zip(masks, sure[order].tolist(), strict=True))
        return found

    def _texts_of(self, names: tuple[str, ...]) -> tuple[Any, Any]:
        """Features (n, width, channels) of the texts and which of their tokens count, made once."""
        if names not in self._texts:
            torch = torch_for(self.name)
            ids = torch.zeros(len(names), self._width, dtype=torch.int64)
            counts = torch.zeros_like(ids)
            for row, name in enumerate(names):
                tokens = self._tokenizer.encode(name).ids
                if not name.strip() or len(tokens) > self._width:
                    raise UsageError(f"'{name}' is no text to look for: one of up to {self._width} tokens is needed")
                ids[row, : len(tokens)] = torch.tensor(tokens)
                counts[row, : len(tokens)] = 1
            ids, counts = ids.to(self._place.device), counts.to(self._place.device)
            features = self._model.get_text_features(input_ids=ids, attention_mask=counts)
            self._texts = {names: (features.pooler_output, counts)}
        return self._texts[names]


def packed(found: Mapping[str, Iterable[tuple[NDArray[np.bool_], float]]]) -> dict[str, NDArray[Any]]:
    """What was found in a frame as arrays to store, of n masks: categories (c,) text, category (n,) index of them,
    confidence (n,) float64, bits (n, ceil(H * W / 8)) uint8, eight pixels each, size (2,) H and W. See `unpacked`.
    """
    pairs = [(index, *pair) for index, group in enumerate(found.values()) for pair in group]
    masks = [mask for _, mask, _ in pairs]
    if len({mask.shape for mask in masks}) > 1:
        raise ShapeError(f"masks of one frame differ in size: {sorted({mask.shape for mask in masks})}")
    height, width = masks[0].shape if masks else (0, 0)
    return {
        "categories": np.array(list(found), np.str_),
        "category": np.array([index for index, _, _ in pairs], np.int32),
        "confidence": np.array([confidence for _, _, confidence in pairs], np.float64),
        "bits": np.packbits(np.array(masks, np.bool_).reshape(len(masks), height * width), axis=1),
        "size": np.array([height, width], np.int32),
    }


def unpacked(arrays: Mapping[str, NDArray[Any]]) -> Found:
    """What `packed` was given. Raises ShapeError for arrays that are not its own."""
    names = [str(name) for name in arrays["categories"]]
    height, width = (int(side) for side in arrays["size"])
    bits, category, confidence = (arrays[key] for key in ("bits", "category", "confidence"))
    if bits.shape != (len(category), -(-height * width // 8)) or confidence.shape != category.shape:
        raise ShapeError(f"bits {bits.shape} are not {len(category)} masks of {width}x{height}")
    found: Found = {name: [] for name in names}
    for index, sure, row in zip(category, confidence, bits, strict=True):
        mask = np.unpackbits(row, count=height * width).reshape(height, width).astype(np.bool_)
        found[names[index]].append((mask, float(sure)))
    return found


def _repeated(vision: Any, times: int) -> Any:
    """The features of one frame, looked at `times` times."""
    maps = {
        key: tuple(level.expand(times, -1, -1, -1) for level in vision[key])
        for key in ("fpn_hidden_states", "fpn_position_encoding")
    }
    return type(vision)(**maps)
