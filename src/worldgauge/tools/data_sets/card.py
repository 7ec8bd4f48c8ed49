"""The data card and the licence that are written beside a set."""

from __future__ import annotations

import json
from pathlib import Path

from worldgauge.core.io import write_file
from worldgauge.engine.sets import NamedSet
from worldgauge.engine.suite.base import suites
from worldgauge.version import __version__

CARD, LICENCE = "README.md", "LICENSE"
SPDX = "Apache-2.0"


def write_card(named: NamedSet, root: Path) -> Path:
    """Write README.md, in the form that the Hugging Face Hub reads, and LICENSE.

    Args:
        named: The set.
        root: Its folder.

    Returns:
        Path of the card.

    Raises:
        DataError: When one cannot be written.
    """
    write_file(root / LICENCE, _LICENCE)
    write_file(root / CARD, card_of(named))
    return root / CARD


def card_of(named: NamedSet) -> str:
    """The card as Markdown. It depends on the set alone, so that every copy has the same."""
    rows = []
    for part in named.parts:
        options = ", ".join(f"`{name}={json.dumps(value)}`" for name, value in part.options.items())
        tasks = str(len(part.tasks)) if part.tasks else "not frozen"
        files = str(len(part.files)) if part.files else "not frozen"
        rows.append(f"| {part.suite} | {suites.entry(part.suite).summary} | {tasks} | {files} | {options} |")
    versions = ", ".join(f"{name} {number}" for name, number in named.made_with.items()) or "not frozen"
    return _CARD.format(
        name=named.name,
        version=named.version,
        title=named.title,
        short=named.short,
        rows="\n".join(rows),
        versions=versions,
        package=__version__,
    )


_CARD = """---
license: apache-2.0
pretty_name: {name}
tags:
- world-models
- video
- benchmark
---

# {name}, version {version}

{title}. Data of worldgauge, which measures what world models are worth: frames, actions and exact camera poses of
walks, paths to targets, episodes of agents and tasks about structures, all drawn by programs.

| part | question | tasks | files | options of its collection |
|---|---|---|---|---|
{rows}

- **Made, not filmed.** Every picture is drawn by worldgauge's own worlds. No person, place, brand or recording of
  anybody is in it, and nothing was scraped.
- **Fixed.** The seeds above give the same bytes again: `worldgauge data make {short} --out DIR`. Whether a copy is this
  set: `worldgauge data check {short} --data DIR`. Frozen with: {versions}.
- **Meant for** evaluation. Train on other seeds or on `split=train`; tables of worldgauge tell which models were
  trained on these scenes.
- **Limits.** Blocks, homes and tables that programs draw are simpler than the world: numbers rank models on memory and
  control, and say little about the look of real scenes.
- **Licence.** {spdx}, the licence of the program that draws it; see `LICENSE`.

Written by worldgauge {package}.
""".replace("{spdx}", SPDX)

_LICENCE = """SPDX-License-Identifier: Apache-2.0

The files in this folder are licensed under the Apache License, Version 2.0 (the "License"); you may not use them
except in compliance with the License. You may obtain a copy of the License at

    https://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, they are distributed on an "AS IS" BASIS, WITHOUT
WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language governing
permissions and limitations under the License.
"""
