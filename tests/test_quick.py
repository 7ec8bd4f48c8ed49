"""`make quick` runs the tests of what a change touches, and no others."""

import subprocess
from pathlib import Path

import pytest

from support.quick import changed_names, main, select

SCALE = '''
UNIT = 1


def half():
    return UNIT / 2


def other():
    """Three."""
    return 3
'''
FILES = {
    "src/worldgauge/core/scale.py": SCALE,
    "src/worldgauge/metrics/error.py": "from worldgauge.core.scale import half\n",
    "src/worldgauge/metrics/count.py": "from worldgauge.core.scale import other\n",
    "src/worldgauge/core/alone.py": "def lonely():\n    return 1\n",
    "src/worldgauge/core/table.json": "{}",
    "tests/core/test_scale.py": "",
    "tests/core/test_halves.py": "from worldgauge.core.scale import half\n",
    "tests/core/test_threes.py": "from worldgauge.core.scale import other\n",
    "tests/core/test_helped.py": "from support.helper import helped\n",
    "tests/core/test_fixture.py": "def test(two_halves): ...\n",
    "tests/metrics/test_error_sums.py": "",
    "tests/metrics/test_count.py": "",
    "tests/metrics/fixtures.py": "def two_halves():\n    return 1\n",
    "tests/support/helper.py": "from support.inner import inner\n\n\ndef helped():\n    return inner()\n",
    "tests/support/inner.py": "def inner():\n    return 1\n",
    "tests/test_docs.py": "",
    "tests/test_house.py": "",
    "docs/index.md": "Pages.",
}
SOURCE = "src/worldgauge/core/scale.py"
IN_CORE = [name.removeprefix("tests/").removesuffix(".py") for name in FILES if name.startswith("tests/core/")]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        # Its own test, those that import the name, and the test of a module that does.
        (SOURCE, "/ 2", "/ 4", "core/test_scale core/test_halves metrics/test_error_sums"),
        # What uses the changed name changed as well.
        (SOURCE, "UNIT = 1", "UNIT = 2", "core/test_scale core/test_halves metrics/test_error_sums"),
        (SOURCE, "return 3", "return 4", "core/test_scale core/test_threes metrics/test_count"),
        (SOURCE, "Three.", "Four.", ""),
        # No test bears its name: those of the folder.
        ("src/worldgauge/core/alone.py", "1", "2", " ".join(IN_CORE)),
        ("tests/core/test_halves.py", "half", "half  # why", "core/test_halves"),
        ("tests/support/inner.py", "1", "2", "core/test_helped"),
        ("tests/metrics/fixtures.py", "1", "2", "core/test_fixture"),
        ("docs/index.md", "Pages", "More", "test_docs"),
    ],
)
def test_a_change_selects_its_tests(repository: Path, path: str, old: str, new: str, expected: str) -> None:
    (repository / path).write_text(FILES[path].replace(old, new))
    selected = {test.removeprefix("tests/").removesuffix(".py") for test in select(repository, "HEAD")}
    assert selected - {"test_house"} == set(expected.split())
    assert ("test_house" in selected) == path.startswith("src/")


def test_a_new_file_and_a_deleted_one_count(repository: Path) -> None:
    (repository / "tests/core/test_new.py").write_text("")
    (repository / "src/worldgauge/core/scale.py").unlink()
    selected = select(repository, "HEAD")
    assert "tests/core/test_new.py" in selected
    assert "tests/core/test_threes.py" in selected


def test_names_that_changed() -> None:
    assert changed_names("import a\nx = 1", "import a\nx = 1  # why") == frozenset()
    assert changed_names("from a import b\ny = b", "from c import b\ny = b") == {"b", "y"}
    assert changed_names("x = 1\nprint(x)", "x = 1\nprint(2)") == {"*"}
    assert changed_names(None, "x = 1") == {"*"}


def test_a_reader_can_list_the_files(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "docs/index.md").write_text("More.")
    assert main(["--list", "--base", "HEAD"], repository) == 0
    assert capsys.readouterr().out == "tests/test_docs.py\n"
