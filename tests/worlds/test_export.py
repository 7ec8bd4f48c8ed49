from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.export import Exported, export_starter, export_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.prepared import Reading
from worldgauge.worlds.walking.geodesic import Geodesic

FACTS = WorldFacts("indoor", {"seed": 1})


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(1)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Exported]:
    path = tmp_path_factory.mktemp("export") / "home.glb"
    return path, export_world(FACTS, path, texel_m=0.012)


@pytest.fixture(scope="module")
def scan(exported: tuple[Path, Exported], tmp_path_factory: pytest.TempPathFactory) -> Scan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDGAUGE_CACHE", "off")
        return Scan.of_file(exported[0], Reading())


def test_read_back_it_is_the_home(home: Home, scan: Scan) -> None:
    rng, geodesic = np.random.default_rng(0), Geodesic(home.floor)
    for camera, count in ((Camera.from_horizontal_fov(192, 108, 90), 6), (Panorama(192, 108), 3)):
        for _ in range(count):
            eye = [*geodesic.random_point(rng), 1.2]
            pose = pose_from_yaw_pitch(eye, rng.uniform(-np.pi, np.pi), rng.uniform(-0.4, 0.4))
            truth, view = home.view(pose, camera), scan.view(pose, camera)
            assert (np.abs(truth.depth - view.depth) > 1e-3).sum() <= 2
            assert (truth.instance != view.instance).sum() <= 2
            names = np.array(home.categories)[truth.category] == np.array(scan.categories)[view.category]
            assert (~names).sum() <= 2
            error = ((truth.rgb.astype(float) - view.rgb) ** 2).mean()
            assert 10 * np.log10(255**2 / error) > 27  # texels of 12 mm


def test_its_floor_and_things_are_those_of_the_home(home: Home, scan: Scan) -> None:
    theirs, ours = Geodesic(home.floor).main.sum(), Geodesic(scan.floor).main.sum()
    assert ours == pytest.approx(theirs, rel=0.06)
    known = {one.instance: one for one in home.landmarks}
    for thing in scan.landmarks:
        assert thing.category == known[thing.instance].category
    # What lies wholly inside another thing has no face to be seen.
    assert len(scan.landmarks) >= 0.95 * len(known)


def test_an_independent_reader_opens_it(exported: tuple[Path, Exported], scan: Scan) -> None:
    trimesh = pytest.importorskip("trimesh")
    path, made = exported
    scene = trimesh.load(path)
    assert sum(len(one.faces) for one in scene.geometry.values()) == made.triangles
    corners = scan.prepared.scene.corners.reshape(-1, 3).astype(float)
    low, high = corners.min(0), corners.max(0)
    # y up: x there is minus our y, z there is minus our x.
    assert np.allclose(scene.bounds, [[-high[1], low[2], -high[0]], [-low[1], high[2], -low[0]]], atol=1e-5)
    assert all(one.visual.material.baseColorTexture is not None for one in scene.geometry.values())


def test_z_up(tmp_path: Path, scan: Scan) -> None:
    export_world(FACTS, tmp_path / "z.glb", texel_m=0.1, quality=None, up="z")
    again = Scan.of_file(tmp_path / "z.glb", Reading("z"))
    one, other = (np.unique(each.prepared.scene.corners, axis=0) for each in (again, scan))
    assert np.array_equal(one, other)


@pytest.mark.slow
def test_the_scans_to_begin_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    made = export_starter(tmp_path)
    assert [path.name for path in made] == ["home-1.glb", "home-2.glb"]
    assert sum(path.stat().st_size for path in made) < 8_000_000
    for path, one in made.items():
        scan = Scan.of_file(path, Reading())
        assert len(scan.landmarks) == one.things > 30
        assert scan.heightfield.storeys


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        (WorldFacts("tabletop", {}), {}, "cannot be exported; these can: indoor, voxel"),
        (FACTS, {"texel_m": 0.0}, "a texel is 0.001 to 1 m"),
        (FACTS, {"quality": 0}, "quality is 1 to 100"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, facts: WorldFacts, options: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        export_world(facts, tmp_path / "a.glb", **options)  # type: ignore[arg-type]
