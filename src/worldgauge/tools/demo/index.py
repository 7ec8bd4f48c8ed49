"""The page of the demo: a card per suite with its question, a picture, the headline and the way to its report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from markupsafe import Markup

from worldgauge.engine.store import atomic_write
from worldgauge.engine.suite.base import suites
from worldgauge.report.page import asset, environment
from worldgauge.terminal.tables import interval, number
from worldgauge.tools.demo.schedule import Demo, Part
from worldgauge.version import __version__

INDEX = "index.html"
OWN_MODEL = "my_model.py"
_STARTER = '''"""A world model to start from: it turns the last frame that it saw. Put your own in its place."""

import numpy as np
from worldgauge_serve import ModelSpec


class MyModel:
    spec = ModelSpec("my-model", control="actions", max_context=32)

    def rollout(self, request):
        frame = request.context.clip[-1]  # the last frame it is shown: (H, W, 3) uint8
        for forward, jump, yaw, pitch in request.actions.values:  # a row a frame, as loopnav has them
            frame = np.roll(frame, round(yaw * request.context.camera.fx), axis=1)  # a turn moves the picture
            yield frame[None]  # a chunk of frames (n, H, W, 3) uint8
'''


def write_index(demo: Demo) -> Path:
    """Write the page of a demo, and a model to start from unless there is one.

    Args:
        demo: The demo.

    Returns:
        Path of the page.

    Raises:
        RunError: When the folder cannot be written.
    """
    starter = demo.folder / OWN_MODEL
    if not starter.exists():
        atomic_write(starter, _STARTER)
    page = demo.folder / INDEX
    text = (
        environment(__package__)
        .get_template("index.html.j2")
        .render(
            css=Markup(asset("page.css")),
            cards=[_card(part) for part in demo.parts],
            commands=commands_for_own_model(demo),
            full=demo.full,
            version=__version__,
        )
    )
    atomic_write(page, text)
    return page


def commands_for_own_model(demo: Demo) -> list[str]:
    """Commands that put a model of one's own into the tables of the demo, as they can be pasted.

    Args:
        demo: The demo.

    Returns:
        The commands for the first suite of models that is complete. Empty without one.
    """
    part = next((one for one in demo.parts if one.card and suites.get(one.suite).subject_kind == "model"), None)
    if part is None:
        return []
    model = f"{demo.folder / OWN_MODEL}:MyModel"
    settings = [word for name, value in part.shown.settings.items() for word in ("--set", f"{name}={value}")]
    runs = str(part.folder / "runs")
    run = [
        "worldgauge",
        "run",
        part.suite,
        "--data",
        str(part.folder / "data"),
        "--model",
        model,
        *settings,
        "--out",
        runs,
    ]
    return [
        shlex.join(run),
        shlex.join(["worldgauge", "report", runs, "--out", str(part.folder / "report.html")]),
    ]


def _card(part: Part) -> dict[str, Any]:
    """What the page shows of a part."""
    card = part.card
    if card is None:
        return {"suite": part.suite, "question": part.shown.question, "error": part.error or "not run yet"}
    rows = [{**row, "mean": number(row["mean"]), "interval": interval(row["low"], row["high"])} for row in card["rows"]]
    return {**card, "rows": rows, "report": f"{part.suite}/report.html", "error": ""}
