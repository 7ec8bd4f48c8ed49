"""`worldgauge world`: scans of real rooms that the user brings, and embedded worlds as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import FAILED, Json

if TYPE_CHECKING:
    from worldgauge.core.episode import WorldFacts
    from worldgauge.worlds.scan import Scan
    from worldgauge.worlds.scan.checking import Findings

app = typer.Typer(
    help="Register scans of real rooms, look them over, and export embedded worlds.", no_args_is_help=True
)

UpOption = Annotated[str | None, typer.Option("--up", help="The axis that points up in the file: y or z.")]
Scale = Annotated[float, typer.Option(help="Metres of one unit of the file, such as 0.001 for millimetres.")]
TwoSided = Annotated[bool, typer.Option("--two-sided", help="Render both sides of triangles.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="First part of the keys of its scenes, such as hm3d.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that holds the scans.")],
    kind: Annotated[
        str | None,
        typer.Option(help="Layout: hm3d, mp3d, gibson, replica, replicacad, scannetpp, files. Default: detected."),
    ] = None,
    up: UpOption = None,
    json: Json = False,
) -> None:
    """Register a folder of scans. Nothing is copied or changed."""
    from worldgauge.terminal.output import print_json
    from worldgauge.worlds.scan import sources

    source = sources.add(name, folder, kind=kind, up=_up(up))
    scenes = list(sources.scenes_of(source))
    floors = sum(scene.navmesh is not None for scene in scenes)
    if json:
        print_json(
            name=name, folder=str(source.folder), kind=source.kind, up=source.up, scenes=[one.key for one in scenes]
        )
        return
    print(
        f"{name}: {len(scenes)} scenes in the layout '{source.kind}', {source.up} up, {floors} with a published floor"
    )
    if source.terms:
        print(f"use of these scans is subject to {source.terms}")
    print(f"look one over: worldgauge world check {scenes[0].key}")


@app.command()
def remove(
    name: Annotated[str | None, typer.Argument(help="A registered folder.")] = None,
    cache: Annotated[
        bool, typer.Option("--cache", help="Delete the cache of all scans. It is rebuilt when needed.")
    ] = False,
) -> None:
    """Unregister a folder of scans, or delete the cache of scans."""
    from worldgauge.worlds.scan import sources
    from worldgauge.worlds.scan.prepared import forget

    if name is None and not cache:
        raise UsageError("name a registered folder, or give --cache")
    if name is not None:
        sources.remove(name)
        print(f"{name} is no longer registered; to delete cached scans: worldgauge world remove --cache")
    if cache:
        print(f"{forget() / 1e6:.0f} MB deleted")


@app.command()
def check(
    scan: Annotated[
        str, typer.Argument(metavar="FILE|KEY", help="A GLB, glTF, PLY or captured JSON file, or a scene's key.")
    ],
    up: UpOption = None,
    scale: Scale = 1.0,
    two_sided: TwoSided = False,
    sheet: Annotated[Path | None, typer.Option(help="Write views of it as a PNG.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Write its floor from above as a PNG.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all of it as a page, with plan, views and panoramas.")] = None,
    goals: Annotated[
        Path | None, typer.Option(help="Compare the goal images of published episodes with rendered panoramas.")
    ] = None,
    json: Json = False,
) -> None:
    """Inspect a scan: size, axes, missing parts, walkable floor."""
    import numpy as np

    from worldgauge.core.image import write_png
    from worldgauge.terminal.output import print_json
    from worldgauge.worlds.scan.checking import contact_sheet, look_over, plan_picture

    world = _opened(scan, up, scale, two_sided)
    found = look_over(world)
    walkable = bool(found.facts.get("storeys_m"))
    if goals:
        _compare_goals(found, world, scan, goals)
    if (sheet or plan) and not walkable:
        found.problems.append("no images were made: they need a floor")
    if sheet and walkable:
        write_png(sheet, contact_sheet(world, np.random.default_rng(0)))
    if plan and walkable:
        write_png(plan, plan_picture(world, 800))
    lines = [line for name, value in found.facts.items() for line in _lines(name, value)]
    if out:
        from worldgauge.worlds.scan.checking import write_page

        rows = [(label, value) for label, _, value in (line.partition(": ") for line in lines)]
        write_page(out, world, found, rows)
    if json:
        print_json(scan=scan, facts=found.facts, problems=found.problems, hints=found.hints, ok=found.ok)
    else:
        for line in lines:
            print(line)
        for hint in found.hints:
            print(f"note: {hint}")
        for problem in found.problems:
            print(f"problem: {problem}")
        print("can be used" if found.ok else "cannot be used as it is")
    if not found.ok:
        raise typer.Exit(FAILED)


@app.command()
def picture(
    scan: Annotated[
        str, typer.Argument(metavar="FILE|KEY", help="A GLB, glTF, PLY or captured JSON file, or a scene's key.")
    ],
    at: Annotated[str, typer.Option(help="x,y,z of the camera in metres, z up.")],
    out: Annotated[Path, typer.Option(help="The PNG to write.")],
    yaw: Annotated[float, typer.Option(help="Heading in degrees, 0 along +x, 90 along +y.")] = 0.0,
    pitch: Annotated[float, typer.Option(help="Degrees up.")] = 0.0,
    size: Annotated[str, typer.Option(help="Width and height in pixels.")] = "640x360",
    panorama: Annotated[bool, typer.Option("--panorama", help="See all around.")] = False,
    up: UpOption = None,
    scale: Scale = 1.0,
    two_sided: TwoSided = False,
) -> None:
    """Write one view of a scan."""
    import math

    from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
    from worldgauge.core.image import write_png

    place, (width, height) = _numbers(at, "--at", 3, ","), _numbers(size, "--size", 2, "x")
    if not all(2 <= side <= 8192 and side == int(side) for side in (width, height)):
        raise UsageError(f"--size is '{size}'; give whole numbers from 2 to 8192, as in 640x360")
    world = _opened(scan, up, scale, two_sided)
    shape = int(width), int(height)
    camera = Panorama(*shape) if panorama else Camera.from_horizontal_fov(*shape, 90.0)
    pose = pose_from_yaw_pitch(place, math.radians(yaw), math.radians(pitch))
    write_png(out, world.view(pose, camera).rgb)
    print(f"{out}: {shape[0]}x{shape[1]} pixels")


@app.command()
def export(
    world: Annotated[
        str,
        typer.Argument(help="World (indoor:seed=1, voxel:kind=plains,seed=1), structure file, or starter (two homes)."),
    ],
    out: Annotated[Path, typer.Option(help="GLB file to write; of starter: a folder.")],
    texel: Annotated[float, typer.Option(help="Side of a texel in millimetres, for homes.")] = 5.0,
    quality: Annotated[int, typer.Option(help="Quality of a home's JPEG images, 1 to 100. 0: PNG.")] = 92,
    up: Annotated[str, typer.Option(help="Axis that points up in the file: y or z. Default: y.")] = "y",
    json: Json = False,
) -> None:
    """Write a home, village or build as a GLB file."""
    from worldgauge.terminal.output import print_json
    from worldgauge.worlds.blocks.structure_files import SUFFIXES, read_structure
    from worldgauge.worlds.export import export_build, export_starter, export_world

    if world == "starter":
        files = export_starter(out)
        if json:
            print_json(files=[{"file": str(path), **one._asdict()} for path, one in files.items()])
            return
        for path, one in files.items():
            print(f"{path}: {one.triangles} triangles, {one.things} things, {one.size_bytes / 1e6:.1f} MB")
        print(f"register them: worldgauge world add homes {out}")
        return
    if Path(world).suffix.lower() in SUFFIXES:
        made = export_build(read_structure(Path(world)).blueprint, out, up=_up(up) or "y")
    else:
        made = export_world(_facts(world), out, texel_m=texel / 1000, quality=quality or None, up=_up(up) or "y")
    if json:
        print_json(file=str(out), **made._asdict())
        return
    size_mb = made.size_bytes / 1e6
    print(f"{out}: {made.triangles} triangles, {made.things} things, {made.pages} textures, {size_mb:.1f} MB")


def _facts(world: str) -> WorldFacts:
    from worldgauge.core.episode import WorldFacts
    from worldgauge.terminal.options import texts_of
    from worldgauge.worlds import worlds
    from worldgauge_serve import value_of

    name, _, given = world.partition(":")
    worlds.get(name)
    pairs = texts_of([one for one in given.split(",") if one], "world")
    return WorldFacts(name, {key: value_of(value) for key, value in pairs.items()})


def _opened(scan: str, up: str | None, scale: float, two_sided: bool) -> Scan:
    from worldgauge.worlds.scan import Scan, sources
    from worldgauge.worlds.scan.prepared import ScanOptions
    from worldgauge.worlds.scan.readers import ENDINGS

    path, way = Path(scan), _up(up)
    if path.suffix.lower() in (*ENDINGS, ".json"):
        reading = ScanOptions(way or ("z" if path.suffix.lower() == ".ply" else "y"), scale, two_sided)
        beside = path.with_suffix(".navmesh")
        return Scan.of_file(path, reading, beside if beside.is_file() else None)
    found = sources.scene(scan)
    return Scan.of_file(found.geometry, ScanOptions(way or found.up, scale, two_sided), found.navmesh)


def _compare_goals(found: Findings, world: Scan, key: str, folder: Path) -> None:
    from statistics import median

    from worldgauge.tools.goal_pictures import LEAST_DB, compare_goals

    compared = compare_goals(world, key, folder)
    middle = median(one.psnr_db for one in compared)
    worst = min(compared, key=lambda one: one.psnr_db)
    found.facts |= {"goal_pictures": len(compared), "goal_pictures_db": round(middle, 1)}
    if middle < LEAST_DB:
        found.problems.append(
            f"goal images differ by a median of {middle:.1f} dB (worst {worst.id}): another scan, axis or flip"
        )


def _up(given: str | None) -> Any:
    if given not in (None, "y", "z"):
        raise UsageError(f"--up is '{given}'; give y or z")
    return given


def _numbers(text: str, option: str, count: int, between: str) -> tuple[float, ...]:
    import math

    try:
        numbers = tuple(float(one) for one in text.split(between))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(math.isfinite(one) for one in numbers):
        raise UsageError(f"{option} is '{text[:40]}'; give {count} numbers with '{between}' between")
    return numbers


def _lines(name: str, value: Any) -> list[str]:
    label = name.replace("_m2", ", m²").replace("_m", ", m").replace("_", " ")
    if name == "islands":
        return [
            f"island: {one['m2']} m² at {one['height_m']} m, {'indoors' if one['indoor'] else 'in the open'}"
            for one in value[:8]
        ]
    if isinstance(value, list):
        return [f"{label}: {', '.join(str(one) for one in value) or 'none'}"]
    return [f"{label}: {value}"]
