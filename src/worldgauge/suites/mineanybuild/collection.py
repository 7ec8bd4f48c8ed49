"""Collecting a data set of the build suite: structures with their tasks, figures for mental rotation, furnished rooms.

One item is one structure, one figure or one room, with its images; what an image shows comes from (seed, kind, number)
alone. An item is done when its images are there. The rows are written at the end, in the published layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.engine.collect import SEEDS
from worldgauge.engine.collection import Collection, DataReport, Item, Made, Tell, collections
from worldgauge.engine.options import option
from worldgauge.suites.mineanybuild.format import Architecture, BuildTask, image_path, write, write_image
from worldgauge.suites.mineanybuild.format_statistics import check
from worldgauge.suites.mineanybuild.generate import mental_rotation as figures
from worldgauge.suites.mineanybuild.generate.commonsense import RoomQuestion, commonsense
from worldgauge.suites.mineanybuild.generate.instructions import StructureTasks, describe, tasks_of_structure
from worldgauge.suites.mineanybuild.generate.mental_rotation import (
    EACH,
    Cells,
    FigureView,
    RotationQuestion,
    balanced_questions,
    sheet,
    stimuli,
)
from worldgauge.suites.mineanybuild.generate.structures import GeneratedStructure, structures
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.views import AROUND_FOV_DEG, RAISED_DEG, RENDERER, picture

SOURCE = "worldgauge"
AZIMUTH_DEG = 45.0
ROOMS = "images/commonsense"
_TASKS = {"structure": 6, "figure": sum(EACH.values()), "room": 1}
"""Tasks of an item, by its kind."""
CAMERA: Mapping[str, Any] = {
    **RENDERER,
    "azimuth_deg": AZIMUTH_DEG,
    "elevation_deg": RAISED_DEG,
    "fov_deg": AROUND_FOV_DEG,
}
"""How pictures of structures are taken: round the build, its bounding sphere in view."""


@dataclass(frozen=True)
class BuildOptions:
    """Options of a collection of builds, figures and rooms."""

    structures: int = option(66, "Number of builds, each with six tasks, of 22 types.", low=0, high=2000)
    stimuli: int = option(48, "Number of figures for mental rotation, each with 36 questions.", low=0, high=500)
    commonsense: int = option(50, "Number of questions about furnished rooms.", low=0, high=2000)
    views: Literal["yaw", "full"] = option(
        "full", 'Turn figures about the vertical axis ("yaw"), or any axis ("full").'
    )
    size_px: int = option(512, "Width and height of the images of builds in pixels.", low=64, high=2048, flag="size")
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)


@collections.register("mineanybuild")
class BuildCollection(Collection):
    """Builds, figures and rooms with tasks, in MineAnyBuild's layout."""

    name = "mineanybuild"
    manifest_format = "worldgauge-build"
    items_noun = "structures, figures and rooms"
    frames_noun = "pictures"
    Options = BuildOptions
    fixed = ("seed", "stimuli", "views", "size_px")
    growing = ("structures", "commonsense")
    first_model = "--agent reader"
    # Images of an interrupted run must not be mistaken for those of another.
    settings_first = True
    options: BuildOptions

    def check_options(self) -> None:
        """Check that something is to be collected."""
        if not any((self.options.structures, self.options.stimuli, self.options.commonsense)):
            raise UsageError("structures, stimuli and commonsense are 0 all three: give at least one of them")

    def camera(self) -> Mapping[str, Any]:
        """Return how images of structures are taken."""
        return CAMERA

    def write_manifest(self, worlds: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> None:
        """Write the options alone: there are no worlds, and nothing is discarded. See `Collection.write_manifest`."""
        super().write_manifest({}, self.settings())

    def items(self) -> Iterator[Item]:
        """Return structures, then figures, then rooms."""
        options = self.options
        counts = (options.structures, options.stimuli, options.commonsense)
        for kind, count in zip(_TASKS, counts, strict=True):
            for number in range(count):
                yield Item(f"{kind}-{number:04d}", {"kind": kind, "number": number})

    def clusters(self) -> Iterator[str]:
        """Structures, figures and rooms, each as often as it has tasks."""
        return (item.id for item in self.items() for _ in range(_TASKS[item.args["kind"]]))

    def is_done(self, item: Item) -> bool:
        """Whether all pictures of an item are there."""
        return all(image_path(self.out, name).exists() for name, _ in _pictures(item, self.options))

    def done(self) -> int:
        """Number of items done; 0 if the folder does not record its options, as its images are then not ours."""
        return 0 if self.manifest() is None else super().done()

    def make(self, item: Item, progress: Tell) -> Made:
        """Render the images that are missing; see `Collection.make`."""
        pictures = dict(_pictures(item, self.options))
        for place, (name, drawn) in enumerate(pictures.items()):
            progress(place, len(pictures))
            if not image_path(self.out, name).exists():
                write_image(self.out, name, drawn())
        return Made(len(pictures))

    def finish(self, made: Mapping[str, Made]) -> None:
        """Write the rows, unless one of their pictures is missing."""
        if not any(one.failure for one in made.values()):
            write(self.out, *rows_of(self.options))

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Count tasks by kind, next to the published ones."""
        return check(root, decode=decode).report()


def rows_of(options: BuildOptions) -> tuple[list[Architecture], list[BuildTask]]:
    """Return all architectures and tasks of a collection with these options."""
    entries = [_entry(options, number) for number in range(options.structures)]
    tasks = [task for entry in entries for task in entry.tasks]
    tasks += [_figure_task(question) for question in _figures(options)[1]]
    tasks += [_room_task(question) for question in _rooms(options)]
    return [entry.architecture for entry in entries], tasks


def _pictures(item: Item, options: BuildOptions) -> Iterator[tuple[str, Callable[[], Image]]]:
    """Name, below the folder data, and how it is drawn, of each picture of an item."""
    kind, number = item.args["kind"], item.args["number"]
    if kind == "structure":
        made = _made(options)[number]
        name = str(_entry(options, number).architecture.image)
        yield name, partial(picture, made.blueprint, azimuth_deg=AZIMUTH_DEG, size_px=options.size_px)
    elif kind == "figure":
        yield from _figure_pictures(options, number)
    else:
        question = _rooms(options)[number]
        for name, view in zip(_room_images(question), question.views, strict=True):
            yield name, view.picture


def _entry(options: BuildOptions, number: int) -> StructureTasks:
    made = _made(options)[number]

    def write_one(blueprint: Blueprint, name: str) -> tuple[str, str]:
        return describe(blueprint, name, made.facts), "template"

    return tasks_of_structure(
        made.blueprint,
        made.name.replace(" ", "_"),
        number + 1,
        seed=options.seed,
        write=write_one,
        spoken=made.name,
        source=SOURCE,
        description=made.description,
        type=made.type,
    )


def _figure_pictures(options: BuildOptions, number: int) -> Iterator[tuple[str, Callable[[], Image]]]:
    """Of one figure: each view that is used, and the sheets of its questions."""
    shapes, questions = _figures(options)
    own = [question for question in questions if question.stimulus == number + 1]

    @cache
    def rendered(view: FigureView) -> Image:
        return figures.picture(shapes[number], view)

    def composed(question: RotationQuestion) -> Image:
        return sheet(rendered(question.reference), [rendered(view) for view in question.options])

    for question in own:
        for path, view in zip(question.option_paths, question.options, strict=True):
            yield _below_data(path), partial(rendered, view)
        yield _below_data(question.sheet_path), partial(composed, question)


def _figure_task(question: RotationQuestion) -> BuildTask:
    return BuildTask(
        question.id,
        "reasoning",
        question.variant,
        question.instruction,
        options_image=_below_data(question.sheet_path),
        options=tuple(map(_below_data, question.option_paths)),
        answer=question.answer,
        metadata=question.metadata,
    )


def _below_data(path: str) -> str:
    return path.removeprefix("data/")


def _room_task(question: RoomQuestion) -> BuildTask:
    return BuildTask(
        question.id,
        "commonsense",
        "",
        question.question,
        images=_room_images(question),
        captions=tuple(view.caption for view in question.views),
        answer=question.answer,
        env=question.env,
    )


def _room_images(question: RoomQuestion) -> tuple[str, ...]:
    name = question.id.removeprefix("TSK_")
    return tuple(f"{ROOMS}/{name}_IMG_{place}.png" for place in range(len(question.views)))


@lru_cache(maxsize=1)
def _made(options: BuildOptions) -> tuple[GeneratedStructure, ...]:
    return tuple(structures(options.seed, options.structures))


@lru_cache(maxsize=1)
def _figures(options: BuildOptions) -> tuple[tuple[Cells, ...], list[RotationQuestion]]:
    """The figures, and all questions about them."""
    if not options.stimuli:
        return (), []
    shapes = stimuli(options.seed, options.stimuli, views=options.views)
    return shapes, balanced_questions(shapes, options.seed, views=options.views)


@lru_cache(maxsize=1)
def _rooms(options: BuildOptions) -> tuple[RoomQuestion, ...]:
    return tuple(commonsense(options.seed, options.commonsense))
