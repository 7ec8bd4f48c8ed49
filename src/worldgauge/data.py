"""Data sets: episodes, videos, actions, and the collections that make and check them.

from worldgauge.data import Clip, Collection, Episode, Item, Made, collections
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy

if TYPE_CHECKING:
    from worldgauge.core.actions import (
        CAMERA_MOTION,
        HAND_POSES,
        LOOP_WALK,
        Actions,
        ActionSpace,
        Axis,
        Motion,
        motions,
        prompts,
    )
    from worldgauge.core.episode import Context, Episode, Goal, WorldFacts
    from worldgauge.core.image import png, read_png, write_png
    from worldgauge.core.io import digest_of_file, dumps, read_json_object, write_file
    from worldgauge.core.video import Clip, Writer, problems, resize
    from worldgauge.engine.collect import plain_facts, world_seed_of
    from worldgauge.engine.collection import (
        Collection,
        DataReport,
        DataTable,
        Finding,
        Item,
        Made,
        Spread,
        check_data,
        collections,
        counted,
        grouped,
        number_text,
        spread,
    )
    from worldgauge.suites.mineanybuild.format_reader import load as load_builds
    from worldgauge.suites.mineanybuild.generate.structures import structures
    from worldgauge.worlds.recorded import Truth, write_truth

__all__ = [
    "CAMERA_MOTION",
    "HAND_POSES",
    "LOOP_WALK",
    "ActionSpace",
    "Actions",
    "Axis",
    "Clip",
    "Collection",
    "Context",
    "DataReport",
    "DataTable",
    "Episode",
    "Finding",
    "Goal",
    "Item",
    "Made",
    "Motion",
    "Spread",
    "Truth",
    "WorldFacts",
    "Writer",
    "check_data",
    "collections",
    "counted",
    "digest_of_file",
    "dumps",
    "grouped",
    "load_builds",
    "motions",
    "number_text",
    "plain_facts",
    "png",
    "problems",
    "prompts",
    "read_json_object",
    "read_png",
    "resize",
    "spread",
    "structures",
    "world_seed_of",
    "write_file",
    "write_png",
    "write_truth",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "core.actions": "ActionSpace Actions Axis CAMERA_MOTION HAND_POSES LOOP_WALK Motion motions prompts",
        "core.episode": "Context Episode Goal WorldFacts",
        "core.image": "png read_png write_png",
        "core.io": "digest_of_file dumps read_json_object write_file",
        "core.video": "Clip Writer problems resize",
        "engine.collect": "plain_facts world_seed_of",
        "engine.collection": (
            "Collection DataReport DataTable Finding Item Made Spread check_data collections counted grouped "
            "number_text spread"
        ),
        "suites.mineanybuild.format_reader": "load_builds=load",
        "suites.mineanybuild.generate.structures": "structures",
        "worlds.recorded": "Truth write_truth",
    },
)
