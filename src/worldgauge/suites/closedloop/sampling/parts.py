"""Files with what was found for each share, such as a home, and the published files made from all of them.

A part is a JSON file in the folder `parts`, one per share. Pictures lie in a folder next to it until they are
published.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.io import dumps, loads, write_file
from worldgauge.suites.closedloop.sampling.contract import EpisodeSampler, Share, part_folder
from worldgauge.suites.closedloop.sampling.home import home_shares
from worldgauge.suites.closedloop.sampling.scans import scan_shares
from worldgauge.suites.closedloop.task import closed_loop_tasks, task_names


def samplers() -> list[EpisodeSampler]:
    """Those of all tasks, in the order of tables."""
    return [closed_loop_tasks.get(name).sampler for name in task_names()]


def all_shares(settings: Mapping[str, Any]) -> Iterator[Share]:
    """The shares of all homes or scans, then those that are of one task."""
    if settings.get("world") == "scan":
        yield from scan_shares(settings)
        return
    yield from home_shares(settings)
    for sampler in samplers():
        yield from sampler.shares(settings)


def read_part(out: Path, share: Share) -> dict[str, Any] | None:
    """What was found for a share; None when it is still to be done, or was done for other counts."""
    try:
        part = loads(_path(out, share).read_text(encoding="utf-8"))
        if _some(part["asked"]) != _some(share.counts):
            return None
        kept = all(
            sampler.is_kept(out, share, facts)
            for sampler in samplers()
            for facts in part["episodes"].get(sampler.kind, ())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return part if kept else None


def write_part(out: Path, share: Share, part: Mapping[str, Any]) -> None:
    """Put a part in place; its share is then done.

    Raises:
        DataError: When it cannot be written.
    """
    write_file(_path(out, share), dumps(part) + "\n")


def found_in(part: Mapping[str, Any]) -> int:
    """Episodes of a part."""
    return sum(map(len, part["episodes"].values()))


def pictures_in(part: Mapping[str, Any]) -> int:
    """Pictures of a part."""
    return sum(one.pictures * len(part["episodes"].get(one.kind, ())) for one in samplers())


def publish(out: Path, settings: Mapping[str, Any]) -> None:
    """Write the published files of all parts; pictures are moved into theirs.

    Raises:
        DataError: When one cannot be written.
    """
    shares = list(all_shares(settings))
    parts = [(share, part) for share in shares if (part := read_part(out, share)) is not None]
    for sampler in samplers():
        if settings[sampler.kind]:
            own = [(share, facts) for share, part in parts for facts in part["episodes"].get(sampler.kind, ())]
            sampler.publish(out, own)
    for share, _ in parts:
        shutil.rmtree(part_folder(out, share), ignore_errors=True)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts without zeros: a task of which nothing is asked, and one that is not known, are the same."""
    return {name: count for name, count in counts.items() if count}


def _path(out: Path, share: Share) -> Path:
    folder = part_folder(out, share)
    return folder.with_name(f"{folder.name}.json")
