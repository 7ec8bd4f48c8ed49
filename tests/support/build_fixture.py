"""A data set of the build suite in the published layout, as the archive spells it, with pictures; all made up here.

Nothing of it is written by our writer: json.dump of rows, and OpenCV's pictures.
"""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from worldgauge.suites.mineanybuild import format as build
from worldgauge.worlds.blocks.blueprint import Blueprint

HUT = "AR_00001_4025eb7e4ff6ef93_0123456789abcdef"
LAMP = "AR_20007_e3b0c44298fc1c14_fedcba9876543210"

HUT_CELLS = [
    [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]],
    [[1, -1, 1, 1], [1, -1, -1, 2], [1, 1, 1, 1]],
    [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 3]],
]
"""3 layers of 3 rows of 4 cells."""


def published_rows() -> dict[str, list[dict[str, Any]]]:
    """Rows of every file by its name, as the archive has them; what does not apply is null or absent."""
    hut_materials = ["oak_planks", "glass", "torch"]
    lamp_materials = ["oak_fence", "lantern[hanging=false,waterlogged=false]"]
    architectures = [
        {
            "id": HUT,
            "name": "example_hut",
            "description": "A small hut",
            "data_resource": "Grabcraft",
            "3d_info": {"width": 4, "height": 3, "depth": 3},
            "difficulty_factor": 1.9,
            "image": "./images/grabcraft/example_hut.png",
            "block_materials": hut_materials,
            "blueprint": [[list(row) for row in layer] for layer in HUT_CELLS],
            "type": "houses",
            "image_urls": ["https://example.org/1.png"],
            "metadata": "https://example.org/hut",
        },
        {
            "id": LAMP,
            "name": "decoration_asset_7",
            "description": "a lamp on a post",
            "data_resource": "Reakon",
            "3d_info": {"width": 1, "height": 3, "depth": 1},
            "difficulty_factor": 0.8,
            "image": "./images/assets/decoration_asset_7.png",
            "block_materials": lamp_materials,
            "blueprint": [[[1]], [[1]], [[2]]],
            "type": None,
            "biome": None,
            "image_urls": None,
            "metadata": None,
        },
    ]
    nulls = dict.fromkeys(("image_desp", "options_image", "options", "metadata"))
    of_hut = {"AR_id": HUT, "difficulty_factor": 1.9, "block_materials": hut_materials, **nulls}
    of_lamp = {"AR_id": LAMP, "difficulty_factor": 0.8, "block_materials": lamp_materials}
    hut_image, lamp_image = "/data/images/grabcraft/example_hut.png", "/data/images/assets/decoration_asset_7.png"
    return {
        "data/architectures.json": architectures,
        "task/Task_Spatial_Planning.json": [
            {"id": "TSK_SP_00001_0", "instruction": "A hut of planks.", "image": hut_image, **of_hut},
            {"id": "TSK_SP_00001_1", "instruction": "Build a hut.", "image": hut_image, **of_hut},
            {"id": "TSK_SP_20007_1", "instruction": "Design a lamp.", "image": lamp_image, **of_lamp},
        ],
        "task/Task_Spatial_Understanding.json": [
            {"id": "TSK_SU_20007", "instruction": "Layer 1: oak_fence: [(0,0)]", "image": lamp_image, **of_lamp}
        ],
        "task/Task_Creativity.json": [
            {"id": f"TSK_CR_00001_{i}", "instruction": f"{verb} a hut.", "image": None, **of_hut}
            for i, verb in enumerate(("Build", "Make", "Erect"))
        ],
        "task/Task_Spatial_Reasoning.json": [
            _question("TSK_SR_1_0001", "B", ["N_1", "RX_2", "RY_3", "RZ_0"], "MR1_N1RX2RY3RZ0"),
            _question("TSK_SR_2_0001", "D", ["N_1", "N_2", "N_3", "RZ_0"], "MR1_N1N2N3RZ0"),
            _question("TSK_SR_3_0001", "Ture", list("/data/images/stimuli/MR1/N_1.png"), "MR1_N1"),
            _question("TSK_SR_3_0002", "False", "/data/images/stimuli/MR1/RX_1.png", "MR1_RX1"),
        ],
        "task/Task_Spatial_Commonsense.json": [
            {
                "id": "TSK_SC_0001",
                "instruction": "Is the way to the bed free?",
                "difficulty_factor": None,
                "image": ["/data/images/commonsense/SC_0001_IMG_0.jpg"],
                "image_desp": ["the bedroom from the door"],
                "options_image": None,
                "answer": "Yes, nothing stands between door and bed.",
                "env": "bedroom",
            }
        ],
    }


def write_rows(root: Path, files: dict[str, list[dict[str, Any]]]) -> Path:
    """The rows as files, and a picture of 24 x 16 pixels wherever a row of `published_rows` names one."""
    for name, rows in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(rows), encoding="utf-8")
    for relative in sorted(_named(published_rows())):
        path = root / "data" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), _picture(relative)[..., ::-1])
    return root


def make_published(root: Path) -> Path:
    """All of `published_rows` as a folder."""
    return write_rows(root, published_rows())


def small_set(n: int = 3) -> tuple[list[build.Architecture], list[build.BuildTask]]:
    """`n` architectures of our own, each with a task of planning, understanding and creativity."""
    builds, tasks = [], []
    for number in range(1, n + 1):
        cells = np.ones((2 + number, 3, 4), np.int32)
        cells[1:-1, 1, 1:3] = -1
        cells[-1, 0, 0] = 2
        blueprint = Blueprint(cells, ("stone", "oak_stairs[facing=north,half=bottom]"))
        name = f"block_{number}"
        id = build.identifier(build.OWN_SOURCE, number, "others", name, f"Block {number}")
        image = f"images/own/{name}.png"
        builds.append(build.Architecture(id, name, f"Block {number}", "worldgauge", blueprint, 2.0, "others", image))
        common = {"architecture": id, "materials": blueprint.materials, "difficulty": 2.0}
        tasks += [
            build.BuildTask(
                build.task_id("planning", id, 0), "planning", "detailed", "Long.", images=(image,), **common
            ),
            build.BuildTask(
                build.task_id("understanding", id), "understanding", "", "Layer 1: ...", images=(image,), **common
            ),
            build.BuildTask(build.task_id("creativity", id, 2), "creativity", "", "Build a block.", **common),
        ]
    return builds, tasks


def _question(id: str, answer: str, options: Any, metadata: str) -> dict[str, Any]:
    if isinstance(options, list) and len(options) == 4:
        options = [f"/data/images/stimuli/MR1/{code}.png" for code in options]
    return {
        "id": id,
        "instruction": "Which of them is it?",
        "difficulty_factor": None,
        "image": None,
        "image_desp": None,
        "options_image": f"/data/images/reasoning/{id}.jpg",
        "options": options,
        "metadata": metadata,
        "answer": answer,
        "env": None,
    }


def _named(files: dict[str, list[dict[str, Any]]]) -> set[str]:
    shown: set[str] = set()
    for rows in files.values():
        for row in rows:
            image = row.get("image") or []
            shown |= {image} if isinstance(image, str) else set(image)
            shown |= {row["options_image"]} if row.get("options_image") else set()
    return {build.image_path(Path(), name).as_posix().removeprefix("data/") for name in shown}


def _picture(name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    picture = np.full((16, 24, 3), 200, np.uint8)
    picture[4:12, 4:20] = [len(name) % 200, 90, 40]
    return picture
