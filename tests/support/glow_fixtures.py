"""Runs of a tiny suite, made once: what bundles, exports and boards are made of."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import glow


@pytest.fixture(scope="session")
def glow_suite() -> Iterator[None]:
    glow.register()
    yield
    glow.unregister()


@pytest.fixture(scope="session")
def glow_data(glow_suite: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return glow.make_data(tmp_path_factory.mktemp("glow") / "data" / "of somebody")


@pytest.fixture(scope="session")
def glow_runs(glow_data: Path) -> Path:
    """Three runs: a model, a better one, one that fails in a task."""
    root = glow_data.parent.parent / "runs"
    glow.make_run(root, glow.Glowing("glowing", 4), glow_data)
    glow.make_run(root, glow.Glowing("better", 1), glow_data)
    glow.make_run(root, glow.Glowing("faulty", 9, bad=(3,)), glow_data)
    return root
