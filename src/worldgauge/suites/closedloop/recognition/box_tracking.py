"""Tracking of a target in imagined frames by SAM 2 masks; the alternative is `track_by_geometry`.

Source: World-in-World, section 7, box tracking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Panorama
from worldgauge.core.panorama import perspective, rolled
from worldgauge.perception.networks import Ready
from worldgauge.suites.closedloop.policies.cached_inference import ask_masks, network
from worldgauge.suites.closedloop.policies.contract import ActionPlan, PolicyKit, Rollout
from worldgauge.suites.closedloop.recognition.boxes import mask_box, target_box
from worldgauge.suites.closedloop.recognition.tracking import Follow, Target, TrackedView, track_by_geometry

NETWORK = "sam2"
CENTRED, PLAIN = (0.0, 0.5), (0.0, 1.0)
"""Limits of a box's share of a view turned towards it, and of any other view."""


def follower(kit: PolicyKit) -> Follow:
    """Return the tracker that the kit's option "tracker" names: "geometry" (default) or "sam2"."""
    return BoxTracker() if kit.options.get("tracker") == "sam2" else track_by_geometry


class BoxTracker:
    """Tracks by masks.

    Args:
        tracks: As `Sam2.track`; None for the one of that name, opened on first use.

    Raises whatever `network` raises.
    """

    def __init__(self, tracks: Ready | None = None) -> None:
        self._tracks = tracks

    def __call__(
        self, target: Target, plan: ActionPlan, rollout: Rollout, frames: Sequence[int]
    ) -> Iterator[TrackedView]:
        """Track like `track_by_geometry`, from the target's box in frame 0 to the first frame with an empty mask.

        Frames in which the box is not within limits are passed over. Boxes are grown as the real view's are. inside: 1,
        since masks do not tell what is out of view.
        """
        wanted = {frame for frame in frames if frame < len(rollout.frames)}
        if not wanted:
            return
        if rollout.view == "panorama":
            yield from self._turned(target, plan, rollout, wanted)
            return
        masks = self._masks(rollout.frames, target.box_seen_by(rollout.camera, plan.turn_left_rad))
        for frame in _shown(masks, wanted):
            middle = mask_box(masks[frame], PLAIN)
            if frame not in wanted or middle.box is None or middle.shift_px is None:
                continue
            camera = rollout.camera
            off = math.atan2(camera.width / 2 - middle.shift_px + 0.5 - camera.cx, camera.fx)
            yield _seen(rollout, frame, rollout.seen(frame), masks[frame], off)

    def _turned(self, target: Target, plan: ActionPlan, rollout: Rollout, wanted: set[int]) -> Iterator[TrackedView]:
        """Track through panoramas, rolled so that the target starts at the centre; each view is turned towards it."""
        height, width = rollout.frames.shape[1:3]
        bearing = target.box_bearing + plan.turn_left_rad
        start = round(bearing / (2 * math.pi) * width) * 360 / width  # whole columns, so that nothing is resampled
        clip = np.stack([rolled(frame, start) for frame in rollout.frames])
        eye = Panorama(width, height)
        masks = self._masks(clip, target.box_seen_by(eye, plan.turn_left_rad - math.radians(start)))
        middle = 0
        for frame in _shown(masks, wanted):
            # Centred on its last place, so that it is in one piece even across the seam.
            column = middle - (mask_box(np.roll(masks[frame], -middle, axis=1), PLAIN).shift_px or 0.0)
            middle, right = round(column), column * 360 / width
            if frame not in wanted:
                continue
            aim = start + right
            image = perspective(rollout.frames[frame], rollout.camera, yaw_right_deg=aim, rule=rollout.rule)
            bits = masks[frame].astype(np.uint8)
            mask = perspective(bits, rollout.camera, yaw_right_deg=right, rule=rollout.rule, nearest=True) > 0
            if mask_box(mask, CENTRED).box is not None:
                yield _seen(rollout, frame, image, mask, math.remainder(math.radians(aim), 2 * math.pi))

    def _masks(self, clip: NDArray[np.uint8], box: tuple[float, float, float, float] | None) -> NDArray[np.bool_]:
        """Return masks (T, H, W) of what the box holds in the first frame; all empty if it is out of view."""
        if box is None:
            return np.zeros(clip.shape[:3], np.bool_)
        one = self._tracks = self._tracks or network(NETWORK)
        return ask_masks(one, ["track", box], clip, lambda: one.network.track(clip, box))


def _shown(masks: NDArray[np.bool_], wanted: set[int]) -> Iterator[int]:
    """Frames from 1 to the last that is wanted, up to the first with an empty mask."""
    for frame in range(1, max(wanted) + 1):
        if not masks[frame].any():
            return
        yield frame


def _seen(
    rollout: Rollout, frame: int, image: NDArray[np.uint8], mask: NDArray[np.bool_], off_rad: float
) -> TrackedView:
    box = target_box(mask)
    assert box is not None
    return TrackedView(frame, int(rollout.frame_to_action[frame]), image, box, 1.0, off_rad)
