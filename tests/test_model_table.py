"""The tables of published models say what each adapter declares: which suites run it, its inputs, rate and size."""

from pathlib import Path

from adapters.fastvideo import MODELS

from adapters import fastvideo
from support.model_table import FAMILIES, PAGE, parts_of_page, tables


def test_the_page_holds_the_tables_as_the_adapters_declare() -> None:
    found = parts_of_page()[1]
    assert found == tables(), "write them again: PYTHONPATH=.:src:tests python -m support.model_table"


def test_no_adapter_is_left_out() -> None:
    named = {key for _, *keys in FAMILIES.values() for key in keys}
    assert named == set(MODELS)
    folder = Path(fastvideo.__file__).parent
    models = [file.stem for file in folder.glob("*.py") if "def rollout" in file.read_text("utf-8")]
    assert len(models) > 10
    found = parts_of_page()[1]
    assert [name for name in models if f"`{name}`" not in found] == []


def test_every_model_has_a_card_and_every_card_a_link() -> None:
    page = PAGE.read_text("utf-8")
    cards = {path.name for path in PAGE.parent.glob("*.md")} - {PAGE.name}
    assert {name for name in cards if f"({name})" not in page} == set()
