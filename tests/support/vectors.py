"""Reference cases from the vector files, as pytest parameters.

WORLDGAUGE_VECTORS names another folder with files of the same format: other cases, fewer of them, in another order. So
no test counts the cases or picks one by its name; what needs a certain case makes it by hand.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.places import TESTS

DEFAULT = TESTS / "vectors"


def cases(prefix: str, key: str, beside: str | None = None) -> list[Any]:
    """Every case under `key` in the files `<prefix>*.json` of the vector folder, as pytest parameters.

    key: "cases", or "aggregation.cases" for a list one level down. Files without `key` are passed over.
    beside: a fact of the whole file, such as "tolerance"; every case then comes as (case, fact).
    Ids are the file's name and the case's own id, or its position.
    """
    folder = Path(os.environ.get("WORLDGAUGE_VECTORS") or DEFAULT)
    found = []
    for path in sorted(folder.glob(f"{prefix}*.json")):
        whole = content = json.loads(path.read_text(encoding="utf-8"))
        *outer, last = key.split(".")
        for name in outer:
            content = content.get(name, {})
        for position, case in enumerate(content.get(last, [])):
            given = (case,) if beside is None else (case, whole[beside])
            found.append(pytest.param(*given, id=f"{path.stem}-{case.get('id', position)}"))
    return found
