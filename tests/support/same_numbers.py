"""The same small runs under other Pythons, dependencies, threads and processor instructions: which numbers differ?

    make same-numbers        # or: python -m support.same_numbers --uv UV --folder FOLDER [NAME ...]

Each variant collects the sets of `small_sets` anew and scores them; where its recordings differ from those of the first
variant, it scores those of the first as well, so that a codec is told apart from a number.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.places import ROOT
from support.small_sets import RUNS, SMALL

BOUND, OF_OTHER_CODE = 1e-6, 1e-3
"""Largest difference between two scores of the same recordings, as a share of those above 1: where the compiled code is
the same, and where it is other code for other instructions or of other versions."""
PYTHONS = ("3.12", "3.13", "3.14")
_ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}
_MANY = dict.fromkeys(_ONE, "4")
_GENERIC = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    # The first two are the names of numpy 2.4 and newer.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX2,FMA3,AVX512F,AVX512CD,AVX512_SKX,AVX512_CLX,AVX512_CNL,AVX512_ICL,"
    "AVX512_SPR",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENCV_CPU_DISABLE": "SSE4.1,SSE4.2,AVX,FP16,FMA3,AVX2,AVX512-SKX",
    "AV_CPU_FLAGS": "0",
}


@dataclass(frozen=True)
class Variant:
    """An environment that is compared with the first.

    Attributes:
        name: Its name.
        python: Version of Python; empty for that of this process.
        lowest: Whether dependencies are of the lowest versions that pyproject.toml allows.
        variables: Variables of the environment.
        bound: Largest difference that is allowed.
    """

    name: str
    python: str = ""
    lowest: bool = False
    variables: Mapping[str, str] = field(default_factory=lambda: _ONE)
    bound: float = BOUND


VARIANTS = (
    Variant("here"),
    Variant("again"),
    Variant("threads", variables=_MANY),
    Variant("generic", variables=_ONE | _GENERIC, bound=OF_OTHER_CODE),
    Variant("lowest", lowest=True, bound=OF_OTHER_CODE),
    # The newest packages, since the lock is not asked: another numpy brings another OpenBLAS.
    *(Variant(f"python{version}", version, bound=OF_OTHER_CODE) for version in PYTHONS),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m support.same_numbers", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(v.name for v in VARIANTS[1:])}")
    parser.add_argument("--uv", default=shutil.which("uv") or "uv", help="the program uv, which makes environments")
    parser.add_argument("--folder", type=Path, required=True, help="environments, recordings and runs go here")
    options = parser.parse_args()
    first, *others = VARIANTS
    reference = options.folder.absolute() / "runs" / first.name
    worst = 0
    for variant in (first, *(one for one in others if not options.names or one.name in options.names)):
        python = _environment(variant, options.uv, options.folder.absolute())
        if python is None:
            print(f"{variant.name:12} not run: no Python {variant.python} here", flush=True)
            continue
        place = reference.with_name(variant.name)
        shutil.rmtree(place, ignore_errors=True)
        _collect(python, variant, place)
        _score(python, variant, place / "data", place / "own")
        print(f"{variant.name:12} {_versions(python, variant)}", flush=True)
        if variant is not first:
            worst |= not _tell(python, variant, place, reference)
    return int(worst)


def _tell(python: Path, variant: Variant, place: Path, reference: Path) -> bool:
    """Print how a variant differs; whether its scores of the same recordings are within its bound."""
    same, of = _equal_files(reference / "data", place / "data")
    print(f"{'':12} files of the recordings that are equal: {same} of {of}")
    own = compare(reference / "own", place / "own")
    if same == of:
        print(f"{'':12} scores: {own}", flush=True)
        return own.within(variant.bound)
    _score(python, variant, reference / "data", place / "shared")
    shared = compare(reference / "own", place / "shared")
    print(f"{'':12} scores of the same recordings: {shared}")
    print(f"{'':12} scores of its own recordings: {own}", flush=True)
    return shared.within(variant.bound)


@dataclass
class Comparison:
    """Scores of two folders of runs.

    Attributes:
        equal: Numbers that are equal to the last bit.
        of: Numbers in all.
        worst: Largest difference, as a share of numbers above 1, and the metric it belongs to.
        metrics: Differing numbers by metric.
        missing: Scores that only one side has.
    """

    equal: int = 0
    of: int = 0
    worst: tuple[float, str] = (0.0, "")
    metrics: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def within(self, bound: float) -> bool:
        """Whether there is something, nothing of it is missing, and nothing differs by more."""
        return self.of > 0 and not self.missing and self.worst[0] <= bound

    def __str__(self) -> str:
        text = f"{self.equal} of {self.of} numbers are equal to the last bit"
        if self.missing:
            text += f", {self.missing} scores are missing on one side"
        if self.metrics:
            text += f"; at most {self.worst[0]:.1e} apart ({self.worst[1]}), of {dict(self.metrics)}"
        return text


def compare(one: Path, other: Path) -> Comparison:
    """Compare the scores of two folders of runs number by number, with the series of single frames."""
    found = Comparison()
    mine, theirs = dict(_scores(one)), dict(_scores(other))
    found.missing = len(mine.keys() ^ theirs.keys())
    for key in mine.keys() & theirs.keys():
        a, b = mine[key], theirs[key]
        found.of += max(len(a), len(b))
        found.missing += len(a) != len(b)
        for x, y in zip(a, b, strict=False):
            if x == y:
                found.equal += 1
                continue
            apart = math.inf if x is None or y is None else abs(x - y) / max(abs(x), abs(y), 1.0)
            found.metrics[key[-1]] += 1
            found.worst = max(found.worst, (apart, key[-1]))
    return found


def _scores(runs: Path) -> Iterator[tuple[tuple[str, ...], list[float | None]]]:
    for path in sorted(runs.glob("*/*/scores.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            numbers = [entry["value"], *(value for _, value in entry["series"])]
            plain = [None if isinstance(one, dict) else one for one in numbers]
            yield (path.parent.parent.name, entry["model"], entry["task"], entry["metric"]), plain


def _environment(variant: Variant, uv: str, folder: Path) -> Path | None:
    """Python of the environment of a variant, made where it is not there yet; None without such a Python."""
    if not variant.python and not variant.lowest:
        return Path(sys.executable)
    place = (folder / "environments" / variant.name).absolute()
    python = place / "bin" / "python"
    if not (place / "made").exists():
        asked = variant.python or ".".join(map(str, sys.version_info[:2]))
        made = [uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", asked, str(place)]
        if subprocess.run(made, capture_output=True).returncode:
            return None
        how = ["--resolution", "lowest-direct"] if variant.lowest else []
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), *how, "-e", str(ROOT)], check=True)
        (place / "made").touch()
    return python


def _collect(python: Path, variant: Variant, place: Path) -> None:
    _worldgauge(
        python, variant, [["collect", name, "--out", str(place / "data" / name), *SMALL[name]] for name in RUNS]
    )


def _score(python: Path, variant: Variant, data: Path, out: Path) -> None:
    _worldgauge(
        python,
        variant,
        [["run", name, "--data", str(data / name), "--out", str(out / name), *RUNS[name]] for name in RUNS],
    )


_COMMANDS = """
import json, sys
from worldgauge.cli.main import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["worldgauge", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def _worldgauge(python: Path, variant: Variant, commands: list[list[str]]) -> None:
    """Several commands in one process: most of a short one is its start."""
    _asked(python, variant, "-c", _COMMANDS, json.dumps(commands))


def _asked(python: Path, variant: Variant, *words: str) -> str:
    environment = {**os.environ, **variant.variables, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([str(python), *words], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{variant.name}: {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


_TOLD = ("manifest.json", "failures.json")
"""Files of a data set that tell how it was made, with versions."""

_VERSIONS = """
import json, platform
from importlib.metadata import version
names = ("numpy", "scipy", "numba", "opencv-python-headless", "av", "pandas", "gymnasium")
print(json.dumps({"python": platform.python_version(), **{name: version(name) for name in names}}))
"""


def _versions(python: Path, variant: Variant) -> str:
    found: dict[str, Any] = json.loads(_asked(python, variant, "-c", _VERSIONS))
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _equal_files(one: Path, other: Path) -> tuple[int, int]:
    """How many files of two folders are equal, by path and content, and how many there are."""
    mine, theirs = (
        {
            path.relative_to(root): hashlib.sha256(path.read_bytes()).digest()
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in (one, other)
    )
    return sum(theirs.get(path) == digest for path, digest in mine.items()), len(mine.keys() | theirs.keys())


if __name__ == "__main__":
    raise SystemExit(main())
