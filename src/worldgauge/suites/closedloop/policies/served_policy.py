"""A policy that runs in a process of its own: where it is, and how it is opened (docs/policies.md)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.serving import RemoteEstimator, is_served, open_estimator
from worldgauge.suites.closedloop.policies.contract import PolicyKit

NAME, KIND = "process", "policy"
"""Name of the proposers that ask one, and kind of estimator that it is."""
MAX_PLANS = 256
"""Most plans of an answer."""


def address_of(kit: PolicyKit) -> str:
    """Where the policy of a run is: "cmd:...", "pipe:..." or "http://..." as for models.

    Raises:
        UsageError: If the kit names no policy.
    """
    at = str(kit.options.get("policy", ""))
    if not is_served(at):
        raise UsageError(
            f"the proposer '{NAME}' asks a policy of yours, got '{at}'; "
            'give --set "policy=cmd:python -m worldgauge_serve my_policy.py:Mine" (docs/policies.md)'
        )
    return at


@lru_cache(maxsize=4)
def opened(at: str, layouts: tuple[str, ...], code: str = "") -> RemoteEstimator:
    """Return the policy at `at`, opened once: loading a network takes longer than an episode.

    Args:
        at: Where it is.
        layouts: Layouts of a policy that can be asked.
        code: `served_code` of `at`: an edited policy is opened again.

    Raises:
        UsageError: If the server is no policy of these layouts.
    """
    remote = open_estimator(at, KIND)
    if remote.spec.kind != KIND or remote.spec.layout not in layouts:
        remote.close()
        what = f"of kind '{remote.spec.kind}', layout '{remote.spec.layout}'"
        wanted = " or ".join(f"'{layout}'" for layout in layouts)
        raise UsageError(f"'{remote.spec.name}' is {what}; a policy is of kind '{KIND}', layout {wanted}")
    return remote


def told(instruction: str | None, camera: Camera, n: int, length: int, seed: int) -> dict[str, Any]:
    """Options that every policy is told."""
    numbers = {name: getattr(camera, name) for name in ("width", "height", "fx", "fy", "cx", "cy")}
    return {"instruction": instruction or "", "n": n, "length": length, "seed": seed, "camera": numbers}
