"""Freeze a named set: write the digests of a folder that was made into the definition of the set.

python -m worldgauge.tools.data_sets.freezing DEFINITION FOLDER

DEFINITION is a folder with a `set.json`, FOLDER what was made from it.

For those who keep the package: a set that was published is never frozen again under the same version.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of_file, dumps, read_json_object, write_file
from worldgauge.engine.collection.kernel import count
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.sets import DEFINITION, NamedSet, digits_of, read_set
from worldgauge.tools.data_sets.checking import content_of, versions_here


def freeze(definition: Path, root: Path) -> NamedSet:
    """Write the digests of all suites that are in a folder into a definition, a file a suite.

    Args:
        definition: Folder with the `set.json` of the set.
        root: Folder of the set.

    Returns:
        The set as it is defined now.

    Raises:
        UsageError: When the folder holds no part of the set, or one whose making was stopped.
        DataError: When a file cannot be read or written.
    """
    content = read_json_object(definition / DEFINITION)
    found = 0
    for suite, part in content["suites"].items():
        folder = root / suite
        if any(content_of(folder)):
            # Before its files are listed: a making that still runs would add to them.
            expected, done = count(suite, folder, **part["options"])
            if done < expected:
                raise UsageError(f"{folder}: {done} of {expected} things are made; make the others first")
            files = {path.relative_to(folder).as_posix(): digest_of_file(path) for path in content_of(folder)}
            tasks = list_tasks(open_suite(suite, {}), folder, None)
            digests = {"files": files, "tasks": {task.id: digits_of(task.fingerprint) for task in tasks}}
            write_file(definition / f"{suite}.json", dumps(digests, indent=1) + "\n")
            found += 1
    if not found:
        raise UsageError(f"{root}: holds no part of {content['name']}")
    content["made_with"] = versions_here()
    write_file(definition / DEFINITION, dumps(content, indent=1) + "\n")
    return read_set(definition)


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("definition", type=Path)
    reader.add_argument("folder", type=Path)
    given = reader.parse_args()
    freeze(given.definition, given.folder)
