"""Things in frames: SAM 2 from boxes, also through a clip; SAM 3 and Grounding DINO from names.

    masks = open_network("sam2").track(frames, box)

Source: World-in-World, section on box tracking and landmarks; the published processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.perception.instances import CONFIDENCE, Found
from worldgauge.perception.networks import ComputeDevice, inference, networks, torch_for, transformers_for
from worldgauge.perception.networks._pretrained import (
    IMAGENET,
    checked_box,
    checked_frame,
    load_pretrained,
    load_tokenizer,
    masks_of,
    pair,
    shown,
)

_CORNERS = (2, 3)
"""What the network calls a box's first and second corner."""


@networks.register("sam2", what="track")
class Sam2:
    """Masks from boxes. Frames are squeezed to the network's square, 1024x1024."""

    name = "sam2"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._folder, self._device = folder, device
        self._video = load_pretrained("Sam2VideoModel", folder, device, what=f"'{self.name}'")
        self._image: Any = None

    def track(self, frames: NDArray[np.uint8], box: ArrayLike) -> NDArray[np.bool_]:
        """Segment what a box holds in the first of frames (T, H, W, 3), and track it: masks (T, H, W), empty while
        hidden. Frames are prepared one at a time and only the network's memory is retained, so only the masks grow with
        T."""
        if frames.ndim != 4 or len(frames) == 0:
            raise ShapeError(f"a clip is (T, H, W, 3) uint8, T at least 1, got {frames.shape} {frames.dtype}")
        height, width = checked_frame(frames[0])
        config = self._video.config
        kept = max(config.num_maskmem, config.max_object_pointers_in_encoder)
        masks = np.empty((len(frames), height, width), np.bool_)
        with inference(self._device):
            session = self._session(frames, checked_box(box, height, width))
            for index in range(len(frames)):
                answer = self._video(inference_session=session, frame_idx=index)
                masks[index] = masks_of(answer.pred_masks[:, 0], height, width)[0]
                session.output_dict_per_obj[0]["non_cond_frame_outputs"].pop(index - kept, None)
        return masks

    def segment_boxes(self, rgb: NDArray[np.uint8], boxes: Sequence[ArrayLike]) -> NDArray[np.bool_]:
        """Segment what each of n boxes holds in a frame. rgb: (H, W, 3) uint8. Returns masks (n, H, W) bool."""
        height, width = checked_frame(rgb)
        corners = [checked_box(box, height, width) for box in boxes]
        if not corners:
            return np.zeros((0, height, width), np.bool_)
        if self._image is None:  # the same weights without the memory
            self._image = load_pretrained(
                "Sam2Model", self._folder, self._device, what=f"'{self.name}'", also=("sam2_video",)
            )
        with inference(self._device):
            scaled = self._scaled(np.stack(corners), height, width)
            answer = self._image(
                pixel_values=self._shown(rgb), input_boxes=scaled.view(1, -1, 4), multimask_output=False
            )
            return masks_of(answer.pred_masks[0, :, 0], height, width)

    def _session(self, frames: NDArray[np.uint8], box: NDArray[np.float32]) -> Any:
        """The network's record of one clip, asked for what `box` holds in the first frame."""
        torch = torch_for(self.name)
        height, width = frames.shape[1:3]
        session = transformers_for(self.name).Sam2VideoInferenceSession(
            video_height=height,
            video_width=width,
            inference_device=self._device.name,
            inference_state_device=self._device.name,
            video_storage_device=self._device.name,
            dtype=self._device.dtype,
        )
        session.processed_frames = _Prepared(self, frames)
        corners = self._scaled(box[None], height, width).view(1, 1, 2, 2)
        labels = torch.tensor([[_CORNERS]], dtype=torch.int32)
        session.add_point_inputs(session.obj_id_to_idx(1), 0, {"point_coords": corners, "point_labels": labels})
        session.obj_with_new_inputs = [1]
        return session

    def _scaled(self, boxes: NDArray[np.float32], height: int, width: int) -> Any:
        """Boxes in pixels of what the network is shown."""
        rows, columns = pair(self._video.config.image_size)
        factors = np.array([columns / width, rows / height] * 2, np.float32)
        return torch_for(self.name).from_numpy(boxes * factors).to(self._device.name)

    def _shown(self, rgb: NDArray[np.uint8]) -> Any:
        return shown(rgb, *pair(self._video.config.image_size), *IMAGENET, self._device)


class _Prepared:
    """The frames of a clip as the network asks for them, made on demand instead of all beforehand."""

    def __init__(self, network: Sam2, frames: NDArray[np.uint8]) -> None:
        self._network, self._frames = network, frames

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int) -> Any:
        return self._network._shown(self._frames[index])[0]


_HALF = (0.5, 0.5, 0.5)
_PROMPTS = 5
"""Texts at once; each takes memory of its own next to that of the frame."""


