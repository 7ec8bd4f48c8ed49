"""The published layout of MineAnyBuild: architectures as blueprints, and five files of tasks.

On disk: data/architectures.json, data/images/, task/Task_*.json (specification: mineanybuild, 2). The published archive
and what we write are read in the same way.

Example:
    data = load(root)
    data.tasks["planning"][0]
    data.architectures[task.architecture].blueprint
    write(root, architectures, tasks)
    write_image(root, "images/own/hut.png", picture)
    read_image(root, task.images[0])
"""

from worldgauge.suites.build.format.files import image_path, image_size, missing, read_image, write_image
from worldgauge.suites.build.format.reader import fingerprint_of, load
from worldgauge.suites.build.format.record import (
    CODES,
    OWN_SOURCE,
    PUBLISHED,
    TYPES,
    Architecture,
    BuildSet,
    BuildTask,
    Fault,
    identifier,
    task_id,
)
from worldgauge.suites.build.format.statistics import BuildStatistics, check
from worldgauge.suites.build.format.writer import write

__all__ = [
    "CODES",
    "OWN_SOURCE",
    "PUBLISHED",
    "TYPES",
    "Architecture",
    "BuildSet",
    "BuildStatistics",
    "BuildTask",
    "Fault",
    "check",
    "fingerprint_of",
    "identifier",
    "image_path",
    "image_size",
    "load",
    "missing",
    "read_image",
    "task_id",
    "write",
    "write_image",
]
