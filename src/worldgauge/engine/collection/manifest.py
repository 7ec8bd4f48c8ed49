"""The manifest of a collected folder: how it was made, and the world of every scene."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError
from worldgauge.core.io import dumps, loads, read_json_object, write_file

MANIFEST = "worldgauge.json"
SPLITS = ("train", "val", "test")
"""What worlds are for. No world is in two of them."""
_VERSION = 1


def read_manifest(out: Path, format: str) -> dict[str, Any] | None:
    """Read the manifest of a folder."""
    path = out / MANIFEST
    if not path.exists():
        return None
    try:
        content = loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove or repair the manifest") from error
    if not isinstance(content, dict) or content.get("format") != format:
        raise RunError(f"{out} holds other data than of format '{format}': collect into another folder")
    if not isinstance(content.get("settings"), dict) or not isinstance(content.get("worlds"), dict):
        raise DataError(f"{path}: field 'settings' or 'worlds' is missing; remove or repair the manifest")
    return content


def without_test_split(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a collection whose manifests named no split before there was one: "test" is still left out."""
    return {name: value for name, value in settings.items() if (name, value) != ("split", "test")}


def told_split(out: Path) -> str | None:
    """The split that a folder was collected for, as its manifest says; None where it says nothing."""
    path = out / MANIFEST
    if not path.exists():
        return None
    content = read_json_object(path)
    settings = content.get("settings")
    split = settings.get("split") if isinstance(settings, dict) else None
    if split is not None and split not in SPLITS:
        raise DataError(f"{path}: split is {split!r}; give {', '.join(SPLITS)}")
    return split


def manifest_format(out: Path) -> str | None:
    """Name of the format in the manifest of a folder. None where it has no readable one."""
    try:
        content = loads((out / MANIFEST).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return None
    format = content.get("format") if isinstance(content, dict) else None
    return format if isinstance(format, str) else None


def write_manifest(
    out: Path, format: str, facts: Mapping[str, WorldFacts], settings: Mapping[str, Any], camera: Mapping[str, Any]
) -> None:
    """Write the manifest. Scenes that it already names are kept."""
    rows = {name: {"world": one.name, "params": dict(one.params), "digest": one.digest} for name, one in facts.items()}
    before = read_manifest(out, format)
    kept = {} if before is None else before["worlds"]
    content = {
        "format": format,
        "version": _VERSION,
        "settings": dict(settings),
        "camera": dict(camera),
        "worlds": dict(sorted({**kept, **rows}.items())),
    }
    out.mkdir(parents=True, exist_ok=True)
    write_file(out / MANIFEST, dumps(content, indent=1) + "\n")
