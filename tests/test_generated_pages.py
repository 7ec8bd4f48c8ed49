"""The generated pages of the reference are what docs/generate.py writes."""

import importlib.util

import pytest

from support.places import ROOT


def test_generated_pages_are_current() -> None:
    for neighbour in ("worldgauge_lab", "worldgauge_train"):
        pytest.importorskip(neighbour)
    spec = importlib.util.spec_from_file_location("generate_pages", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    stale = [page.name for page, text in generate.pages().items() if page.read_text("utf-8") != text]
    assert not stale, "run: python docs/generate.py"
