"""The options of the suite: the right thing by default, each fault of the released scorer by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import check_whole, settings_of, with_parity
from worldgauge.perception.decoders.opening import digest_of
from worldgauge.perception.naming import What
from worldgauge.suites.mind.format.layout import PERSPECTIVES, Perspective

TESTS = ("mem", "action_space", "mirror")
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
}
"""Settings under which the scorer behaves as the released one does (docs/suites/mind.md has a line on each)."""


@dataclass(frozen=True)
class Settings:
    """Options of MIND.

    tests: which of "mem", "action_space" and "mirror", separated by commas. perspectives: "1st", "3rd", likewise.
    horizon: frames asked for at most after the context; None asks for all that were recorded. Runs of different
    horizons are never compared. context: frames shown at most, 1 for the test without memory; None shows all.
    poses: how the camera of a generated video is found: a registered decoder, with settings, the address of a served
    one, or "exact" (embedded worlds, models that know their path). action_frames: how many are looked at, 97 of old.
    truth_poses: the "engine"'s own; those of "images_txt"; "decoded" from the real video; or as "released": images.txt
    where it has enough poses, else decoded.
    lpips, dino, aesthetic, imaging: where the learned metrics get their networks (`estimators.perception`); None leaves
    them out, and says so.

    The rest are switches for known behaviour of the released scorer, all of them at once with parity="released":
    window: frames scored, "all", or 100 floor((n - 1) / 100). pairing: of the ten paths for the headline, "aligned"
    or one action apart ("released"); both are always computed. dino_input: scaled "once" or "twice". action_rows: a
    step is called by the keys of the row "after" its first frame, which cause it, or of the row "before".
    action_groups: by "keys", or "released", where looking is never a rotation. images_reader: of images.txt,
    "all_lines", or "released", which skips the line after each pose. nan_poses: "drop" those frames or "raise".
    lone_frame: a last batch of one frame is "kept" or an "error". frame_count: of a video by "decoding" or from its
    "header".
    poses_digest, networks_digest: of what `poses` and the learned metrics name, found anew, so that another version or
    an edited file counts as another one.
    """

    tests: str = "mem,action_space,mirror"
    perspectives: str = "1st,3rd"
    horizon: int | None = None
    context: int | None = None
    poses: str = "klt-vo"
    action_frames: int = 97
    truth_poses: Literal["engine", "images_txt", "decoded", "released"] = "engine"
    lpips: str | None = None
    dino: str | None = None
    aesthetic: str | None = None
    imaging: str | None = None
    window: Literal["all", "released"] = "all"
    pairing: Literal["aligned", "released"] = "aligned"
    dino_input: Literal["once", "twice"] = "once"
    action_rows: Literal["after", "before"] = "after"
    action_groups: Literal["keys", "released"] = "keys"
    images_reader: Literal["all_lines", "released"] = "all_lines"
    nan_poses: Literal["drop", "raise"] = "drop"
    lone_frame: Literal["kept", "error"] = "kept"
    frame_count: Literal["decoding", "header"] = "decoding"
    poses_digest: str | None = None
    networks_digest: str | None = None
    parity: Literal["released"] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings of plain values. Raises UnknownNameError or UsageError naming the option."""
        settings = settings_of(cls, "mind", options)
        _check_list("tests", settings.tests, TESTS)
        _check_list("perspectives", settings.perspectives, PERSPECTIVES)
        check_whole("mind", "horizon", settings.horizon, least=2, optional=True)
        check_whole("mind", "context", settings.context, least=1, optional=True)
        check_whole("mind", "action_frames", settings.action_frames, least=3)
        if not (isinstance(settings.poses, str) and settings.poses):
            raise UsageError(f"mind setting 'poses' must be a name, a file or an address, got {settings.poses!r}")
        settings = replace(
            settings, poses_digest=digest_of(settings.poses), networks_digest=networks_digest("mind", settings, LEARNED)
        )
        return with_parity(settings, options, RELEASED)

    @property
    def parts(self) -> tuple[str, ...]:
        """The tests in force."""
        return tuple(one for one in TESTS if one in self.tests.split(","))

    @property
    def views(self) -> tuple[Perspective, ...]:
        """The perspectives in force."""
        return tuple(one for one in PERSPECTIVES if one in self.perspectives.split(","))

    def as_dict(self) -> dict[str, Any]:
        """All options, plain JSON values."""
        return asdict(self)


def _check_list(name: str, value: Any, known: tuple[str, ...]) -> None:
    given = value.split(",") if isinstance(value, str) else []
    unknown = [one for one in given if one not in known]
    if not given or unknown or len(set(given)) != len(given):
        raise UsageError(f"mind setting '{name}' must be some of {','.join(known)}, got {value!r}")
