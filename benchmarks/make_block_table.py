"""Make worlds/build/block_table.json.gz from minecraft-data: `python -m benchmarks.make_block_table PACKAGE.tgz`.

PACKAGE.tgz: what `npm pack minecraft-data@3.117.0` fetches. The same archive gives the same bytes.
"""

import argparse
import gzip
import json
import tarfile
from itertools import groupby
from pathlib import Path
from typing import Any

VERSION = "1.20.4"
TABLE = Path(__file__).parents[1] / "src/worldgauge/worlds/build/block_table.json.gz"
NOTICE = """Names, states and boxes are from minecraft-data 3.117.0 (https://github.com/PrismarineJS/minecraft-data),
MIT: Copyright (c) the PrismarineJS contributors. Permission is hereby granted, free of charge, to any
person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the
Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions: The above copyright notice and this permission
notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS
IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", type=Path, help="minecraft-data-3.117.0.tgz")
    data = json.dumps(table(parser.parse_args().package), separators=(",", ":"), sort_keys=True)
    TABLE.write_bytes(gzip.compress(data.encode(), 9, mtime=0))
    print(f"{TABLE}: {len(data)} bytes, {TABLE.stat().st_size} compressed")


def table(package: Path) -> dict[str, Any]:
    """The table of `VERSION`: blocks {name: [states, default, boxes]} and box lists in sixteenths of a block.

    states: [[name, values], ...]; default: an index of a value each; boxes: [[list number, times], ...] over all states
    in their order, the last state's name turning fastest.
    """
    with tarfile.open(package) as archive:

        def read(path: str) -> Any:
            file = archive.extractfile(f"package/minecraft-data/data/{path}.json")
            assert file is not None
            return json.load(file)

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
