"""Licences of what worldgauge depends on, as far as it is installed: `make licences` prints them.

Extras are followed, development packages are not: nobody who installs worldgauge gets those.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

FORBIDDEN = re.compile(
    r"(?<!L)(?<!Lesser )\bA?GPL|(?<!Lesser )General Public License|non-?commercial|\bNC\b", re.IGNORECASE
)
LESSER = re.compile(
    r"\bLGPL[^\s;,)]*|GNU (?:Library or )?Lesser General Public License[^;,)]*(?:\([^)]*\))?", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def licences(root: str = "worldgauge") -> dict[str, str]:
    """Name of each installed distribution that `root` leads to -> what it says of its licence."""
    found: dict[str, str] = {}
    open_names = [root]
    while open_names:
        name = open_names.pop()
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra, or for another system
        key = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
        if key in found:
            continue
        found[key] = told(one.metadata)
        for required in one.requires or ():
            # Extras of worldgauge are its own; those of others are not asked for.
            extra = re.search(r"extra\s*==\s*['\"](\w+)['\"]", required)
            if extra is None or (name == root and extra[1] != "dev"):
                open_names.append(_NAME.match(required)[0])  # type: ignore[index]
    return dict(sorted(found.items()))


def told(about: metadata.PackageMetadata) -> str:
    """The expression, the classifiers, or the first line of what stands under "License"."""
    classes = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License ::")]
    text = about.get("License-Expression") or "; ".join(classes) or (about.get("License") or "").strip()
    return text.splitlines()[0][:100] if text else ""


def refused(text: str) -> bool:
    """Whether a licence is one that nothing here may have. A choice of several is fine when one of them is."""
    if not text:
        return True
    return all(FORBIDDEN.search(LESSER.sub("", choice)) for choice in re.split(r"\s+OR\s+", text))


def main() -> int:
    """Print them; 1 when one is refused or not told."""
    found = licences()
    for name, text in found.items():
        print(f"{name:32} {text or 'not told'}{'   REFUSED' if refused(text) else ''}")
    return 1 if any(map(refused, found.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
