"""Reading builds from answers: verdicts of the reference and the release, dressed matrices, the order of reasons."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import DEFAULT, cases
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.metrics import blueprint_reading as b
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import BlueprintReading, read_blueprint

MATERIALS = ("stone", "oak_planks", "glass")
MOST = (8, 8, 8)
CASES = cases("build_parser", "cases")
OWN = json.loads((Path(__file__).parents[1] / "cases.json").read_text("utf-8"))
"""Cases worked by hand."""


def limits() -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Materials and limits of size that stand beside the cases."""
    folder = Path(os.environ.get("WORLDGAUGE_VECTORS") or DEFAULT)
    content = json.loads(min(folder.glob("build_parser*.json")).read_text(encoding="utf-8"))
    ids = content["materials"]
    return tuple(ids[str(k)] for k in range(1, len(ids) + 1)), (
        content["max_height"],
        content["max_depth"],
        content["max_width"],
    )


def fenced(matrix: Any) -> str:
    return f"```json\n{matrix if isinstance(matrix, str) else json.dumps(matrix)}\n```"


def read(matrix: Any, **options: Any) -> BlueprintReading:
    return read_blueprint(fenced(matrix), MATERIALS, **{"most": MOST, **options})


@pytest.mark.parametrize("case", CASES)
def test_verdicts_of_the_reference(case: dict[str, Any]) -> None:
    """The reference takes the first matrix of an answer; all its other cases hold for the last one, too."""
    materials, most = limits()
    reading, expected = read_blueprint(case["text"], materials, most=most, parser="first"), case["expect"]
    last = read_blueprint(case["text"], materials, most=most)
    if case["name"] == "two_blueprints":
        assert (last.blueprint.rows(), last.warnings) == ([[[2]]], ("multiple_blocks",))
    else:
        assert last == reading
    assert {
        "executable": reading.executable,
        "strict": reading.strict,
        "reason": reading.reason,
        "warnings": list(reading.warnings),
        "shape": None if reading.shape is None else list(reading.shape),
        "blocks": reading.blocks,
        "blueprint": None if reading.blueprint is None else reading.blueprint.rows(),
    } == expected
    assert b.executable(reading) == 100.0 * expected["executable"]
    assert b.strict(reading) == 100.0 * expected["strict"]


@pytest.mark.parametrize("case", CASES)
def test_verdicts_of_the_release(case: dict[str, Any]) -> None:
    materials, most = limits()
    reading, expected = read_blueprint(case["text"], materials, most=most, parser="released"), case["released"]
    assert reading.executable == expected["valid"]
    if expected["valid"]:
        assert reading.blocks == expected["setblock_commands"]
        assert reading.blueprint.blocks == expected["setblock_commands"]


FILLED = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.lists(st.sampled_from([-1, 1, 2, 3]), min_size=width, max_size=width), min_size=2, max_size=2),
        min_size=1,
        max_size=4,
    )
)


