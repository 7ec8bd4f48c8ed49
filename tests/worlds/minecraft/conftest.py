"""Where the tests find the Node packages of the real game."""

from pathlib import Path

import pytest

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.install import find_node, find_packages


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder that holds `node_modules`: WORLDGAUGE_NODE_PACKAGES, or the cache folder of `make minecraft`."""
    try:
        find_node()
        return find_packages()
    except WorldError as error:
        pytest.skip(f"the real game needs Node and its packages: {error}")
