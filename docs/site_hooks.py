"""What `make site` does beyond docs/: it adds the pages that are next to the code, and turns links to them.

Links are written as they work in the repository. A page of the site is linked as a page. Any other file of the
repository that a page links to is copied to `source/`, so the link leads to it. Pages for maintainers become text.
"""

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SUITES = ROOT / "src" / "worldgauge" / "suites"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")
"""The target of a Markdown link or image, without its anchor. Links that leave the site do not match."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files outside docs/ that belong to the site."""
    pages = {"index.md": ROOT / "README.md"}
    pages |= {f"{name.lower()}.md": ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG")}
    pages |= {f"suites/{path.parent.relative_to(SUITES)}.md": path for path in SUITES.rglob("README.md")}
    for uri, path in pages.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    known = set(_uris(files))
    linked = {path for page in files.documentation_pages() for path in _targets(Path(str(page.abs_src_path)))}
    for path in sorted(linked - known):
        if path.is_file() and path.is_relative_to(ROOT):
            ending = ".txt" if path.suffix == ".md" else ""  # else it would be a page
            source = File.generated(config, f"source/{path.relative_to(ROOT)}{ending}", abs_src_path=str(path))
            source.inclusion = InclusionLevel.INCLUDED  # also if exclude_docs matches it
            files.append(source)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page from paths in the repository to paths in the site."""
    uris, source = _uris(files), Path(str(page.file.abs_src_path))

    def turned(link: re.Match[str]) -> str:
        uri = uris.get(_resolved(source, link[1]))
        return os.path.relpath(uri, os.path.dirname(page.file.src_uri) or ".") if uri else link[0]

    return LINK.sub(turned, markdown)


def _uris(files: Files) -> dict[Path, str]:
    """Where each file of the site is, by its path in the repository."""
    shown = [file for file in files if file.abs_src_path and not file.inclusion.is_excluded()]
    return {Path(str(file.abs_src_path)).resolve(): file.src_uri for file in shown}


def _targets(source: Path) -> list[Path]:
    return [_resolved(source, link) for link in LINK.findall(source.read_text(encoding="utf-8"))]


def _resolved(source: Path, link: str) -> Path:
    return (source.parent / link).resolve()
