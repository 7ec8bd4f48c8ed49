"""A calibration as it stands in a file."""

from __future__ import annotations

from worldgauge.models.calibration import FORMAT, VERSION


def content(spec: str, **gains: float) -> dict:
    """A calibration as it stands in a file, with these gains and no delay; keys may also be "delay"."""
    delay = gains.pop("delay", 0)
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": {"name": "wrong-mover", "spec": spec},
        "control": "camera",
        "space": {"name": None, "axes": []},
        "delay": {"frames": delay},
        "speed": {"moving": {"whose": "asked"}, "turning": {"whose": "asked"}},
        "controls": {
            name: {"status": "follows", "gain": {"mean": gain}, "a_frame": abs(gain) * 0.05}
            for name, gain in gains.items()
        },
    }
