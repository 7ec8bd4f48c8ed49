"""The physics engine, MuJoCo, which an extra installs."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

from worldgauge.core.errors import MissingExtraError, WorldError

GRAPHICS = "the Debian packages libegl1, libopengl0 and libgl1-mesa-dri, or libosmesa6 with MUJOCO_GL=osmesa"
"""What has to be on the machine to draw a table without a screen."""
_LOG = logging.getLogger(__name__)


@cache
def mujoco() -> Any:
    """Import the physics engine.

    Raises:
        MissingExtraError: It is not installed.
        WorldError: Libraries that it draws with are not.
    """
    # Read by the engine when it is first imported: pictures without a screen.
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco as engine
    except ImportError as error:
        raise MissingExtraError("the physics engine of the tabletop", "manipulation") from error
    except Exception as error:  # OpenGL's packages meet a library that is not there with errors of any kind
        raise WorldError(f"the table cannot be drawn ({' '.join(str(error).split())}): install {GRAPHICS}") from error
    # Else it writes MUJOCO_LOG.TXT where the process runs. What is unstable ends in an UnstableError.
    engine.set_mju_user_warning(_LOG.debug)
    return engine
