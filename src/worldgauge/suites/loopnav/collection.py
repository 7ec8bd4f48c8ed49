"""Collecting LoopNav data, embedded or in the real game. Any number of workers makes the same files.

One item is one trajectory. All its randomness comes from (seed, settlement, type, range, index).
A trajectory is done when its video and its records are in place; the records come last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import parse_json
from worldgauge.engine.collect import SEEDS, world_seed_of
from worldgauge.engine.collection import SPLITS, Collection, DataReport, Item, Made, Tell, collections, demand_same
from worldgauge.engine.options import option
from worldgauge.suites.loopnav import format_check as checking
from worldgauge.suites.loopnav import walks
from worldgauge.suites.loopnav.format import MANIFEST, TYPES, worlds_of, write_manifest, write_trajectory
from worldgauge.suites.loopnav.format_records import read_bytes, read_records
from worldgauge.worlds import worlds
from worldgauge.worlds.captions import captions_along
from worldgauge.worlds.doom.engine import DOOM, LEVELS, find_engine
from worldgauge.worlds.minecraft.bridge import BridgeError, BridgeLostError
from worldgauge.worlds.minecraft.places import place_of
from worldgauge.worlds.minecraft.server import address
from worldgauge.worlds.minecraft.viewer import MOST_PIXELS
from worldgauge.worlds.scan.sources import scan_scenes
from worldgauge.worlds.voxel.world import FAMILIES, KINDS, VERTICAL_FOV_DEG
from worldgauge.worlds.walking.floor import check_walkable
from worldgauge.worlds.walking.planner import Rule
from worldgauge.worlds.walking.walk import LoopKind

RANGES = (5, 15, 30, 50)

# A file name is a moment of a made-up year, so that names sort as the loops were made: this many a combination.
_MAX_PER_COMBINATION = 1000
_MAX_RADIUS = 99
_MAX_SETTLEMENTS = 150
_GAME_DEADLINE_S = 3600.0
"""Before the first frame every try of a loop is walked, and on a server that takes as long as it takes."""


@dataclass(frozen=True)
class LoopNavOptions:
    """What a collection of loops holds."""

    settlements: int = option(12, "Number of worlds: villages, or what --world builds.", low=1, high=_MAX_SETTLEMENTS)
    ranges: tuple[int, ...] = option(RANGES, "Distances of the goals, in blocks.", low=1, high=_MAX_RADIUS)
    types: tuple[LoopKind, ...] = option(TYPES, "Kinds of loop.")
    kinds: tuple[str, ...] = option(
        KINDS, "Kinds of village and families of scenes, in turn (--world voxel).", choices=(*KINDS, *FAMILIES)
    )
    per_combination: int = option(20, "Loops per world, type and range.", low=1, high=_MAX_PER_COMBINATION)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)
    size: tuple[int, int] = option((640, 360), "Width and height of a frame in pixels.", low=2)
    sampling: Rule = option("released", 'How goals are sampled: "released" or "continuous".')
    no_look_around: bool = option(False, "Skip the look-around at the start, so that new frames remain.")
    laps: int = option(1, "Laps of each loop, between the same places.", low=1, high=100)
    world: str = option(
        "voxel", 'Collect in "voxel", "minecraft", "doom", "indoor", "scan", or your own, ./FILE.py:CLASS.'
    )
    mode: walks.Mode | None = option(
        None, 'With --world minecraft: run "js-server", "offline" or "java". Default: "js-server".'
    )
    server: str | None = option(None, "With --world minecraft: HOST:PORT of a server that you run.")
    places: str | None = option(None, "With --server: places, by name or NAME@X,Y,Z, separated by spaces.")
    split: str = option("test", 'Split of the worlds: "test", "train" or "val".', choices=SPLITS)
    pictures: walks.Pictures | None = option(
        None, 'With --world minecraft: render with "ours", "viewer" or "released". Default: "ours".'
    )
    scenes: str | None = option(None, "With --world scan: scan folders or keys, separated by commas.")

    def __post_init__(self) -> None:
        if ":" in self.world:  # a file or module; what is written holds the name alone
            object.__setattr__(self, "world", worlds.named(self.world).name)

    @property
    def game(self) -> walks.Game | None:
        """How the real game is used; None in an embedded world."""
        given = {name: getattr(self, name) for name in ("mode", "server", "places", "pictures")}
        if self.world != "minecraft":
            if extra := [name for name, value in given.items() if value is not None]:
                raise UsageError(f"--{extra[0]} goes with --world minecraft")
            return None
        mode: walks.Mode = self.mode or ("js-server" if self.server is None else "java")
        return walks.Game(mode, self.server, tuple((self.places or "").split()), self.pictures or "ours")


@collections.register("loopnav")
class LoopNavCollection(Collection):
    """Loops in generated villages, homes or the real game, in LoopNav's layout."""

    name = "loopnav"
    items_noun = "loops"
    Options = LoopNavOptions
    fixed = ("seed", "size", "sampling", "split")
    batched = True
    options: LoopNavOptions

    def __init__(self, out: Path, options: LoopNavOptions) -> None:
        super().__init__(out, options)
        self._modes: tuple[str, ...] = ()
        self._discarded: Counter[str] = Counter()
        if options.world == "minecraft":
            self.deadline_s = _GAME_DEADLINE_S

    def check_options(self) -> None:
        """Check the options against what the game and its renderers can do."""
        options = self.options
        if options.kinds != KINDS and options.world != "voxel":
            raise UsageError("--kinds goes with --world voxel")
        if options.world != DOOM:
            check_walkable(options.world)
        scan_scenes(options.world, options.scenes, options.split)
        game = options.game
        if game is None:
            return
        if options.split != "test" and game.mode == "java":
            raise UsageError("a server has the world that it has: leave --split out, and name places with --places")
        if game.mode == "java":
            self.max_workers = 1  # one bot walks on a server that somebody runs
            if options.sampling != "released":
                raise UsageError(f"sampling is {options.sampling}: give released on a server")
        if game.pictures != "ours" and max(options.size) > MOST_PIXELS:
            raise UsageError(f"size is {options.size}: give at most {MOST_PIXELS} pixels a side")

    def settings(self) -> dict[str, Any]:
        """Settings as manifests have always stored them: the game in one object, several left out at their default."""
        options, game = self.options, self.options.game
        world = {} if options.world in ("voxel", "minecraft") else {"world": options.world}
        if options.scenes is not None:
            world["scenes"] = ",".join(self._scenes)
        return {
            **world,
            **({"no_look_around": True} if options.no_look_around else {}),
            **({"laps": options.laps} if options.laps > 1 else {}),
            **({"kinds": list(options.kinds)} if options.kinds != KINDS else {}),
            "settlements": options.settlements,
            "ranges": list(options.ranges),
            "types": list(options.types),
            "per_combination": options.per_combination,
            "seed": options.seed,
            "size": list(options.size),
            "sampling": options.sampling,
            "game": None if game is None else {**asdict(game), "places": list(game.places)},
            **({} if options.split == "test" else {"split": options.split}),
        }

    def items(self) -> Iterator[Item]:
        """All items, one per trajectory, place by place."""
        options = self.options
        for number, location, kind in self._locations():
            world_seed = world_seed_of(options.seed, number, options.split)
            for type, radius, index in product(options.types, options.ranges, range(options.per_combination)):
                stamp = stamp_of(number % _MAX_SETTLEMENTS, type, radius, index)
                args = {
                    "location": location,
                    "kind": kind,
                    "world_seed": world_seed,
                    "type": type,
                    "radius": radius,
                    "stamp": stamp,
                    "entropy": [options.seed, number, TYPES.index(type), radius, index],
                }
                yield Item(f"{type}/{location}/{radius}/{stamp}", args, location)

    def is_done(self, item: Item) -> bool:
        """Whether both files of a trajectory are there."""
        return all(path.exists() for path in self._files(item))

    def begin(self, *, local: bool) -> None:
        """Read what was collected before, and check that the game can be used."""
        if local and self.options.world == DOOM:
            find_engine(self.options.size)
        before = self.manifest() or {}
        game = self.options.game
        if game is None:
            return
        if self.device is not None and (game.pictures != "ours" or game.mode == "java"):
            raise UsageError("only our own pictures of our own worlds are drawn on a device: leave --device out")
        if before.get("game") is not None:
            self._modes = tuple(str(before["game"]["mode"]).split(", "))
        if game.mode == "java":
            self._discarded = Counter(before.get("discarded", {}))
        if local:
            game.check()

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one trajectory; what is on disk is walked again (cheap), but not rendered again.

        A walk on an external server is not repeated; `Made.discards` then counts those of this call only.
        """
        args, game = item.args, self.options.game
        video, records = self._files(item)
        done = self.is_done(item)
        if game is not None and done:
            if game.mode == "java":
                facts = walks.stored_facts(self.out, game.place(args["location"]))
                return Made(len(read_records(records)), facts)
            game = replace(game, mode="offline")  # the same walk, sooner
        place = walks.open_location(
            self.out, args["location"], self.options.world, args["kind"], args["world_seed"], game, self.options.size
        )
        rng = np.random.default_rng(args["entropy"])
        try:
            walk = walks.record_loop(
                place.site,
                kind=args["type"],
                radius=args["radius"],
                rng=rng,
                rule=self.options.sampling,
                look_around=not self.options.no_look_around,
                laps=self.options.laps,
            )
        except walks.LoopFailedError as error:
            return Made(world=place.facts, discards=error.reasons, failure=str(error))
        except (BridgeError, BridgeLostError):
            walks.close_locations()  # a bot that was kicked, a server that ended: the next item starts with new ones
            raise
        walk = place.recorded(walk)
        if not done:
            for leftover in video.parent.glob(f".{args['stamp']}.*part"):
                leftover.unlink()
            camera = Camera.from_vertical_fov(*self.options.size, VERTICAL_FOV_DEG)
            place.write_truth(video, walk)
            write_trajectory(
                self.out,
                location=args["location"],
                type=args["type"],
                radius=args["radius"],
                stamp=args["stamp"],
                walk=walk,
                frames=place.frames(walk, camera, progress, self.device),
                seed=place.seed,
                captions=() if place.world is None else captions_along(place.world, walk.poses, camera),
            )
        return Made(len(walk), place.facts, discards=walk.discards)

    def close(self) -> None:
        """Stop what was started for the last places."""
        walks.close_locations()

    def manifest(self) -> dict[str, Any] | None:
        """Settings of the collection that is in `out` already; None where no place was collected yet."""
        if not worlds_of(self.out):
            return None
        content = parse_json(read_bytes(self.out / MANIFEST), str(self.out / MANIFEST))
        settings: dict[str, Any] = content["settings"]
        return settings

    def write_manifest(self, worlds: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> None:
        """Write the manifest in the format's own form. It names all modes in which the loops were walked."""
        settings = dict(settings)
        if "discarded" in settings:
            settings["discarded"] = dict(sorted((self._discarded + Counter(settings["discarded"])).items()))
        if settings["game"] is not None and self._modes:
            mode = ", ".join(sorted({*self._modes, settings["game"]["mode"]}))
            settings["game"] = {**settings["game"], "mode": mode}
        write_manifest(self.out, worlds, settings)

    def check_same(self) -> None:
        """Check that world, server and pictures are as before. The mode may differ: ours give the same files."""
        super().check_same()
        before = self.manifest()
        if before is not None:
            demand_same(self.out, _appearance(before), _appearance(self.settings()), _APPEARANCE)

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Counts, lengths and shapes of loops next to the published ones."""
        return checking.check(root, decode=decode)

    def _files(self, item: Item) -> tuple[Path, Path]:
        """Video and records."""
        return self.out / f"{item.id}.avi", self.out / f"{item.id}.json"

    @cached_property
    def _scenes(self) -> tuple[str, ...]:
        """Keys of the scans that are walked in."""
        keys = scan_scenes(self.options.world, self.options.scenes, self.options.split)
        if len(keys) > _MAX_SETTLEMENTS:
            raise UsageError(f"--scenes names {len(keys)} scans; a collection holds up to {_MAX_SETTLEMENTS}")
        return keys

    def _locations(self) -> list[tuple[int, str, str]]:
        """Number, name and kind of every place; the number of one on a server does not depend on the others named."""
        game = self.options.game
        if game is not None and game.places:
            named = [place_of(text) for text in game.places]
            return [(crc32(place.name.encode()), place.name, place.kind) for place in named]
        if self.options.world == "scan":
            return [(number, key.replace("/", "_"), key) for number, key in enumerate(self._scenes)]
        if self.options.world == DOOM:
            levels = LEVELS[self.options.split][: self.options.settlements]
            return [(number, level.replace(":", "_"), level) for number, level in enumerate(levels)]
        if self.options.world not in ("voxel", "minecraft"):
            return [(number, f"{self.options.world}_{number + 1}", "") for number in range(self.options.settlements)]
        kinds = self.options.kinds
        rounds = [
            (number, number // len(kinds) + 1, kinds[number % len(kinds)]) for number in range(self.options.settlements)
        ]
        return [(n, f"{kind}_village_{turn}" if kind in KINDS else f"{kind}_{turn}", kind) for n, turn, kind in rounds]


def stamp_of(settlement: int, type: LoopKind, radius: int, index: int) -> str:
    """File name MM-DD_HH-MM-SS of a trajectory: unique in a collection, and independent of its extent."""
    place = (settlement * len(TYPES) + TYPES.index(type)) * (_MAX_RADIUS + 1) + radius
    moment = datetime(2025, 1, 1) + timedelta(seconds=place * _MAX_PER_COMBINATION + index)
    return moment.strftime("%m-%d_%H-%M-%S")


_APPEARANCE = ("world", "server", "pictures", "no_look_around", "kinds")


def _appearance(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of world and walk the files depend on: not the mode of the game, for those of ours give the same."""
    game = settings.get("game")
    walk = {"no_look_around": settings.get("no_look_around", False), "kinds": settings.get("kinds", list(KINDS))}
    if game is None:
        return {"world": settings.get("world", "voxel"), "server": None, "pictures": "ours", **walk}
    server = None if game["server"] is None else list(address(game["server"]))
    return {"world": "minecraft", "server": server, "pictures": game["pictures"], **walk}
