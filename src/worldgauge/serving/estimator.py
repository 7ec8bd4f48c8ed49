"""An estimator that runs in another process: it gets arrays and options and returns arrays and facts."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import LostError, SubjectError, UsageError
from worldgauge.serving.messages import named_spec, plain, said_by, short
from worldgauge.serving.remote import Remote
from worldgauge_serve import MAX_BYTES, Arrays, ArraySpec, Header, WireError, encode

MAX_ANSWER_BYTES = 64 << 20
"""Largest size of all arrays of an answer whose shapes are not fixed."""
MAX_NAME = 100


class EstimateError(SubjectError):
    """The estimator itself failed: its own code raised, or it returned values that are not numbers."""


@dataclass(frozen=True)
class EstimatorSpec:
    """Identity of an estimator, as its server states it; see `worldgauge_serve.EstimatorSpec`.

    Attributes:
        name: Name of the estimator.
        kind: What it estimates.
        layout: What it returns where there is a choice; else empty.
        settings: Everything that changes its answers, as plain JSON values.
    """

    name: str
    kind: str = "decoder"
    layout: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Expected:
    """An array that an answer must hold.

    Attributes:
        shapes: Allowed shapes; a side of None may have any length.
        dtypes: Allowed dtypes.
        finite: Whether all numbers must be finite.
    """

    shapes: tuple[tuple[int | None, ...], ...]
    dtypes: tuple[str, ...] = ("float32", "float64")
    finite: bool = True

    def fits(self, array: ArraySpec) -> bool:
        """Whether an announced array has such a shape and dtype."""
        return array.dtype in self.dtypes and any(_fits(array.shape, shape) for shape in self.shapes)

    def __str__(self) -> str:
        sides = " or ".join("(" + ", ".join("n" if s is None else str(s) for s in shape) + ")" for shape in self.shapes)
        return f"{' or '.join(self.dtypes)} of {sides}"


class Estimate(NamedTuple):
    """An answer of an estimator.

    Attributes:
        arrays: Arrays by name.
        facts: Plain JSON values.
    """

    arrays: Arrays
    facts: Mapping[str, Any]


class RemoteEstimator(Remote[EstimatorSpec]):
    """An estimator behind a channel; see `serving.open_estimator`."""

    serves = "estimator"
    awaited = "answer"

    def estimate(
        self,
        arrays: Arrays,
        options: Mapping[str, Any],
        expected: Mapping[str, Expected],
        *,
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> Estimate:
        """Run the estimator. The request is repeated, at most RETRIES times, when the server is lost.

        Args:
            arrays: Inputs by name.
            options: Plain JSON values.
            expected: The arrays that the answer must hold, exactly these.
            max_bytes: Largest answer in bytes.

        Returns:
            The answer.

        Raises:
            EstimateError: The estimator failed, or returned numbers that are not finite and must be.
            NotApplicableError: The request does not apply to the estimator.
            LostError: The server was lost each time, or was silent for `deadline_s`.
            SubjectError: The answer does not fit; none of it was read.
            UsageError: The request cannot be sent.
        """
        name = secrets.token_hex(8)
        header: Header = {
            **{"type": "estimate", "version": self._hello.version, "id": name, "deadline_s": self.deadline_s},
            **{"kind": self.spec.kind, "options": dict(options)},
        }
        size = sum(array.nbytes for array in arrays.values())
        if size > MAX_BYTES:
            raise UsageError(f"{self._who}: {size / 1e9:.1f} GB to send, and a message holds {MAX_BYTES / 1e9:.1f} GB")
        try:
            encode(header, arrays)
        except WireError as error:
            raise UsageError(f"{self._who} cannot be sent this: {error}") from None
        held = _Receipt(self._who, name, expected, max_bytes)
        with closing(self._messages(header, arrays, lambda: held)) as messages:
            for said, given in messages:
                return Estimate(self._finite(given, expected), said.get("facts", {}))
        raise SubjectError(f"{self._who} ended without an answer")

    def _finite(self, arrays: Arrays, expected: Mapping[str, Expected]) -> Arrays:
        for name, array in arrays.items():
            if expected[name].finite and array.dtype.kind == "f" and not np.isfinite(array).all():
                first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise EstimateError(f"{self._who}: '{name}' is not finite, first at {first}")
        return arrays

    def _spec_of(self, given: Any) -> EstimatorSpec:
        known = named_spec(given, "estimator", set(EstimatorSpec.__dataclass_fields__))
        for field_name in ("kind", "layout"):
            text = known.get(field_name, "")
            if not isinstance(text, str) or len(text) > MAX_NAME or not text.isprintable():
                raise SubjectError(f"estimator '{known['name']}': {field_name} is {short(text)}; give a word")
        return EstimatorSpec(**known)

    def _lost(self, text: str) -> SubjectError:
        return LostError(text)


class _Receipt:
    """Checks the one message of an answer against what is expected, before any of it is allocated."""

    def __init__(self, who: str, id: str, expected: Mapping[str, Expected], max_bytes: int) -> None:
        self._who, self._id, self._expected, self._max_bytes = who, id, expected, max_bytes

    def check(self, header: Header, announced: list[ArraySpec]) -> None:
        """Raise SubjectError unless the message fits."""
        kind = header["type"]
        if kind == "error" and not announced and header.get("id", self._id) == self._id:
            return
        if header.get("id") != self._id:
            raise SubjectError(f"{self._who} answers question {short(header.get('id'))}, which was not asked")
        names = [one.name for one in announced]
        if kind != "estimated" or set(names) != set(self._expected) or not isinstance(header.get("facts", {}), dict):
            raise SubjectError(
                f"{self._who} answers with '{plain(kind)}' holding {short(names)}; "
                f"expected an estimate with {short(sorted(self._expected))} and facts"
            )
        for one in announced:
            if not self._expected[one.name].fits(one):
                given = f"{one.dtype} of {short(one.shape)}"
                raise SubjectError(f"{self._who} gives '{one.name}' as {given}; expected {self._expected[one.name]}")
        size = sum(one.nbytes for one in announced)
        if size > self._max_bytes:
            raise SubjectError(f"{self._who} answers with {size} bytes; the limit is {self._max_bytes}")

    def raise_error(self, header: Header) -> None:
        """Raise what an "error" message says."""
        raise said_by(header, self._who, EstimateError)


def _fits(shape: tuple[int, ...], pattern: tuple[int | None, ...]) -> bool:
    return len(shape) == len(pattern) and all(want in (None, side) for side, want in zip(shape, pattern, strict=True))
