"""Count the code base: `python -m benchmarks.size` prints a table.

Code is every line that has a token and is neither docstring nor comment. A folder counts if it holds a module.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = (ROOT / "src",)
ALL = (*CORE, ROOT / "packages" / "train" / "src", ROOT / "packages" / "lab" / "src", ROOT / "adapters")
SERVED = "worldgauge_serve.py"
_SECTION = re.compile(r"(Args|Returns|Raises|Yields):")
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Size:
    """Size of some folders.

    Attributes:
        files: Number of modules.
        folders: Number of folders that hold one.
        code: Lines of code.
        lines: Lines in all.
        longest: Lines of the longest module, but for the one that is copied into a model's environment.
        sections: Lines of docstrings in sections for arguments, results and errors.
        fragments: Modules under 60 lines of code whose only importer is in the same folder.
        names: Public class names with two meanings. The file that is copied into a model's environment repeats some of
            the core's classes; it is left out.
        registries: Registries with an entry-point group.
    """

    files: int
    folders: int
    code: int
    lines: int
    longest: int
    sections: int
    fragments: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    registries: int = 0


SIZES = ("files", "folders", "code", "lines", "longest", "sections")
"""Sizes that have limits."""


def size(*folders: Path) -> Size:
    """Count the modules below some folders."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    texts, trees, docs, code = ({path: _parsed(path)[part] for path in paths} for part in range(4))
    counts = {path: text.count("\n") for path, text in texts.items()}
    classes: dict[str, int] = defaultdict(int)
    for path, tree in trees.items():
        for node in tree.body if path.name != SERVED else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
    return Size(
        len(paths),
        len({path.parent for path in paths}),
        sum(code.values()),
        sum(counts.values()),
        max(count for path, count in counts.items() if path.name != SERVED),
        sum(_section_lines(node.value) for found in docs.values() for node in found),
        tuple(_fragments(folders, trees, code)),
        tuple(sorted(name for name, count in classes.items() if count > 1)),
        sum(len(re.findall(r"\bRegistry\([^)]*\bgroup=", text)) for text in texts.values()),
    )


@cache
def _parsed(path: Path) -> tuple[str, ast.Module, list[ast.Expr], int]:
    """Text of a module, its tree, its docstrings, and its lines of code."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docs = _docstrings(tree)
    return text, tree, docs, _lines_of_code(text, docs)


def _docstrings(tree: ast.Module) -> list[ast.Expr]:
    bodies = [getattr(node, "body", None) for node in ast.walk(tree)]
    return [
        one
        for body in bodies
        if isinstance(body, list)
        for one in body
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
    ]


def _lines_of_code(text: str, docs: list[ast.Expr]) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - {line for node in docs for line in range(node.lineno, (node.end_lineno or 0) + 1)})


def _section_lines(node: ast.expr) -> int:
    """Lines of a docstring in sections for arguments, results and errors."""
    count, inside = 0, False
    for line in ast.literal_eval(node).splitlines():
        text = line.strip()
        if _SECTION.fullmatch(text):
            inside = True
        elif re.fullmatch(r"[A-Z]\w+:", text):
            inside = False
        count += inside and bool(text)
    return count


def _fragments(folders: tuple[Path, ...], trees: dict[Path, ast.Module], code: dict[Path, int]) -> list[str]:
    names = {
        ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path
        for folder in folders
        for path in trees
        if path.is_relative_to(folder)
    }
    importers: dict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                found = [names[one] for one in (whole & names.keys() or {node.module} & names.keys())]
                for other in found:
                    importers[other].add(path)
    small = [path for path in trees if code[path] < 60 and path.name != "__init__.py"]
    alone = [path for path in small if len(importers[path]) == 1]
    return [path.relative_to(ROOT).as_posix() for path in alone if next(iter(importers[path])).parent == path.parent]


def main() -> None:
    """Print the table."""
    print("| | files | folders | code | lines | longest | argument lines | fragments | names with two meanings |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, folders in (("core", CORE), ("all packages", ALL)):
        one = size(*folders)
        cells = (one.files, one.folders, one.code, one.lines, one.longest, one.sections)
        shown = " | ".join(f"{cell:,}" for cell in cells)
        print(f"| {name} | {shown} | {len(one.fragments)} | {len(one.names)} |")


if __name__ == "__main__":
    main()
