"""Demonstrations of the table's scripted expert: front frames, poses asked for and reached, and where things were.

On disk, the post-training record: <task>/<number>/ with frames.mp4 (lossless), steps.jsonl, manifest.json and, if asked
for, depth.npz (whole millimetres a frame, 0 for none); index.json tells the tables by hash. Seeds of tables are of the
split "train", which no evaluation episode has (specification: world_in_world, 10.1 and 10.4).

demo = load(root)[0];  demo.clip[demo.reached[0]];  demo.hand, demo.asked, demo.places
write(root, facts, frames, steps);  index = write_index(root);  overlap(index, scenes);  check(root)
"""

from worldgauge.suites.closedloop.training_data.demonstrations.check import (
    DemonstrationStatistics,
    TableTaskStatistics,
    check,
)
from worldgauge.suites.closedloop.training_data.demonstrations.index import (
    Entry,
    Index,
    overlap,
    read_index,
    table_hash,
    write_index,
)
from worldgauge.suites.closedloop.training_data.demonstrations.read import folders, load, read, read_manifest
from worldgauge.suites.closedloop.training_data.demonstrations.record import (
    MAX_NUMBER,
    DemoFacts,
    Demonstration,
    DemoStep,
    DemoThing,
)
from worldgauge.suites.closedloop.training_data.demonstrations.write import folder_name, write

__all__ = [
    "MAX_NUMBER",
    "DemoFacts",
    "DemoStep",
    "DemoThing",
    "Demonstration",
    "DemonstrationStatistics",
    "Entry",
    "Index",
    "TableTaskStatistics",
    "check",
    "folder_name",
    "folders",
    "load",
    "overlap",
    "read",
    "read_index",
    "read_manifest",
    "table_hash",
    "write",
    "write_index",
]
