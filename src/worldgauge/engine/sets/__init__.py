"""Named sets: fixed data sets of all suites, which a release names and whose files and tasks it knows by digest."""

from worldgauge.engine.sets.named import (
    DEFINITION,
    SET_COLUMNS,
    NamedSet,
    SetPart,
    data_notes,
    digits_of,
    known_tasks,
    membership,
    named_sets,
    open_set,
    read_set,
    set_cells,
)

__all__ = [
    "DEFINITION",
    "SET_COLUMNS",
    "NamedSet",
    "SetPart",
    "data_notes",
    "digits_of",
    "known_tasks",
    "membership",
    "named_sets",
    "open_set",
    "read_set",
    "set_cells",
]
