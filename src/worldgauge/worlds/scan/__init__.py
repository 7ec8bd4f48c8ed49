"""Scans of real rooms: meshes of GLB, glTF and PLY files, drawn by our own camera."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from worldgauge.core.english import some
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.captions import seen, sentence
from worldgauge.worlds.gpu.batch import Batched
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from worldgauge.worlds.gpu.batch import Out, Views
    from worldgauge.worlds.gpu.scenes import ScanBatch
    from worldgauge.worlds.scan.clusters import ScanScene
    from worldgauge.worlds.scan.heightfield import Heightfield
    from worldgauge.worlds.scan.navmesh import NavMesh
    from worldgauge.worlds.scan.prepared import Prepared, ScanOptions
    from worldgauge.worlds.scan.semantics import Names, Region
    from worldgauge.worlds.scan.sources import SceneFiles
    from worldgauge.worlds.walking.ground import Ground

MOST_UNREAD = 0.05
"""Share of the area without its texture beyond which a scan is not used."""


_ROOM = "a room in a real building"
_SHELL = frozenset({"ceiling", "floor", "misc", "object", "objects", "remove", "unknown", "unlabeled", "void", "wall"})
"""Categories that captions do not name."""


@worlds.register("scan", walkable=True, example={"scene": "example/room"})
class Scan(Batched):
    """A scanned place, of a folder that the user has registered. Its files are never part of a data set.

    Instance numbers are those of its file; where nothing was scanned a view is black, and its depth infinite.

    Args:
        scene: Key of the scene, such as "hm3d/00800-TEEsavR23oF".
        storey: The storey of its floor plan, from 0; by default that with most floor.
        sliding: Whether walkers slide along walls.

    Raises:
        WorldError: The scene is not registered, or too much of it is damaged.
        DataError: A file of it is damaged.

    Examples:
        >>> scan = Scan("example/room")
        >>> [landmark.name for landmark in scan.landmarks]
        ['bed', 'table', 'picture', 'bookcase', 'chair']
    """

    categories: tuple[str, ...]
    sliding: bool = False
    names: Names | None = None
    _files: SceneFiles | None = None

    def __init__(self, scene: str, storey: int | None = None, sliding: bool = False) -> None:
        from worldgauge.worlds.scan import sources
        from worldgauge.worlds.scan.prepared import ScanOptions

        found = sources.scene(scene)
        self._open(scene, found.geometry, ScanOptions(found.up), storey, found.navmesh)
        self.sliding = sliding
        self._files = found
        if found.names is not None:
            from worldgauge.worlds.scan.semantics import read_names

            self.names = read_names(*found.names, found.up)
            corners = self.prepared.scene.corners.reshape(-1, 3)
            self.names.check_fits(found.names[0], corners.min(0), corners.max(0))
            self.categories = self.names.categories
        if self.prepared.unread > MOST_UNREAD:
            why = next((note for note in self.prepared.notes if "magenta" in note), "")
            raise WorldError(f"scene '{scene}': {self.prepared.unread:.0%} of it has no texture; {why}")

    @classmethod
    def of_file(cls, path: Path, reading: ScanOptions, navmesh: Path | None = None) -> Scan:
        """A file that is in no registered folder, for a look at it.

        Args:
            path: The file.
            reading: How it is read.
            navmesh: Its published floor.

        Returns:
            The scan; its facts name no scene that could be opened again.

        Raises:
            WorldError: Too much of it is damaged.
            DataError: It is damaged.
        """
        scan = cls.__new__(cls)
        scan._open(path.name, path, reading, None, navmesh)
        return scan

    def _open(
        self, key: str, path: Path, reading: ScanOptions, storey: int | None, navmesh: Path | None = None
    ) -> None:
        from worldgauge.worlds.scan.prepared import prepare

        self.key, self.storey, self.reading, self._navmesh = key, storey, reading, navmesh
        self.prepared: Prepared = prepare(path, reading)
        self.categories = self.prepared.categories

    @classmethod
    def describe(cls, scene: str, storey: int | None = None, sliding: bool = False) -> str:
        """Describe the place in a sentence; a key does not say what is there."""
        return sentence(_ROOM)

    def caption(self, view: View, pose: FloatArray) -> str:
        """Describe a view in a sentence: a room and, in scans with names, its largest things."""
        return sentence(_ROOM, [some(noun, count) for noun, count in seen(view, self._nouns.get)])

    @property
    def facts(self) -> WorldFacts:
        """Key of the scene, storey, sliding, and the digest of its files and of how they are read."""
        storey = {} if self.storey is None else {"storey": self.storey}
        sliding = {"sliding": True} if self.sliding else {}
        from worldgauge.worlds.scan.sources import digest_of_scene

        digest = self.prepared.digest if self._files is None else digest_of_scene(self._files)
        return WorldFacts("scan", {"scene": self.key, **storey, **sliding}, digest)

    def difference_from(self, digest: str) -> str:
        """Say why its digest is not the one that data state; ends before "collect the data again"."""
        from worldgauge.worlds.scan.prepared import VERSION
        from worldgauge.worlds.scan.sources import digest_of_scene

        if self._files is None or any(digest_of_scene(self._files, v) == digest for v in range(1, VERSION)):
            return "another version of worldgauge read its files in another way;"
        return (
            f"the file {self._files.geometry}, or one beside it, has changed since, or is read in another way (--up, "
            "WORLDGAUGE_SCAN_TEXTURE_PX); put the former file back, or"
        )

    def ground(self, sliding: bool | None = None) -> Ground:
        """What walkers stand on: the published navmesh, else the floors found in the mesh; all storeys.

        Args:
            sliding: Whether they slide along walls; by default as the scan was opened.
        """
        from worldgauge.worlds.scan.grounds import HeightfieldGround, NavMeshGround

        slides = self.sliding if sliding is None else sliding
        if self.navmesh is None:
            return HeightfieldGround(self.heightfield, sliding=slides)
        return NavMeshGround(self.navmesh, lambda at: self.heightfield.is_indoor(at), sliding=slides)

    @cached_property
    def heightfield(self) -> Heightfield:
        """Floors found in the mesh."""
        from worldgauge.worlds.scan.heightfield import heightfield_of

        return heightfield_of(self.prepared.scene.corners)

    @cached_property
    def navmesh(self) -> NavMesh | None:
        """The published floor; None where none lies beside the file.

        Raises:
            DataError: It is damaged.
        """
        from worldgauge.worlds.scan.navmesh import NavMesh

        return None if self._navmesh is None else NavMesh.read(self._navmesh)

    @cached_property
    def floor(self) -> FloorPlan:
        """Floor plan of the storey, with cells of 5 cm; see `heightfield.Heightfield.floor`."""
        return self.heightfield.floor(self.storey)

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Things with a category, by instance number; the box of each is that of its corners."""
        if self.names is not None:
            return self.names.landmarks
        from worldgauge.worlds.scan.clusters import boxes_of

        scene = self.prepared.scene
        numbers = np.where(scene.category > 0, scene.instance, 0).astype(np.uint16)
        boxes, found = boxes_of(scene, numbers), []
        for number, first in zip(*np.unique(numbers, return_index=True), strict=True):
            if number > 0:
                (a, b, c), (d, e, f) = (corner.tolist() for corner in boxes[int(number)])
                found.append(Landmark(self.categories[int(scene.category[first])], int(number), (a, b, c), (d, e, f)))
        return tuple(found)

    @cached_property
    def _nouns(self) -> dict[int, str]:
        """What things are, by number, without the shell of the room and names that are no words."""
        named = {thing.instance: thing.category for thing in self.landmarks}
        words = {number: name for number, name in named.items() if name.replace(" ", "").isalpha()}
        return {number: name for number, name in words.items() if name not in _SHELL}

    def part(self, instance: int) -> ScanScene:
        """The triangles of one of its landmarks, for `rendering.camera`."""
        if self.names is not None:
            return self.names.part(instance)
        from worldgauge.worlds.scan.clusters import part_of

        return part_of(self.prepared.scene, self.prepared.scene.instance == instance)

    @property
    def rooms(self) -> tuple[Region, ...]:
        """Regions that its names tell; none without them."""
        return () if self.names is None else self.names.regions

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees. Safe to call from several threads.

        Args:
            pose: Camera-to-world pose, (4, 4), metres.
            camera: Size and kind of the image.
            position: Whether hit points are computed as well.

        Returns:
            The view.
        """
        from worldgauge.worlds.scan.camera import render

        view = render(self.prepared.scene, pose, camera, position=position)
        if self.names is None:
            return view
        category, instance = self.names.labels(pose, camera)
        return replace(view, category=category, instance=instance)

    def views(
        self,
        poses: ArrayLike,
        camera: Camera | Panorama,
        *,
        position: bool = False,
        out: Out = "numpy",
        device: str = "cuda",
    ) -> Views:
        """Render what N cameras see, on a GPU; where a second mesh names what is seen, the processor draws its labels.

        Args:
            poses: Camera-to-world poses, (N, 4, 4), metres.
            camera: Size and kind of the images.
            position: Whether hit points are computed as well.
            out: "numpy", copied back, or "torch", left on the device, if there is no second mesh.
            device: "cuda", "cuda:1" or "cpu".

        Returns:
            The views.

        Raises:
            MissingExtraError: Warp, or torch where it is asked for, is not installed.
            ShapeError: The poses are not finite (N, 4, 4).
            UsageError: There is no such device, no room on it, or labels that are drawn here would have to stay there.
        """
        if self.names is None:
            return super().views(poses, camera, position=position, out=out, device=device)
        if out != "numpy":
            raise UsageError(f"out is '{out}'; the labels of this scan are rendered on the CPU: ask for 'numpy'")
        found = super().views(poses, camera, position=position, device=device)
        for place, pose in enumerate(np.asarray(poses, np.float64)):
            found.category[place], found.instance[place] = self.names.labels(pose, camera)
        return found

    def _put_on(self, device: str) -> ScanBatch:
        from worldgauge.worlds.gpu.scenes import ScanBatch

        return ScanBatch(self.prepared.scene, device)
