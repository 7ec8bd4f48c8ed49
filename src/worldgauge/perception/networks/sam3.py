"""SAM 3: every instance of what a short text names, as a mask with a confidence.

    found = open_network("sam3").segment(rgb, CATEGORIES)
    scene = worldgauge.perception.segment.Masks(found).scene()

Source: LoopNav, section on the scene graph score; the published processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.perception.masks import CONFIDENCE, Found
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import load_pretrained, load_tokenizer
from worldgauge.perception.networks.device import inference, torch_for, transformers_for
from worldgauge.perception.networks.preprocessing import checked_frame, masks_of, pair, shown

_HALF = (0.5, 0.5, 0.5)
_PROMPTS = 5
"""Texts at once; each takes memory of its own next to that of the frame."""


@networks.register("sam3", what="segment")
class Sam3:
    """Instances of named things in one frame. Frames are squeezed to the network's square, 1008x1008.

    Args:
        folder: Folder with config.json, model.safetensors (of the image model, or of the video model that contains it)
            and tokenizer.json, as published for transformers.
        device: Device and precision.

    Raises:
        DataError: The files do not fit.
    """

    name = "sam3"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._device = device
        self._model = load_pretrained(
            "Sam3Model",
            folder,
            device,
            what=f"'{self.name}'",
            ignored_prefixes=("tracker_model.", "tracker_neck."),
            also=("sam3_video",),
        )
        text = self._model.config.text_config
        self._tokenizer = load_tokenizer(folder, what=f"'{self.name}'", words=text.vocab_size)
        self._width = text.max_position_embeddings
        self._texts: dict[tuple[str, ...], tuple[Any, Any]] = {}

    def segment(self, rgb: NDArray[np.uint8], categories: Sequence[str], *, above: float = CONFIDENCE) -> Found:
        """Segment all instances of categories in a frame.

        An instance's confidence is its probability times that of its category being in the frame at all.

        Args:
            rgb: (H, W, 3) uint8.
            categories: Names, each taken once.
            above: Instances at or below this confidence are left out.

        Returns:
            Instances by category.

        Raises:
            ShapeError: Not such a frame.
            UsageError: A category without words, or too long.
        """
        height, width = checked_frame(rgb)
        names = tuple(dict.fromkeys(categories))
        outputs = transformers_for(self.name).modeling_outputs
        found: Found = {}
        if not names:
            return found
        with inference(self._device):
            texts, in_text = self._texts_of(names)
            side = self._model.config.vision_config.image_size
            vision = self._model.get_vision_features(shown(rgb, *pair(side), _HALF, _HALF, self._device))
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
            ids, counts = ids.to(self._device.name), counts.to(self._device.name)
            features = self._model.get_text_features(input_ids=ids, attention_mask=counts)
            self._texts = {names: (features.pooler_output, counts)}
        return self._texts[names]


def _repeated(vision: Any, times: int) -> Any:
    """The features of one frame, looked at `times` times."""
    maps = {
        key: tuple(level.expand(times, -1, -1, -1) for level in vision[key])
        for key in ("fpn_hidden_states", "fpn_position_encoding")
    }
    return type(vision)(**maps)
