"""Fuzz the readers: `make fuzz HOURS=1`, or `python -m fuzz [FORMAT ...] [--cases N | --hours H]`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from fuzz.format import Format
from fuzz.formats import FORMATS
from fuzz.harness import STOPPED, Outcome, keep, replay, run, table

ROUND_S = 5.0
"""Processor seconds that a format of weight 1 runs before the next one has its turn."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; 1 when something crashed. Stopped by Ctrl-C or SIGTERM, it prints the table of what it did."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}; all by default")
    parser.add_argument("--cases", type=int, help="cases of a format of weight 1")
    parser.add_argument("--hours", type=float, default=1 / 60, help="processor hours in all; a minute by default")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other cases")
    parser.add_argument("--replay", action="store_true", help="only what once crashed and is in the corpus")
    parser.add_argument("--keep", action="store_true", help="save crashes in the corpus")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in FORMATS]
    if unknown:
        parser.error(f"no format {unknown[0]}; known: {', '.join(FORMATS)}")
    forms = [form for name, form in FORMATS.items() if not given.names or name in given.names]
    ready = [form for form in forms if not form.lacks()]
    for form in forms:
        if form not in ready:
            print(f"{form.name}: left out, {form.lacks()}", file=sys.stderr)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda number, _: STOPPED.append(number))
    if given.replay:
        found = {form.name: replay(form) for form in ready}
    else:
        found = _fuzz(ready, given.cases, 3600 * given.hours, given.seed)
    for one in found.values():
        for crash in one.crashes:
            print(f"{one.name} case {crash.number}: {crash.file}: {crash.how}", file=sys.stderr)
            if given.keep:
                keep(one.name, crash)
    print(table([one for one in found.values() if one.cases]))
    if any(one.crashes for one in found.values()):
        return 1
    return 128 + STOPPED[0] if STOPPED else 0


def _fuzz(forms: Sequence[Format], cases: int | None, seconds: float, seed: int) -> dict[str, Outcome]:
    """Each format in turn, until the cases are done or the time is spent."""
    found = {form.name: Outcome(form.name) for form in forms}
    shares = sum(form.weight for form in forms)
    # Several rounds, so that a run that is stopped has looked at all.
    rounds = 1 if cases is not None else max(1, round(seconds / (ROUND_S * shares)))
    for _ in range(rounds):
        for form in forms:
            if STOPPED:
                return found
            total = found[form.name]
            most = 2**62 if cases is None else round(cases * form.weight)
            each = float("inf") if cases is not None else seconds / rounds * form.weight / shares
            part = run(form, most, seed=seed, first=total.cases, seconds=each)
            total.add(part)
            print(f"{form.name}: {total.cases:,} cases, {len(total.crashes)} crashes", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
