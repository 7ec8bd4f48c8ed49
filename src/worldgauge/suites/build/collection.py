"""Collecting a data set of the build suite: structures with their tasks, figures to turn in the mind, furnished rooms.

One job is one structure, one figure or one room, and draws its pictures; what a picture shows comes from (seed, kind,
number) alone. A job is done when its pictures are there. The rows are written in the end, in the published layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, get_args

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import RunError
from worldgauge.core.image import Image
from worldgauge.engine.collection.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    drive,
    ending_on_full_disk,
    telling_full_disk,
)
from worldgauge.engine.collection.manifest import read_manifest, write_manifest
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.build.curation.entries import Entry, entry_of
from worldgauge.suites.build.format.layout import Architecture, BuildTask, image_path, write, write_image
from worldgauge.suites.build.generate.figures import shapes as figures
from worldgauge.suites.build.generate.figures.mental_rotation import RotationQuestion, balanced_questions
from worldgauge.suites.build.generate.figures.polycube import Cells
from worldgauge.suites.build.generate.figures.shapes import Shown, Views, stimuli
from worldgauge.suites.build.generate.figures.sheets import sheet
from worldgauge.suites.build.generate.instructions import describe
from worldgauge.suites.build.generate.interiors.commonsense import RoomQuestion, commonsense
from worldgauge.suites.build.generate.structures import Made, structures
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.views import AROUND_FOV_DEG, RAISED_DEG, RENDERER, picture

FORMAT = "worldgauge-build"
STRUCTURES, STIMULI, COMMONSENSE = 66, 48, 50
SOURCE = "worldgauge"
SIZE_PX = 512
AZIMUTH_DEG = 45.0
ROOMS = "images/commonsense"
CAMERA: Mapping[str, Any] = {
    **RENDERER,
    "azimuth_deg": AZIMUTH_DEG,
    "elevation_deg": RAISED_DEG,
    "fov_deg": AROUND_FOV_DEG,
}
"""How pictures of structures are taken: round the build, its bounding sphere in view."""
KINDS = ("structure", "figure", "room")

_FIXED = ("seed", "stimuli", "views", "size_px")
_MOST = {"structures": 2000, "stimuli": 500, "commonsense": 2000}


def collect_build(
    out: Path,
    *,
    structures: int = STRUCTURES,
    stimuli: int = STIMULI,
    commonsense: int = COMMONSENSE,
    views: Views = "full",
    size_px: int = SIZE_PX,
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Make `structures` builds with six tasks each, 36 questions on each of `stimuli` figures, and questions on rooms.

    views: whether figures are turned about the vertical only, as published, or in any way. size_px: side of the
    pictures of structures. on: where the workers are, as for `engine.run.run`. May be stopped at any moment and called
    again: what is drawn is kept, and the bytes are those of a run that was never stopped. It may be called again with
    more structures and rooms; the first ones stay as they are.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with another seed, number or
    views of figures, or size, or the disk is full.
    """
    out = Path(out)
    settings: dict[str, Any] = {
        "structures": structures,
        "stimuli": stimuli,
        "commonsense": commonsense,
        "views": views,
        "size_px": size_px,
        "seed": seed,
    }
    jobs = _plan(out, settings)

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        write_manifest(out, FORMAT, {}, settings, CAMERA)

    with ending_on_full_disk():
        # The settings come first: pictures of a run that was stopped must not be taken for those of another.
        write_worlds({}, None)
        collected = drive(
            jobs,
            draw,
            out,
            workers=workers,
            on=on,
            place_of=lambda job: str(job.args["kind"]),
            write_worlds=write_worlds,
            progress=progress,
        )
        if not collected.failures:
            write(out, *rows_of(settings))
    return collected


