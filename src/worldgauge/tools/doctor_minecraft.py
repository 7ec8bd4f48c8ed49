"""Whether the real game can be used on this machine, part by part, and what to install where it cannot."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import numpy as np

from worldgauge.core.errors import WorldgaugeError
from worldgauge.tools.doctor import BROWSERS, Requirement
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.install import INSTALL_HINT, find_node, find_packages
from worldgauge.worlds.minecraft.server import JavaServer, JsServer, address
from worldgauge.worlds.minecraft.viewer import MinecraftViewer


def examine(java: str | None = None) -> Iterator[Requirement]:
    """Check Node, its packages, a browser, the viewer and a temporary server, in minutes at most."""
    where = None if java is None else address(java)
    node = _tried("node", lambda: str(find_node()))
    yield node
    packages = _tried("packages", lambda: str(find_packages()))
    if INSTALL_HINT in packages.told and not shutil.which("npm"):
        packages = packages._replace(told=f"{packages.told} (which needs npm: it comes with Node)")
    yield packages
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    advice = "none found; only the tests of pages want one (Debian: apt install chromium)"
    yield Requirement("browser", browser is not None, False, browser or advice)
    viewer = _tried("viewer", _draw)
    hint = "" if viewer.well else "only images as in LoopNav need it: "
    yield viewer._replace(needed=False, told=hint + viewer.told)
    if not (node.well and packages.well):
        yield Requirement("server", False, True, "not tried: it needs Node and its packages")
        return
    server = _tried("server", _serve)
    yield server if server.well else server._replace(told=f"one of ours does not start: {server.told}")
    if where is not None:
        yield _tried("java", lambda: _join(*where))


def _tried(part: str, use: Callable[[], str]) -> Requirement:
    try:
        return Requirement(part, True, True, use())
    except WorldgaugeError as error:
        return Requirement(part, False, True, str(error))


def _draw() -> str:
    with MinecraftViewer(Cells((0, 0, 0), (AIR,), np.zeros((1, 1, 1), np.uint16)), width=16, height=16) as viewer:
        viewer.frame(np.eye(4))
    return "it rendered an image as in LoopNav"


def _serve() -> str:
    with JsServer() as server:
        return f"one of ours started on port {server.port} and let a bot in"


def _join(host: str, port: int) -> str:
    with JavaServer(host, port):
        return f"{host}:{port} let a bot in, which may teleport"
