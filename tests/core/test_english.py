"""Articles, plurals and lists of generated sentences."""

import pytest

from worldgauge.core.english import listed, some


@pytest.mark.parametrize(
    ("noun", "one", "many"),
    [
        ("oak tree", "an oak tree", "oak trees"),
        ("igloo", "an igloo", "igloos"),
        ("library", "a library", "libraries"),
        ("chimney", "a chimney", "chimneys"),
        ("church", "a church", "churches"),
        ("toolbox", "a toolbox", "toolboxes"),
        ("bus", "a bus", "buses"),
        ("cactus", "a cactus", "cacti"),
        ("bookshelf", "a bookshelf", "bookshelves"),
        ("chest of drawers", "a chest of drawers", "chests of drawers"),
        ("poppies", "poppies", "poppies"),
        ("gym equipment", "gym equipment", "gym equipment"),
    ],
)
def test_one_and_several(noun: str, one: str, many: str) -> None:
    assert some(noun) == one
    assert some(noun, 3) == many


def test_the_article_is_that_of_the_colour() -> None:
    assert some("sofa", colour="orange") == "an orange sofa"
    assert some("armchair", colour="red") == "a red armchair"
    assert some("chair", 2, "light wood") == "light wood chairs"


def test_lists_end_with_and() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
