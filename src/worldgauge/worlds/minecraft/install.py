"""Node and the packages that the bridge needs: where they are, and how they get there.

The packages are those of bridge/package-lock.json, installed by npm into a folder of the user's cache, or into the one
that WORLDGAUGE_NODE_PACKAGES names; their own install scripts never run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from worldgauge.errors import DataError, WorldError
from worldgauge.files import put_whole

BRIDGE_FOLDER = Path(__file__).parent / "bridge"
PACKAGES_VARIABLE = "WORLDGAUGE_NODE_PACKAGES"
LEAST_NODE = 20
INSTALL_HINT = "run `make minecraft`"

_VERSION_S = 20.0
_INSTALL_S = 1800.0
_LAST_LINES = 5


def packages_folder() -> Path:
    """The folder that holds, or will hold, `node_modules`."""
    if named := os.environ.get(PACKAGES_VARIABLE):
        return Path(named).absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("worldgauge")) / "minecraft"


def find_packages(folder: Path | None = None) -> Path:
    """`folder`, by default `packages_folder()`, once it is known to hold the pinned packages.

    Raises WorldError that names what is missing or has another version.
    """
    folder = folder or packages_folder()
    try:
        # npm writes this file last, so a broken install has none.
        listed = json.loads((folder / "node_modules" / ".package-lock.json").read_bytes())["packages"]
        found = {name: listed.get(f"node_modules/{name}", {}).get("version") for name in pinned()}
    except FileNotFoundError:
        raise WorldError(f"no Node packages in {folder}: {INSTALL_HINT}") from None
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise WorldError(f"the Node packages in {folder} cannot be read ({error}): {INSTALL_HINT}") from None
    if wrong := mismatch(found):
        raise WorldError(f"the Node packages in {folder} are not those of this version ({wrong}): {INSTALL_HINT}")
    return folder


def find_node() -> Path:
    """The `node` of the search path. Raises WorldError when there is none of LEAST_NODE or later."""
    found = shutil.which("node")
    if found is None:
        raise WorldError(f"no Node on the search path: install Node {LEAST_NODE} or later")
    try:
        said = _run([found, "--version"], _VERSION_S).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise WorldError(f"{found} does not run ({error}): install Node {LEAST_NODE} or later") from None
    version = re.fullmatch(r"v(\d+)\.\d+\.\d+\S*", said)
    if version is None or int(version[1]) < LEAST_NODE:
        raise WorldError(f"{found} is Node {said[:40] or '?'}: install Node {LEAST_NODE} or later")
    return Path(found)


def install(folder: Path | None = None) -> Path:
    """Put the packages of the lock file into `folder` (by default `packages_folder()`), which is returned.

    About 500 MB. Nothing happens when they are there already. Raises WorldError with the last lines of npm.
    """
    folder = folder or packages_folder()
    find_node()
    try:
        return find_packages(folder)
    except WorldError:
        pass
    npm = shutil.which("npm")
    if npm is None:
        raise WorldError("no npm on the search path: it comes with Node from nodejs.org (Debian: the package npm)")
    try:
        for name in ("package.json", "package-lock.json"):
            put_whole(folder / name, (BRIDGE_FOLDER / name).read_bytes())
        done = _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], _INSTALL_S, folder)
    except DataError as error:
        raise WorldError(f"the Node packages cannot be installed: {error}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise WorldError(f"npm did not install the packages into {folder}: {error}") from None
    if done.returncode:
        last = " / ".join([line.strip() for line in done.stderr.splitlines() if line.strip()][-_LAST_LINES:])
        raise WorldError(f"npm did not install the packages into {folder}: {last}")
    return find_packages(folder)


def pinned() -> dict[str, str]:
    """Name and version of every package that the bridge asks for itself."""
    versions: dict[str, str] = json.loads((BRIDGE_FOLDER / "package.json").read_bytes())["dependencies"]
    return versions


def mismatch(found: dict[str, str | None]) -> str:
    """What of `found` is not as pinned, in words; empty when all is."""
    wrong = [f"{name} {found.get(name) or 'missing'}" for name, want in pinned().items() if found.get(name) != want]
    return ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")


def _run(command: list[str], limit_s: float, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit_s
    )
