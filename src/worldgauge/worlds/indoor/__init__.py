"""Indoor worlds of axis-aligned boxes: homes from a seed, and the textured test rooms of decoders."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from worldgauge.core.english import some
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.captions import seen, sentence
from worldgauge.worlds.gpu.batch import Batched
from worldgauge.worlds.indoor.textured_rooms import TexturedRoom
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

if TYPE_CHECKING:
    from worldgauge.worlds.gpu.scenes import BoxBatch
    from worldgauge.worlds.indoor.camera import BoxScene
    from worldgauge.worlds.indoor.homes import HomeObject, HomePlan

__all__ = ["Home", "TexturedRoom"]


_PLAIN = frozenset({"door", "mirror", "window"})


@worlds.register("indoor", walkable=True, example={"seed": 1})
class Home(Batched):
    """A furnished home: a corridor, living room, kitchen, bedrooms, bathroom, sometimes a study or gym.
    Floors are at z = 0, ceilings at 2.6 m. Instance numbers are those of `objects`; walls, floors and ceilings have
    0."""

    def __init__(self, seed: int) -> None:
        # The generator is imported when a world is built: listing the registry must stay quick.
        from worldgauge.worlds.indoor.homes import CATEGORIES, build_home

        if seed < 0:
            raise WorldError(f"a home's seed must be 0 or more, got {seed}")
        self.seed = seed
        self.categories: tuple[str, ...] = CATEGORIES
        self.plan: HomePlan = build_home(seed)

    @classmethod
    def describe(cls, seed: int) -> str:
        """Describe the home of a seed in a sentence; its rooms are not in view all at once."""
        return "A bright room in a furnished home."

    def caption(self, view: View, pose: FloatArray) -> str:
        """Describe a view in a sentence: the room, as far as its things show it, and the largest of them."""
        nouns = seen(view, self._noun_of)
        if not nouns:
            return "A bright, empty room in a furnished home."
        room = seen(view, self._room_of)[0][0]
        # A door tells little; it is named only where nothing else is in view.
        plain = [pair for pair in nouns if pair[0][0] == room and pair[0][2] != "door"] or nouns[:1]
        return sentence(f"a bright {room}", [some(noun, count, colour) for (_, colour, noun), count in plain])

    def _room_of(self, number: int) -> str | None:
        """Kind of the room of an object."""
        return self.plan.objects[number - 1].room if number <= len(self.plan.objects) else None

    def _noun_of(self, number: int) -> tuple[str, str, str] | None:
        """Room, colour and name of an object; no colour where it tells nothing."""
        if number > len(self.plan.objects):
            return None
        thing = self.plan.objects[number - 1]
        return thing.room, "" if thing.colour == "many colours" or thing.name in _PLAIN else thing.colour, thing.name

    @property
    def facts(self) -> WorldFacts:
        """Its seed and the digest of its boxes."""
        return WorldFacts("indoor", {"seed": self.seed}, self._digest)

    @property
    def objects(self) -> tuple[HomeObject, ...]:
        """All objects with a name, a colour and a room, by instance number."""
        return self.plan.objects

    def room_at(self, xy: ArrayLike) -> str:
        """Kind of the room at `xy`, metres; of the nearest room for places in walls, in doorways and outside."""
        return self.plan.rooms[self.room_number_at(xy)].kind

    def room_number_at(self, xy: ArrayLike) -> int:
        """Index in `plan.rooms` of the room at `xy`, since several rooms may have the same kind."""
        import numpy as np

        point = np.asarray(xy, np.float64)
        if point.shape != (2,) or not np.isfinite(point).all():
            raise ShapeError(f"a place in a home needs two finite numbers, got {xy!r}")
        low, high = (np.array([getattr(room, name) for room in self.plan.rooms]) for name in ("low", "high"))
        return int(np.argmin(np.hypot(*np.maximum(np.maximum(low - point, point - high), 0.0).T)))

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Its objects as targets."""
        return tuple(Landmark(thing.category, thing.instance, thing.low, thing.high) for thing in self.plan.objects)

    @cached_property
    def floor(self) -> FloorPlan:
        """Floor plan with cells of 5 cm. A cell is free where nothing stands between 2 and 60 cm above the floor."""
        import numpy as np

        from worldgauge.worlds.indoor.plan import CELL_M

        free = ~self.plan.occupied
        return FloorPlan(free, np.zeros(free.shape, np.float32), self.plan.origin, CELL_M)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees. Safe to call from several threads."""
        from worldgauge.worlds.indoor.camera import render

        return render(self.scene, pose, camera, position=position)

    def _put_on(self, device: str) -> BoxBatch:
        from worldgauge.worlds.gpu.scenes import BoxBatch

        return BoxBatch(self.scene, device)

    @cached_property
    def _digest(self) -> str:
        return self.plan.boxes.digest()

    @cached_property
    def scene(self) -> BoxScene:
        """Its boxes as the camera needs them."""
        from worldgauge.worlds.indoor.camera import BoxScene, light_of
        from worldgauge.worlds.indoor.plan import HEIGHT_M

        return BoxScene.of(self.plan.boxes, (0.0, HEIGHT_M), light_of(self.plan.occupied))
