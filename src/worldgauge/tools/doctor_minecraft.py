"""Whether the real game can be used on this machine, part by part, and what to install where it cannot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import WorldgaugeError
from worldgauge.tools.doctor import BROWSERS, Requirement
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.install import INSTALL_HINT, find_node, find_packages
from worldgauge.worlds.minecraft.server import JavaServer, JsServer, address
from worldgauge.worlds.minecraft.viewer import Viewer


def examine(java: str | None = None) -> Iterator[Requirement]:
    """Check Node, its packages, a browser, the viewer and a server of ours, one after the other; takes minutes at most.

    Args:
        java: Also a server that the user runs, as host:port.

    Raises:
        UsageError: It is not an address.
    """
    where = None if java is None else address(java)
    node = _node()
    yield node
    packages = _packages()
    yield packages
    yield _browser()
    yield _viewer()
    if not (node.well and packages.well):
        yield Requirement("server", False, True, "not tried: it needs Node and its packages")
        return
    yield _server()
    if where is not None:
        yield _java(*where)


def _node() -> Requirement:
    try:
        return Requirement("node", True, True, str(find_node()))
    except WorldgaugeError as error:
        return Requirement("node", False, True, str(error))


def _packages() -> Requirement:
    try:
        return Requirement("packages", True, True, str(find_packages()))
    except WorldgaugeError as error:
        npm = "" if shutil.which("npm") or INSTALL_HINT not in str(error) else " (which needs npm: it comes with Node)"
        return Requirement("packages", False, True, f"{error}{npm}")


def _browser() -> Requirement:
    for name in BROWSERS:
        if found := shutil.which(name):
            return Requirement("browser", True, False, found)
    return Requirement(
        "browser", False, False, "none found; only the tests of pages want one (Debian: apt install chromium)"
    )


def _viewer() -> Requirement:
    try:
        with Viewer(Cells((0, 0, 0), (AIR,), np.zeros((1, 1, 1), np.uint16)), width=16, height=16) as viewer:
            viewer.frame(np.eye(4))
    except WorldgaugeError as error:
        return Requirement("viewer", False, False, f"only pictures as LoopNav's were drawn want it: {error}")
    return Requirement("viewer", True, False, "it drew a picture as LoopNav's were drawn")


def _server() -> Requirement:
    try:
        with JsServer() as server:
            return Requirement("server", True, True, f"one of ours started on port {server.port} and let a bot in")
    except WorldgaugeError as error:
        return Requirement("server", False, True, f"one of ours does not start: {error}")


def _java(host: str, port: int) -> Requirement:
    try:
        with JavaServer(host, port):
            return Requirement("java", True, True, f"{host}:{port} let a bot in, which may teleport")
    except WorldgaugeError as error:
        return Requirement("java", False, True, str(error))
