"""The network of nearness: by loops, by differences, at every heading, and its file."""

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.panorama import rolled
from worldgauge.suites.closedloop.home_strips import panorama_strip, view_strip
from worldgauge.suites.closedloop.navigation.nearness import read
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Stance


def test_a_view_and_a_panorama_of_the_same_place_have_the_same_strip() -> None:
    home = Home(7)
    place = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.6))[0]
    stance = Stance(float(place[0]), float(place[1]), 0.5)
    camera = Camera.from_horizontal_fov(128, 128, 90)
    panorama = home.view(stance.eye(), Panorama(512, 256)).rgb
    for turns in (0, 3):
        view = home.view(stance.turned(np.radians(-22.5 * turns)).eye(), camera).rgb
        around = panorama_strip(rolled(panorama, 22.5 * turns))[:, 48:80]
        assert np.abs(view_strip(view, camera) - around).mean() < 0.06
        assert np.abs(view_strip(view, camera) - np.roll(around, 8, axis=1)).mean() > 0.1


@pytest.mark.parametrize("damaged", [b"", b"PK", b"text"])
def test_a_damaged_file_is_refused(damaged: bytes) -> None:
    with pytest.raises(DataError, match=r"made\.npz: no network of nearness"):
        read(damaged, "made.npz")
