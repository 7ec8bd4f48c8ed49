"""The check of one part. The last line of stdout says what it found, that of stderr why the part does not work."""

from __future__ import annotations

import sys

from worldgauge.core.errors import WorldgaugeError
from worldgauge.tools.doctor import ABSENT, NEEDED, OPTIONAL
from worldgauge.tools.doctor.optional import AbsentError


def main(part: str) -> int:
    """Check a part.

    Args:
        part: Its name.

    Returns:
        Exit code: 0 where it works, ABSENT where it is not installed, 1 where it is broken.
    """
    try:
        print({**NEEDED, **OPTIONAL}[part]())
    except Exception as error:  # a broken library raises anything
        text = " ".join(str(error).split())
        print(text if isinstance(error, WorldgaugeError) else f"{type(error).__name__}: {text}", file=sys.stderr)
        return ABSENT if isinstance(error, AbsentError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
