"""Reference cases from the vector files, as pytest parameters."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.places import TESTS

DEFAULT = TESTS / "vectors"


def cases(prefix: str, key: str) -> list[Any]:
    """Every case under `key` in the files `<prefix>*.json` of the vector folder, as pytest parameters.

    key: "cases", or "aggregation.cases" for a list one level down. The folder is WORLDGAUGE_VECTORS, or tests/vectors.
    Files without `key` are passed over. Ids are the file's name and the case's own id, or its position.
    """
    folder = Path(os.environ.get("WORLDGAUGE_VECTORS") or DEFAULT)
    found = []
    for path in sorted(folder.glob(f"{prefix}*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        *outer, last = key.split(".")
        for name in outer:
            content = content.get(name, {})
        for position, case in enumerate(content.get(last, [])):
            found.append(pytest.param(case, id=f"{path.stem}-{case.get('id', position)}"))
    return found