def count_build(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Structures, figures and rooms that `collect_build` would draw with these options, and how many are there already.

    Writes nothing; raises what it raises.
    """
    jobs = _plan(Path(out), settings)
    if not jobs or read_manifest(Path(out), FORMAT) is None:
        return len(jobs), 0
    return len(jobs), sum(_drawn(Path(out), job.args["kind"], job.args["number"], settings) for job in jobs)


@telling_full_disk
def draw(
    *, out: str, kind: str, number: int, settings: dict[str, Any], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """The pictures of one structure, figure or room, in a worker; those that are there stay.

    Returns {"frames"}, the number of pictures, or {"full"} when the disk is; plain JSON values.
    """
    pictures = dict(_pictures(kind, number, settings))
    for place, (name, drawn) in enumerate(pictures.items()):
        progress(place, len(pictures))
        if not image_path(Path(out), name).exists():
            write_image(Path(out), name, drawn())
    return {"frames": len(pictures)}


def rows_of(settings: Mapping[str, Any]) -> tuple[list[Architecture], list[BuildTask]]:
    """All architectures and tasks of a collection with these settings."""
    entries = [_entry(settings, number) for number in range(settings["structures"])]
    tasks = [task for entry in entries for task in entry.tasks]
    tasks += [_figure_task(question) for question in _figures(settings)[1]]
    tasks += [_room_task(question) for question in _rooms(settings)]
    return [entry.architecture for entry in entries], tasks


def _pictures(kind: str, number: int, settings: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], Image]]]:
    """Name, below the folder data, and how it is drawn, of each picture of a job."""
    if kind == "structure":
        made = _made(settings)[number]
        name = str(_entry(settings, number).architecture.image)
        yield name, partial(picture, made.blueprint, azimuth_deg=AZIMUTH_DEG, size_px=settings["size_px"])
    elif kind == "figure":
        yield from _figure_pictures(settings, number)
    else:
        question = _rooms(settings)[number]
        for name, scene in zip(_room_images(question), question.scenes, strict=True):
            yield name, scene.picture


def _drawn(out: Path, kind: str, number: int, settings: Mapping[str, Any]) -> bool:
    return all(image_path(out, name).exists() for name, _ in _pictures(kind, number, settings))


def _entry(settings: Mapping[str, Any], number: int) -> Entry:
    made = _made(settings)[number]

    def write_one(blueprint: Blueprint, name: str) -> tuple[str, str]:
        return describe(blueprint, name, made.facts), "template"

    return entry_of(
        made.blueprint,
        made.name.replace(" ", "_"),
        number + 1,
        seed=settings["seed"],
        write=write_one,
        spoken=made.name,
        source=SOURCE,
        description=made.description,
        type=made.type,
    )


def _figure_pictures(settings: Mapping[str, Any], number: int) -> Iterator[tuple[str, Callable[[], Image]]]:
    """Of one figure: each view that is used, and the sheets of its questions."""
    shapes, questions = _figures(settings)
    own = [question for question in questions if question.stimulus == number + 1]

    @cache
    def drawn(shown: Shown) -> Image:
        return figures.picture(shapes[number], shown)

    for question in own:
        for path, shown in zip(question.option_paths, question.options, strict=True):
            yield _below_data(path), partial(drawn, shown)
        yield _below_data(question.sheet_path), partial(_sheet, drawn, question)


def _sheet(drawn: Callable[[Shown], Image], question: RotationQuestion) -> Image:
    return sheet(drawn(question.reference), [drawn(shown) for shown in question.options])


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
        captions=tuple(scene.caption for scene in question.scenes),
        answer=question.answer,
        env=question.env,
    )


def _room_images(question: RoomQuestion) -> tuple[str, ...]:
    name = question.id.removeprefix("TSK_")
    return tuple(f"{ROOMS}/{name}_IMG_{place}.png" for place in range(len(question.scenes)))


def _made(settings: Mapping[str, Any]) -> tuple[Made, ...]:
    return _all_made(settings["seed"], settings["structures"])


def _figures(settings: Mapping[str, Any]) -> tuple[tuple[Cells, ...], list[RotationQuestion]]:
    """The figures, and all questions about them."""
    return _all_figures(settings["seed"], settings["stimuli"], settings["views"])


def _rooms(settings: Mapping[str, Any]) -> tuple[RoomQuestion, ...]:
    return _all_rooms(settings["seed"], settings["commonsense"])


@lru_cache(maxsize=1)
def _all_made(seed: int, count: int) -> tuple[Made, ...]:
    return tuple(structures(seed, count))


@lru_cache(maxsize=1)
def _all_figures(seed: int, count: int, views: Views) -> tuple[tuple[Cells, ...], list[RotationQuestion]]:
    if not count:
        return (), []
    shapes = stimuli(seed, count, views=views)
    return shapes, balanced_questions(shapes, seed, views=views)


@lru_cache(maxsize=1)
def _all_rooms(seed: int, count: int) -> tuple[RoomQuestion, ...]:
    return tuple(commonsense(seed, count))


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a structure, figure and room, of options that can be meant and suit what is in `out` already."""
    _check_options(settings)
    before = read_manifest(out, FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
        for name in ("structures", "commonsense"):
            had = before["settings"].get(name, 0)
            if had > settings[name]:
                raise RunError(f"{out} has {had} {name}, not {settings[name]}: collect into another folder")
    counts = zip(KINDS, (settings["structures"], settings["stimuli"], settings["commonsense"]), strict=True)
    given = {"settings": dict(settings), "out": str(out.absolute())}
    return [
        Job(f"{kind}-{number:04d}", f"{__name__}:draw", {**given, "kind": kind, "number": number}, DEADLINE_S)
        for kind, count in counts
        for number in range(count)
    ]


def _check_options(settings: Mapping[str, Any]) -> None:
    for name, most in _MOST.items():
        demand(name, settings[name], 0 <= settings[name] <= most, f"0 to {most}")
    demand(" and ".join(_MOST), "0 all three", any(settings[name] for name in _MOST), "at least one of them")
    demand("views", settings["views"], settings["views"] in get_args(Views), f"one of {', '.join(get_args(Views))}")
    demand("size_px", settings["size_px"], 64 <= settings["size_px"] <= 2048, "64 to 2048")
    demand("seed", settings["seed"], 0 <= settings["seed"] < SEEDS, f"0 to {SEEDS - 1}")
