"""Builds written in lines: layers, run lengths and boxes; read within limits, or refused with a reason."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from worldgauge.suites.mineanybuild.answer_forms import fenced
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import REASONS, Form, count_pieces, read_blueprint

MATERIALS = ("stone", "oak_planks", "glass")
FORMS: tuple[Form, ...] = ("layers", "runs", "fills")
HUT = [[[1, 1, 1], [1, -1, 2]], [[1, 1, 1], [1, -1, 2]], [[-1, 3, -1], [-1, -1, -1]]]
HUT_LAYERS = "Layer 1-2\n1 1 1\n1 . 2\nLayer 3:\n. 3 .\n-1 -1 .\n"
HUT_RUNS = "Layer 1\n3x1\n1 . 2\nlayer 2\n1 2x1\n1 1x. 2\nLayer 3\n. 3 .\n3x-1"
HUT_FILLS = "0 0 0 2 1 1 1  # the whole\n1,0,1, 1,1,1 .\n2 1 1 2 0 1 2\n\nfill 0 2 0 2 2 1 .\n1 2 0 1 2 0 3"


def part(text: str) -> str:
    return f"A plan first.\n```text\n{text}\n```"


@pytest.mark.parametrize(("form", "text"), [("layers", HUT_LAYERS), ("runs", HUT_RUNS), ("fills", HUT_FILLS)])
def test_a_hut_worked_by_hand(form: Form, text: str) -> None:
    reading = read_blueprint(part(text), MATERIALS, form=form)
    assert reading.strict
    assert reading.blueprint is not None
    assert reading.blueprint.rows() == HUT
    assert (reading.shape, reading.blocks) == ((3, 2, 3), 11)
    assert read_blueprint(fenced(np.array(HUT, np.int32), form), MATERIALS, form=form).blueprint == reading.blueprint


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_again(form: Form) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        shape = rng.integers(1, 7, 3)
        cells = rng.choice([-1, -1, -1, 1, 1, 2, 3], shape).astype(np.int32)
        reading = read_blueprint(fenced(cells, form), MATERIALS, form=form)
        assert reading.shape == tuple(shape)
        assert reading.reason == (None if (cells > 0).any() else "no_blocks")
        if reading.blueprint is not None:
            np.testing.assert_array_equal(reading.blueprint.cells, cells)


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        ("layers", "1 1\n1 1", "bad_line"),
        ("layers", "Layer 2\n1", "bad_line"),
        ("layers", "Layer 1\n1\nLayer 1\n1", "bad_line"),
        ("layers", "Layer 2-1\n1", "bad_line"),
        ("layers", "Layer 1\n3x1", "bad_line"),
        ("layers", "Layer 1\n1 stone", "bad_line"),
        ("layers", "Layer 1\n1 1.0", "bad_line"),
        ("layers", "[[[1]]]", "bad_line"),
        ("layers", "Layer 1\nLayer 2", "empty"),
        ("layers", "Layer 1-9\n1", "oversized"),
        ("layers", "Layer 1\n" + "1\n" * 9, "oversized"),
        ("layers", "Layer 1\n" + "1 " * 9, "oversized"),
        ("layers", "Layer 1\n. .", "no_blocks"),
        ("runs", "Layer 1\n9x1", "oversized"),
        ("runs", "Layer 1\n9999x1", "oversized"),
        ("runs", "Layer 1\n99999x1", "bad_line"),
        ("runs", "Layer 1\n0x1", "no_blocks"),
        ("fills", "0 0 0 8 0 0 1", "oversized"),
        ("fills", "0 0 0 -1 0 0 1", "bad_line"),
        ("fills", "0 0 0 1 1 1", "bad_line"),
        ("fills", "0 0 0 1 1 1 1 1", "bad_line"),
        ("fills", "# nothing", "empty"),
        ("fills", "0 0 0 7 7 7 4", "no_blocks"),
    ],
)
def test_faults_have_a_reason(form: Form, text: str, reason: str) -> None:
    reading = read_blueprint(part(text), MATERIALS, most=(8, 8, 8), form=form)
    assert (reading.executable, reading.reason, reading.blueprint) == (False, reason, None)
    assert reason in REASONS


def test_fences_warnings_and_choice_of_a_part() -> None:
    assert read_blueprint("Layer 1\n1", MATERIALS, form="layers").reason == "no_block"
    assert read_blueprint("```\nLayer 1\n1", MATERIALS, form="layers").reason == "unclosed_fence"
    ragged = read_blueprint(part("Layer 1\n1 1\n1\nLayer 2\n9"), MATERIALS, form="layers")
    assert ragged.warnings == ("ragged", "unknown_id")
    assert ragged.blueprint is not None
    assert ragged.blueprint.rows() == [[[1, 1], [1, -1]], [[-1, -1], [-1, -1]]]
    two = part("Layer 1\n1") + part("Layer 1\n2 2") + part("a list of materials")
    last, first = (read_blueprint(two, MATERIALS, form="layers", parser=parser) for parser in ("ours", "first"))
    assert (last.shape, first.shape, last.warnings) == ((1, 1, 2), (1, 1, 1), ("multiple_blocks",))
    one = read_blueprint(part("stone") + part("Layer 1\n1"), MATERIALS, form="layers")
    assert one.strict, "a part without the form is no second blueprint"
    dashes = read_blueprint(part("Layer 1\u20133\n\u22121 1"), MATERIALS, form="layers")
    assert (dashes.strict, dashes.shape) == (True, (3, 1, 2))


def test_hostile_lines_take_little_memory_and_raise_nothing() -> None:
    rng = random.Random(0)
    words = ("Layer 1", "Layer 2-9999", "9999x1", "1 .", "0 0 0 79 49 79 1", "x", "-", "\n", "\u0661", "9" * 5000, "//")
    texts = [part(" \n".join(rng.choices(words, k=rng.randrange(1, 30)))) for _ in range(400)]
    texts += [part("0 0 0 79 49 79 1\n" * 60_000), part("Layer 1-50\n" + "80x1\n" * 80), part("1 " * 600_000)]
    tracemalloc.start()
    reasons = {read_blueprint(text, MATERIALS, form=form).reason for text in texts for form in FORMS}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {"bad_line", "oversized", None} <= reasons <= {*REASONS, None}
    assert peak < 60e6


def test_pieces_are_counted_without_a_tokenizer() -> None:
    assert count_pieces("[[1,-1]]") == 5  # [[  1  ,-  1  ]]
    assert count_pieces("Layer 1\n12 . 1234") == 7  # Layer  1  end  12  .  123  4
    solid = np.ones((6, 6, 6), np.int32)
    counts = [read_blueprint(fenced(solid, form), MATERIALS, form=form).pieces for form in FORMS]
    assert counts == [46, 28, 7]
    assert read_blueprint(fenced(solid), MATERIALS).pieces is None
