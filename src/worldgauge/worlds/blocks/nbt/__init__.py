"""NBT, the format of the game's files: unpacked up to a limit, walked before it is read, taken field by field.

    root = fields_of(unpacked(data, "hut.nbt", limits), "hut.nbt", limits)
    root.whole("DataVersion", 0, 2**31 - 1)

Writing needs the extra 'structures'. `worldgauge.worlds.blocks.nbt.region` reads and writes region files.
"""

from worldgauge.worlds.blocks.nbt.fields import Fields, check_numbers, material_of, material_of_text, plain
from worldgauge.worlds.blocks.nbt.guard import Limits, fields_of, fields_of_file, nbt_library, unpacked

__all__ = [
    "Fields",
    "Limits",
    "check_numbers",
    "fields_of",
    "fields_of_file",
    "material_of",
    "material_of_text",
    "nbt_library",
    "plain",
    "unpacked",
]