@given(
    FILLED,
    st.sampled_from(["```", "'''"]),
    st.sampled_from(["", "json", "JSON", "python", "c++", " json  "]),
    st.sampled_from(["", "\n", "\r\n", " ", "\t\n"]),
    st.sampled_from(["-", "\u2010", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212"]),
    st.sampled_from(["", " // of three [blocks]", " # air is -1"]),
    st.sampled_from(["", ",", " , "]),
)
def test_a_matrix_is_the_same_in_any_dress(
    rows: list[Any], fence: str, tag: str, end: str, dash: str, comment: str, comma: str
) -> None:
    """Independent of the reader: the matrix is known before it is written down."""
    text = json.dumps(rows).replace("-", dash).replace("]]", f"]{comma}]")
    if comment:
        text = text.replace("], [", f"],{comment}\n [")
    reading = read_blueprint(f"Here it is, it isn't hard:\n{fence}{tag}{end}{text}{end}{fence} Done.", MATERIALS)
    blocks = sum(cell > 0 for layer in rows for row in layer for cell in row)
    if not blocks:
        assert reading.reason == "no_blocks"
        return
    assert reading.strict, reading
    assert reading.blueprint.rows() == rows
    assert reading.blocks == blocks


def test_reasons_come_in_their_order() -> None:
    assert read([[[1, "x", [2]]]]).reason == "not_3d"
    assert read([[[1.5] * 9]]).reason == "non_integer"
    assert read([[[-1] * 9]]).reason == "oversized"
    reading = read_blueprint(f"{fenced([[[1]]])}{fenced('m = [[[1.0],[1,7,1,1,1,1,1,1,1]]]')}", MATERIALS, most=MOST)
    assert reading == BlueprintReading(
        False, False, "oversized", ("assignment_prefix", "multiple_blocks", "float_id"), (1, 2, 9), None, None
    )
    reading = read_blueprint(f"{fenced([[[1]]])}{fenced('m = [[[1.0],[1,7]]]')}", MATERIALS, most=MOST)
    assert reading.warnings == ("assignment_prefix", "multiple_blocks", "float_id", "ragged", "unknown_id")
    assert reading.executable
    assert not reading.strict


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ("[[[1e400]]]", "non_integer"),
        ("[[[NaN]]]", "non_integer"),
        ("[[[-Infinity, 1]]]", "non_integer"),
        ("[[[1e2, 1]]]", None),
        ("[[[1e300, 1]]]", None),
        (f"[[[{'9' * 25}, 1]]]", None),
        (f"[[[{'9' * 5000}, 1]]]", None),
        (f"[[[-{'9' * 5000}, 1.0]]]", None),
        (f"[[[{'9' * 5000}, 1]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("[" * 50_000 + "]" * 50_000, "not_3d"),
        ('[{"a":' * 15_000 + "1" + "}]" * 15_000, "not_3d"),
        ("[[[{}]]]", "not_3d"),
        ("[{}]", "not_3d"),
        ("[[[1]],[]]", None),
        ("[[[1]],[[]]]", None),
        ("[[],[[]]]", "empty"),
        ("[[[1]]] trailing", "bad_json"),
        ("[[[01]]]", "bad_json"),
        ("[[[1,,1]]]", "bad_json"),
        ("[[[１]]]", "bad_json"),
        ("[[[1\u2028]]]", None),
        ("[[[1\x00]]]", "bad_json"),
        ("[[[1\u00a0, -1]]]", None),
    ],
)
def test_matrices_that_are_strange(matrix: str, reason: str | None) -> None:
    reading = read(matrix)
    assert reading.reason == reason, reading
    if reason is None:
        assert reading.blocks == 1


@pytest.mark.parametrize(("text", "reason"), OWN["fences"])
def test_fences(text: str, reason: str | None) -> None:
    assert read_blueprint(text, MATERIALS).reason == reason


def test_lists_and_comments() -> None:
    # A list before the matrix is told.
    reading = read_blueprint('```["stone"]```\n```json\n// a hut\n[[[1, 2]]]```', MATERIALS)
    assert (reading.warnings, reading.blocks) == (("multiple_blocks",), 2)
    comment = read_blueprint("```json\n// a hut\n[[[1, 2]]]```", MATERIALS)
    assert (comment.warnings, comment.strict) == ((), True), "comments are no repair, wherever they stand"
    # The release ends a comment at a line feed only.
    text = "```json\n[[[1 // one\r, 2]]\n]```"
    assert read_blueprint(text, MATERIALS).blocks == 2
    assert not read_blueprint(text, MATERIALS, parser="released").executable


@pytest.mark.parametrize(("before", "warned"), OWN["mappings"])
def test_a_mapping_of_the_answer_that_contradicts_is_warned_of(before: str, warned: bool) -> None:
    reading = read_blueprint(f"Chosen: {before}\n{fenced([[[1]]])}", MATERIALS)
    assert reading.executable
    assert reading.warnings == (("mapping_conflict",) if warned else ())


def test_materials_and_limits() -> None:
    # States of materials do not matter to a mapping.
    materials = ("oak_stairs[facing=north]", "oak_stairs[facing=south]")
    for number in (1, 2):
        assert read_blueprint(f'{{"oak_stairs": {number}}}{fenced([[[1]]])}', materials).strict
    assert not read_blueprint(f'{{"oak_stairs": 3}}{fenced([[[1]]])}', materials).strict
    # A material that is air places nothing.
    assert read_blueprint(fenced([[[1, 1]]]), ("minecraft:cave_air", "stone")).reason == "no_blocks"
    assert read_blueprint(fenced([[[1, 2]]]), ("minecraft:cave_air", "stone")).blocks == 1
    assert read_blueprint(fenced([[[1]]]), ()).reason == "no_blocks"
    # The limits are published ones and checked.
    assert read_blueprint(fenced([[[1] * 80] * 80] * 50), MATERIALS).blocks == 320_000
    for matrix in ([[[1] * 81]], [[[1]] * 81], [[[1]]] * 51):
        assert read_blueprint(fenced(matrix), MATERIALS).reason == "oversized"
    with pytest.raises(UsageError, match="at least 1 block"):
        read_blueprint("", MATERIALS, most=(0, 1, 1))
    with pytest.raises(UsageError, match="known: ours, first, released"):
        read_blueprint("", MATERIALS, parser="theirs")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix", "blocks", "shape"),
    [
        ("[]", 0, (0, 0, 0)),
        ('[[[true, 1.0, 2.5, null, {}, "1", 0, 9]]]', 2, (1, 1, 8)),
        ("[[[1 1, 2]]]", 1, (1, 1, 2)),
        ("[[[1]], [[1, 2], [3]]]", 4, (2, 2, 2)),
    ],
)
def test_the_release_takes_what_it_should_not(matrix: str, blocks: int, shape: tuple[int, int, int]) -> None:
    reading = read(matrix, parser="released")
    assert (reading.executable, reading.strict, reading.blocks, reading.shape) == (True, True, blocks, shape)
    assert reading.blueprint.cells.size >= 1


def test_the_release_knows_no_limits_but_ours_of_memory() -> None:
    assert read([[[1]]] * 500, parser="released").blocks == 500
    wide, many = [[1] * 3000], [[[1]]] * 3000
    assert read([wide, *many], parser="released").reason == "oversized"
    assert read("[" * 50_000 + "]" * 50_000, parser="released").reason == "not_3d"
    assert read("[" * 100_000, parser="released").reason == "bad_json"
    assert read(f"[[[{'9' * 5000}]]]", parser="released").reason == "bad_json"


@given(FILLED, st.permutations([1, 2, 3]))
def test_renumbering_the_materials_changes_nothing(rows: list[Any], order: list[int]) -> None:
    """Invariance: other numbers for the same names build the same."""
    first = read_blueprint(fenced(rows), MATERIALS)
    renamed = tuple(MATERIALS[order.index(number)] for number in (1, 2, 3))
    numbers = [-1, *order]
    again = [[[numbers[max(cell, 0)] for cell in row] for row in layer] for layer in rows]
    second = read_blueprint(fenced(again), renamed)
    assert first.reason == second.reason
    if first.blueprint is not None and second.blueprint is not None:
        assert np.array_equal(first.blueprint.named(), second.blueprint.named())
