"""A model written against worldgauge_serve, used in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, Needs, RolloutRequest
from worldgauge_serve import NotApplicable


def adopt(model: Any) -> Any:
    """Turn a model whose spec has another type with the same fields into a WorldModel."""
    spec = getattr(model, "spec", None)
    # A copy of worldgauge_serve.py may be older, and lack the latest fields.
    declared = {each.name: getattr(spec, each.name) for each in fields(ModelSpec) if hasattr(spec, each.name)}
    if isinstance(spec, ModelSpec) or not declared.keys() >= set(_OF_ANY_AGE) or not hasattr(model, "rollout"):
        return model
    ours = ModelSpec(**{**declared, "inputs": frozenset(declared["inputs"])})
    return _Adopted(model, ours) if not hasattr(model, "rollout_batch") else _AdoptedWithBatch(model, ours)


_OF_ANY_AGE = (*("name", "control", "view", "frame_size", "fps", "max_context", "chunk", "inputs", "crop", "settings"),)


class _Adopted:
    def __init__(self, model: Any, spec: ModelSpec) -> None:
        self.spec = spec
        self.needs = Needs.of(model)
        self._model = model

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        try:
            yield from self._model.rollout(request)
        except NotApplicable as error:
            raise NotApplicableError(str(error)) from error


class _AdoptedWithBatch(_Adopted):
    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> Any:
        try:
            return [list(chunks) for chunks in self._model.rollout_batch(requests)]
        except NotApplicable as error:
            raise NotApplicableError(str(error)) from error
