"""Make the block table and the tests' block lists: `python -m benchmarks.make_block_table PACKAGE.tgz`.

PACKAGE.tgz: what `npm pack minecraft-data@3.117.0` fetches. The same archive gives the same bytes.
"""

import argparse
import gzip
import json
import lzma
import tarfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

VERSION = "1.20.4"
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/worldgauge/worlds/blocks/block_table.json.gz"
LISTS = ROOT / "tests/worlds/minecraft/block_lists.json.xz"
LISTED = {
    "1.13": 1519, "1.13.2": 1631, "1.14.4": 1976, "1.15.2": 2230, "1.16.1": 2567, "1.16.5": 2586, "1.17.1": 2730,
    "1.18.2": 2975, "1.19.2": 3120, "1.19.4": 3337, "1.20.2": 3578, "1.20.4": 3700, "1.20.6": 3839, "1.21.4": 4189,
    "1.21.5": 4325, "1.21.9": 4554, "1.21.11": 4671, "26.1": 4786,
}  # fmt: skip
"""Versions of the lists, with their DataVersions."""
NOTICE = """Names, states and boxes are from minecraft-data 3.117.0 (https://github.com/PrismarineJS/minecraft-data),
MIT: Copyright (c) the PrismarineJS contributors. Permission is hereby granted, free of charge, to any
person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the
Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, model to the following conditions: The above copyright notice and this permission
notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS
IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", type=Path, help="minecraft-data-3.117.0.tgz")
    package = parser.parse_args().package
    for path, content, pack in ((TABLE, table(package), _gzipped), (LISTS, lists(package), lzma.compress)):
        data = json.dumps(content, separators=(",", ":"), sort_keys=True)
        path.write_bytes(pack(data.encode()))
        print(f"{path}: {len(data)} bytes, {path.stat().st_size} compressed")


def lists(package: Path) -> dict[str, Any]:
    """Of each version in `LISTED`: its DataVersion, and {name: {state: [default, other values ...]}} of its blocks."""
    found = {}
    with tarfile.open(package) as archive:
        read = _reader(archive)
        paths = read("dataPaths")["pc"]
        for version, number in LISTED.items():
            known = {}
            for block in read(f"{paths[version]['blocks']}/blocks"):
                states, rest = {}, block["defaultState"] - block["minStateId"]
                for state in reversed(block.get("states", [])):
                    values = _values(state)
                    rest, index = divmod(rest, len(values))
                    states[state["name"]] = [values[index], *values[:index], *values[index + 1 :]]
                known[block["name"]] = states
            found[version] = {"data_version": number, "blocks": known}
    return {"notice": NOTICE, "versions": found}


def _values(state: Any) -> list[str]:
    if state["type"] == "bool":
        return ["true", "false"]
    return state.get("values") or [str(number) for number in range(state["num_values"])]


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def _reader(archive: tarfile.TarFile) -> Callable[[str], Any]:
    def read(path: str) -> Any:
        file = archive.extractfile(f"package/minecraft-data/data/{path}.json")
        assert file is not None
        return json.load(file)

    return read


def table(package: Path) -> dict[str, Any]:
    """The table of `VERSION`: blocks {name: [states, default, boxes]} and box lists in sixteenths of a block.

    states: [[name, values], ...]; default: an index of a value each; boxes: [[list number, times], ...] over all states
    in their order, the last state's name turning fastest.
    """
    with tarfile.open(package) as archive:
        read = _reader(archive)
        paths = read("dataPaths")["pc"][VERSION]
        blocks = read(f"{paths['blocks']}/blocks")
        shapes = read(f"{paths['blockCollisionShapes']}/blockCollisionShapes")
    lists: dict[str, int] = {}
    known = {}
    for block in blocks:
        states = [[s["name"], s.get("values", ["true", "false"])] for s in block["states"]]
        count = block["maxStateId"] - block["minStateId"] + 1
        used = shapes["blocks"][block["name"]]
        used = [used] * count if isinstance(used, int) else used
        texts = [json.dumps([[round(16 * v) for v in box] for box in shapes["shapes"][str(n)]]) for n in used]
        numbers = [lists.setdefault(text, len(lists)) for text in texts]
        default: list[int] = []
        rest = block["defaultState"] - block["minStateId"]
        for _, values in reversed(states):
            rest, index = divmod(rest, len(values))
            default.insert(0, index)
        known[block["name"]] = [states, default, [[n, len(list(run))] for n, run in groupby(numbers)]]
    return {"blocks": known, "boxes": [json.loads(text) for text in lists], "notice": NOTICE, "version": VERSION}


if __name__ == "__main__":
    main()
