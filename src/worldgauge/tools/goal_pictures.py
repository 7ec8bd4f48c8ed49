"""Published goal pictures against what our camera sees there: whether a scan is the right one, and the right way up."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Panorama
from worldgauge.metrics.psnr_ssim import psnr
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.navigation.format import goal_image
from worldgauge.worlds.scan import Scan

LEAST_DB = 15.0
"""Median below which it is taken for another scan: a wrong axis gives about 10, another filter 25 and more."""


class GoalPicture(NamedTuple):
    """A goal and how its picture compares."""

    id: str
    psnr_db: float


def compare_goals(scan: Scan, key: str, folder: Path) -> list[GoalPicture]:
    """Compare the pictures of all navigation goals in a scan with panoramas of ours."""
    data = load(folder)
    own = {scene for scene, world in data.scenes.items() if world is not None and world.params.get("scene") == key}
    found = []
    for episode in data.episodes.get("navigation", ()):
        if episode.scene not in own or episode.goal_image is None:
            continue
        picture = goal_image(episode)
        height, width = picture.shape[:2]
        ours = scan.view(episode.goal.eye(episode.height_m), Panorama(width, height)).rgb
        found.append(GoalPicture(episode.id, psnr(picture, ours)))
    if not found:
        raise DataError(f"{folder}: holds no goal image of the scene '{key}'")
    return found
