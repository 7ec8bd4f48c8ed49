"""What lies in a folder, for tests that ask for the same bytes."""

import hashlib
from pathlib import Path


def contents(root: Path) -> dict[str, str]:
    """SHA-256 of every file below `root`, by its path."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