@networks.register("sam3", what="segment")
class Sam3Network:
    """Instances of named things in one frame. Frames are squeezed to the network's square, 1008x1008.
    `folder` holds the image model, or the video model that contains it, and tokenizer.json, as for transformers."""

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
        An instance's confidence is its probability times that of its category being in the frame at all."""
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


SCORE = 0.3
"""Lowest score that is returned by default."""
SHORT_PX, LONG_PX = 800, 1333
"""The shorter side of what the network is shown, unless the longer one would exceed the second."""


class DetectedBox(NamedTuple):
    """A named thing in a frame."""

    name: str
    score: float
    box: tuple[float, float, float, float]


@networks.register("grounding-dino", what="detect")
class GroundingDino:
    """Boxes of named things in one frame.
    `folder` holds config.json, model.safetensors and tokenizer.json, as published for transformers."""

    name = "grounding-dino"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._device = device
        self._model = load_pretrained(
            "GroundingDinoForObjectDetection",
            folder,
            device,
            what=f"'{self.name}'",
            ignored_prefixes=("model.text_backbone.embeddings.position_ids",),  # counted from 0 up, in old files
        )
        words = self._model.config.text_config.vocab_size
        self._tokenizer = load_tokenizer(folder, what=f"'{self.name}'", words=words)

    def detect(self, rgb: NDArray[np.uint8], names: Sequence[str], *, score: float = SCORE) -> list[DetectedBox]:
        """Detect named things in a frame. A box has the name whose tokens respond most, and that response as its score.
        Each query has as many names as the network can read; what two queries find in one place counts as two
        detections."""
        height, width = checked_frame(rgb)
        found: list[DetectedBox] = []
        scale = np.array([width, height, width, height], np.float32)
        with inference(self._device):
            pixels = shown(rgb, *shown_size(height, width), *IMAGENET, self._device)
            for part, ids, spans in self._questions(list(dict.fromkeys(names))):
                tokens = torch_for(self.name).tensor([ids], device=self._device.name)
                answer = self._model(pixel_values=pixels, input_ids=tokens)
                by_token = answer.logits[0].float().sigmoid().cpu().numpy()
                by_name = np.stack([by_token[:, span].max(axis=1) for span in spans], axis=1)
                centre, size = np.split(answer.pred_boxes[0].float().cpu().numpy(), 2, axis=1)
                corners = np.concatenate([centre - size / 2, centre + size / 2], axis=1)
                corners = np.clip(corners, 0, 1) * scale
                for row in np.flatnonzero(by_name.max(axis=1) >= score):
                    best = int(by_name[row].argmax())
                    x0, y0, x1, y1 = corners[row].tolist()
                    if x0 < x1 and y0 < y1:  # some lie outside the frame
                        found.append(DetectedBox(part[best], float(by_name[row, best]), (x0, y0, x1, y1)))
        return sorted(found, key=lambda each: -each.score)

    def _questions(self, names: Sequence[str]) -> Iterator[tuple[list[str], list[int], list[slice]]]:
        """Names, token ids of a text of them, and which of these are each name's: as many names at a time as fit."""
        part: list[str] = []
        for name in names:
            if not name.strip() or set(".?") & set(name):  # the network parts names there
                raise UsageError(f"'{name}' is no name to look for: words without a full stop are needed")
            if len(self._tokenizer.encode(_text([name])).ids) > self._model.config.max_text_len:
                raise UsageError(f"'{name}' is too long a name: {self._model.config.max_text_len} tokens at most")
        for name in names:
            if part and len(self._tokenizer.encode(_text([*part, name])).ids) > self._model.config.max_text_len:
                yield self._question(part)
                part = []
            part.append(name)
        if part:
            yield self._question(part)

    def _question(self, names: list[str]) -> tuple[list[str], list[int], list[slice]]:
        text = self._tokenizer.encode(_text(names))
        spans, begin = [], 0
        for name in names:
            end = begin + len(_text([name])) - 1
            inside = [index for index, (start, stop) in enumerate(text.offsets) if begin <= start < stop <= end]
            if not inside:
                raise UsageError(f"'{name}' is no name to look for: the tokenizer knows no words in it")
            spans.append(slice(inside[0], inside[-1] + 1))
            begin = end + 2
        return names, text.ids, spans


def shown_size(height: int, width: int) -> tuple[int, int]:
    """Return the size at which a frame is shown to the network."""
    short, long = sorted((height, width))
    exact = min(SHORT_PX, LONG_PX * short / long)
    if round(exact) == short:
        return height, width
    less, more = max(round(exact), 1), int(exact * long / short)
    return (less, more) if height <= width else (more, less)


def _text(names: Sequence[str]) -> str:
    return ". ".join(name.strip().lower() for name in names) + "."
