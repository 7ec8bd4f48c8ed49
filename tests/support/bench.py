"""The least a suite needs of a bench."""

from pathlib import Path


class QuietBench:
    """The least a suite needs of a bench."""

    def __init__(self, directory: Path, seed: int = 7) -> None:
        self.directory = directory
        self.seed = seed
        self.calls: list[tuple[int, int]] = []

    def progress(self, done: int, total: int) -> None:
        self.calls.append((done, total))
