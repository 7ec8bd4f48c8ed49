"""Folders of the project, for tests that read its pages or start its helpers."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DOCS = ROOT / "docs"
