"""What the cameras of a collection see: one view after another, or in batches on a device that draw ahead."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Image
from worldgauge.engine.collection.collection import Tell
from worldgauge.worlds import View, World
from worldgauge.worlds.gpu.batched import Batched

_BATCH = 64
_BATCH_PIXELS = 2**24
"""A batch holds at most so many pixels: 184 MB of colour, depth and labels."""


def render(
    world: World, poses: FloatArray, camera: Camera | Panorama, progress: Tell, device: str | None = None
) -> Iterator[Image]:
    """Render the colours that a camera sees from each pose.

    Args:
        world: The world.
        poses: Camera-to-world poses, (T, 4, 4), in metres.
        camera: The camera.
        progress: Called with the number of frames done and the total.
        device: As for `views`.

    Yields:
        One image per pose, (H, W, 3) uint8.

    Raises:
        UsageError: As `views`.
    """
    for view in views(world, poses, camera, progress, device):
        yield view.rgb


def views(
    world: World, poses: FloatArray, camera: Camera | Panorama, progress: Tell, device: str | None = None
) -> Iterator[View]:
    """Render what a camera sees from each pose.

    Args:
        world: The world.
        poses: Camera-to-world poses, (T, 4, 4), in metres.
        camera: The camera.
        progress: Called with the number of frames done and the total.
        device: None for the processor's camera, one view at a time; else a device of `World.views`, such as "cuda",
            which draws the next batch while the last one is used.
    """
    if device is None:
        for number, pose in enumerate(poses):
            progress(number, len(poses))
            yield world.view(pose, camera)
        return
    if not isinstance(world, Batched):
        raise UsageError(f"world '{world.facts.name}' is drawn on the processor only: leave --device out")
    size = max(1, min(_BATCH, _BATCH_PIXELS // (camera.width * camera.height)))
    with ThreadPoolExecutor(1) as ahead:
        batch = ahead.submit(world.views, poses[:size], camera, device=device)
        for start in range(0, len(poses), size):
            seen = batch.result()
            if start + size < len(poses):
                batch = ahead.submit(world.views, poses[start + size : start + 2 * size], camera, device=device)
            for place in range(len(seen.rgb)):
                progress(start + place, len(poses))
                yield View(seen.rgb[place], seen.depth[place], seen.category[place], seen.instance[place])
