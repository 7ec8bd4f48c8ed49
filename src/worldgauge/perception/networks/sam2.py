"""SAM 2: what a box in the first frame holds, followed through a clip; and what boxes hold in a single frame.

    masks = open_network("sam2").track(frames, box)

Source: World-in-World, section on box tracking and landmarks; the published processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import load_pretrained
from worldgauge.perception.networks.device import inference, torch_for, transformers_for
from worldgauge.perception.networks.preprocessing import IMAGENET, checked_box, checked_frame, masks_of, pair, shown

_CORNERS = (2, 3)
"""What the network calls a box's first and second corner."""


@networks.register("sam2", what="track")
class Sam2:
    """Masks from boxes. Frames are squeezed to the network's square, 1024x1024.

    Args:
        folder: Folder with config.json and model.safetensors, as published for transformers.
        device: Device and precision.

    Raises:
        DataError: The files do not fit.
    """

    name = "sam2"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._folder, self._device = folder, device
        self._video = load_pretrained("Sam2VideoModel", folder, device, what=f"'{self.name}'")
        self._image: Any = None

    def track(self, frames: NDArray[np.uint8], box: ArrayLike) -> NDArray[np.bool_]:
        """Segment what a box holds in the first frame, and track it through a clip.

        Frames are prepared one at a time and only what the network looks back at is kept, so only the masks grow with
        T.

        Args:
            frames: (T, H, W, 3) uint8.
            box: x0, y0, x1, y1 in pixels of the first frame.

        Returns:
            Masks (T, H, W) bool, empty where the thing is hidden.

        Raises:
            ShapeError: Not such a clip or box.
        """
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
        """Segment what each of n boxes holds in a frame.

        Args:
            rgb: (H, W, 3) uint8.
            boxes: x0, y0, x1, y1 in pixels each.

        Returns:
            Masks (n, H, W) bool.

        Raises:
            ShapeError: Not such a frame or box.
        """
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
