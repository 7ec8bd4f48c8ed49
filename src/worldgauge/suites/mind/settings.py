"""The options of the suite: the right thing by default, each fault of the released scorer by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import check_name
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.drift import HorizonSettings
from worldgauge.engine.suite.rollout import BridgeSettings
from worldgauge.engine.suite.settings import naming_setting, networks_digest, with_parity
from worldgauge.perception.decoders import digest_of
from worldgauge.perception.network_source import What
from worldgauge.suites.mind.actions import Perspective
from worldgauge.suites.mind.format.files import FPS, PERSPECTIVES

TESTS = ("mem", "action_space", "mirror")
TWINS = "twins"
"""A test that runs only if it is named."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "dino": "dino", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""

RELEASED: dict[str, Any] = {
    "window": "released",
    "pairing": "released",
    "dino_input": "twice",
    "action_rows": "before",
    "action_groups": "released",
    "truth_poses": "released",
    "images_reader": "released",
    "nan_poses": "raise",
    "lone_frame": "error",
    "frame_count": "header",
    "clip_end": "total_time",
    "mirror_set": "submission",
}
"""Settings under which the scorer behaves as the released one does (README.md next to this file has a line on each)."""


def _parts_rule(known: tuple[str, ...]) -> str:
    return f"some of {','.join(known)}"


@dataclass(frozen=True)
class MindSettings(HorizonSettings, BridgeSettings):
    """Options of MIND; those from `window` on switch between known behaviour of the released scorer and ours."""

    tests: str = option(",".join(TESTS), "Tests to run, separated by commas.", rule=_parts_rule((*TESTS, TWINS)))
    perspectives: str = option(
        ",".join(PERSPECTIVES), "Perspectives to use, separated by commas.", rule=_parts_rule(PERSPECTIVES)
    )
    horizon: int | None = option(None, "Maximum number of frames to generate. Default: all that were recorded.", low=2)
    context: int | None = option(None, "Maximum number of context frames. Default: all. 1 tests without memory.", low=1)
    poses: str = option(
        "klt-vo",
        'Decoder of camera paths: name or address. "exact" is for built-in baselines only.',
        rule="a name, a file or an address",
    )
    action_frames: int = option(97, "Number of frames for action accuracy. Released: 97. With horizon_s: all.", low=3)
    truth_poses: Literal["engine", "images_txt", "decoded", "released"] = option(
        "engine", "Source of the true camera path. released: images.txt if complete, else decoded."
    )
    lpips: str | None = option(None, "Network of LPIPS. Default: not computed.")
    dino: str | None = option(None, "Network of the DINO features. Default: not computed.")
    aesthetic: str | None = option(None, "Network of aesthetic quality. Default: not computed.")
    imaging: str | None = option(None, "Network of imaging quality. Default: not computed.")
    window: Literal["all", "released"] = option("all", "Scored frames: all, or 100 floor((n - 1) / 100) as released.")
    pairing: Literal["aligned", "released"] = option(
        "aligned", "Frame pairs of the headline: aligned, or one action apart as released."
    )
    dino_input: Literal["once", "twice"] = option("once", "How often frames are scaled for DINO. Released: twice.")
    action_rows: Literal["after", "before"] = option(
        "after", "Keys of a step: the row that causes it, or the one before (released)."
    )
    action_groups: Literal["keys", "released"] = option(
        "keys", "Groups of steps: by keys, or as released (looking is no rotation)."
    )
    images_reader: Literal["all_lines", "released"] = option(
        "all_lines", "Reading of images.txt: all lines, or without those after a pose (released)."
    )
    nan_poses: Literal["drop", "raise"] = option("drop", "Frames whose pose is NaN: drop them, or fail (released).")
    lone_frame: Literal["kept", "error"] = option("kept", "A last batch of one frame: keep it, or fail (released).")
    frame_count: Literal["decoding", "header"] = option(
        "decoding", "Frame count of a video: decoded, or from its header (released)."
    )
    clip_end: Literal["rows", "total_time"] = option(
        "rows", "End of an episode: its last row, or total_time of its file (released)."
    )
    mirror_set: Literal["data", "submission"] = option(
        "data", "Mirror paths of finished videos: from the start images, or every folder (released)."
    )
    mirror_folders: str | None = option(
        None, 'Folders of mirror paths, such as "1st_data/scene_a", separated by commas.'
    )
    # Digests of what the settings name: another version or an edited file counts as another setting.
    poses_digest: str | None = None
    networks_digest: str | None = None
    parity: Literal["released"] | None = option(None, "Sets all switches as released.")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> MindSettings:
        """Settings made of plain values, with the digests of what they name."""
        settings = options_of(cls, "mind", options)
        _check_list("tests", settings.tests, (*TESTS, TWINS))
        _check_list("perspectives", settings.perspectives, PERSPECTIVES)
        _check_folders(settings.mirror_folders)
        if not settings.poses:
            raise UsageError("mind setting 'poses' must be a name, a file or an address, got ''")
        if settings.horizon_s is not None:
            settings = _with_horizon(settings, options)
        with naming_setting("mind", "poses"):
            poses_digest = digest_of(settings.poses)
        networks = networks_digest("mind", settings, LEARNED)
        settings = replace(settings, poses_digest=poses_digest, networks_digest=networks)
        return with_parity(settings, options, RELEASED)

    @property
    def parts(self) -> tuple[str, ...]:
        """The selected tests."""
        return tuple(one for one in (*TESTS, TWINS) if one in self.tests.split(","))

    @property
    def views(self) -> tuple[Perspective, ...]:
        """The selected perspectives."""
        return tuple(one for one in PERSPECTIVES if one in self.perspectives.split(","))

    @property
    def frames_asked(self) -> int | None:
        """Most frames to imagine, whichever way they were given; None for all that were recorded."""
        return self.horizon if self.horizon_s is None else round(self.horizon_s * FPS)


def _with_horizon(settings: MindSettings, options: Mapping[str, Any]) -> MindSettings:
    """Check a horizon in seconds, and judge the camera over all of it."""
    if settings.horizon is not None:
        raise UsageError(f"mind settings 'horizon' ({settings.horizon} frames) and 'horizon_s': give one of them")
    frames = settings.frames_asked
    assert frames is not None
    if frames < 2:
        raise UsageError(
            f"mind setting 'horizon_s' must be at least two frames, {2 / FPS:.3g}, got {settings.horizon_s}"
        )
    return settings if "action_frames" in options else replace(settings, action_frames=max(3, frames))


def _check_folders(value: str | None) -> None:
    for name in () if value is None else value.split(","):
        top, _, folder = name.partition("/")
        try:
            known = top.removesuffix("_data") in PERSPECTIVES and bool(check_name(folder, "mirror_folders"))
        except DataError:
            known = False
        if not known:
            raise UsageError(
                f"mind setting 'mirror_folders' must be folders such as 1st_data/scene_a, by commas, got {value!r}"
            )


def _check_list(name: str, value: str, known: tuple[str, ...]) -> None:
    given = value.split(",")
    if len(set(given)) != len(given) or any(one not in known for one in given):
        raise UsageError(f"mind setting '{name}' must be {_parts_rule(known)}, got {value!r}")
