"""`run` and `score` of the engine, with a result that shows itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from worldgauge.api.result import Result
from worldgauge.engine import run as engine
from worldgauge.engine.result import RunResult

P = ParamSpec("P")


def _shown(function: Callable[P, RunResult]) -> Callable[P, Result]:
    """The same function, but for the class of what it returns."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        return Result.of(function(*args, **kwargs))

    call.__signature__ = inspect.signature(function).replace(return_annotation="Result")  # type: ignore[attr-defined]
    return call


run = _shown(engine.run)
score = _shown(engine.score)
