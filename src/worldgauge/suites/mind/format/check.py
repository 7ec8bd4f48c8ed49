"""Checks of a MIND folder: counts and statistics by perspective and part, and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, wrap_angle, yaw_pitch_from_pose
from worldgauge.core.image import read_png
from worldgauge.core.io import list_folder
from worldgauge.core.video import Clip, problems
from worldgauge.engine.collection import (
    DataReport,
    DataTable,
    Finding,
    Spread,
    counted,
    data_report,
    grouped,
    mean_text,
    spread,
)
from worldgauge.suites.mind.actions import Perspective
from worldgauge.suites.mind.format import files
from worldgauge.suites.mind.format.files import MindClip, Part
from worldgauge.suites.mind.format.read import discover, poses_of_file

PUBLISHED = {"train": 50, "mem_test": 50, "action_space_test": 25, "mirror_test": 500}
"""Clips of each part and perspective, and videos of the mirror test."""

TURN_TOLERANCE_DEG = 0.1
LEAST_LOOKS = 24
"""Rows that look left or right from which their mean turn is believed: files may hold whole degrees."""

SPEED_TOLERANCE = 1.05
JUMP_CM = 100.0


@dataclass(frozen=True)
class PartStatistics:
    """The clips of one perspective and part, or videos of the mirror test; a number that a part does not have is None.

    Attributes:
        mark_share: Share of the frames before mark_time.
        speed_cm_s: Mean while a walking key is held.
        turn_deg: Mean of the frames that look left or right.
        keys: Share of all rows that hold each key, and "none".
    """

    perspective: Perspective
    part: Part
    clips: int
    usable: int
    published: int
    frames: Spread | None
    mark_share: Spread | None
    speed_cm_s: Spread | None
    turn_deg: Spread | None
    keys: dict[str, float]
    families: dict[str, int]


def check(root: Path, *, decode: bool = False) -> DataReport:
    """Check a folder."""
    clips = discover(root)
    valid = [clip for clip in clips if clip.fault is None]
    recorded = [_Measured(clip, _motion(clip)) for clip in valid if clip.part != "mirror_test"]
    findings = [
        *_of_folder(files.data_folder(root), clips),
        *grouped("error", "not usable", ((clip.id, clip.fault) for clip in clips if clip.fault), "clip"),
        *_of_warnings(valid),
        *grouped("error", "contradict their keys", _disobeying(recorded), "clip"),
        *grouped("warning", "odd", _odd(recorded), "clip"),
        *_of_facts(valid),
        *(_of_files(valid) if decode else ()),
    ]
    rows, families = list(_rows(clips, recorded)), _families(valid)
    facts = {
        "n_clips": len(clips),
        "n_valid": len(valid),
        "n_frames": sum(item.clip.frames for item in recorded),
        "families": families,
        "rows": [asdict(row) for row in rows],
    }
    columns = ("", "clips", "paper", "frames", "context", "walks,\ncm/s", "turns,\ndeg/frame", "no key")
    notes = (
        "paper: clips of the published data; context: share of the frames before mark_time; the mirror test is "
        "counted in videos",
        f"by family: {', '.join(f'{name} {count}' for name, count in families.items()) or 'none'}",
    )
    table = DataTable("means over usable clips", columns, tuple(map(_cells, rows)), notes)
    return data_report("clips and mirror videos", "n_clips", findings, table, facts)


def _cells(row: PartStatistics) -> tuple[str, ...]:
    """One line of the table for people."""
    idle = f"{row.keys['none']:.0%}" if "none" in row.keys else "-"
    context = "-" if row.mark_share is None else f"{row.mark_share.mean:.0%}"
    counts = (f"{row.perspective} {row.part}", str(row.clips), str(row.published))
    return (*counts, mean_text(row.frames), context, mean_text(row.speed_cm_s), mean_text(row.turn_deg), idle)


class _Measured(NamedTuple):
    clip: MindClip
    motion: ClipMotion


def _motion(clip: MindClip) -> ClipMotion:
    assert clip.records is not None
    file = files.read_action(clip.records)
    assert file.actor_pos is not None
    return motion_of(
        file.keys, poses_of_file(file, clip.perspective, str(clip.records)), files.our_point(file.actor_pos)
    )


def _rows(clips: Sequence[MindClip], recorded: Sequence[_Measured]) -> Iterator[PartStatistics]:
    for perspective in files.PERSPECTIVES:
        for part in files.PARTS:
            group = [clip for clip in clips if (clip.perspective, clip.part) == (perspective, part)]
            if not group:
                continue
            usable = [clip for clip in group if clip.fault is None]
            measured = [item for item in recorded if (item.clip.perspective, item.clip.part) == (perspective, part)]
            rows = sum(item.clip.frames for item in measured)
            names = measured[0].motion.keys if measured else ()
            yield PartStatistics(
                perspective=perspective,
                part=part,
                clips=len(group),
                usable=len(usable),
                published=PUBLISHED[part],
                frames=spread(clip.frames for clip in usable),
                mark_share=spread(item.clip.mark_time / item.clip.frames for item in measured),
                speed_cm_s=spread(item.motion.speed_cm_s for item in measured),
                turn_deg=spread(item.motion.turn_deg for item in measured),
                keys={
                    name: sum(item.motion.keys[name] * item.clip.frames for item in measured) / rows for name in names
                },
                families=_families(usable),
            )


def _families(clips: Sequence[MindClip]) -> dict[str, int]:
    return dict(sorted(Counter(clip.family for clip in clips).items()))


def _of_folder(place: Path, clips: Sequence[MindClip]) -> Iterator[Finding]:
    """What is missing from the layout, and what lies in it that is none of it."""
    if not clips:
        yield Finding("error", "holds no clip of the form 1st_data/test/mem_test/<clip>/action.json")
        return
    there = {(clip.perspective, clip.part) for clip in clips}
    absent = [f"{files.part_folder(a, b)}" for a in files.PERSPECTIVES for b in files.PARTS if (a, b) not in there]
    if absent:
        yield Finding("info", f"nothing in {', '.join(absent)}")
    strays = [
        path for a in files.PERSPECTIVES for b in files.PARTS for path in _strays(place / files.part_folder(a, b), b)
    ]
    if strays:
        first = strays[0].relative_to(place).as_posix()
        yield Finding(
            "warning", f"{len(strays)} files or folders belong to no clip and are passed over (first: {first})"
        )


def _strays(folder: Path, part: Part) -> list[Path]:
    if not folder.is_dir():
        return []
    if part != "mirror_test":
        return [path for path in list_folder(folder) if not path.is_dir()]
    known = {path.stem for path in list_folder(folder) if path.suffix.lower() == ".png"}
    return [
        path
        for path in list_folder(folder)
        if path.is_dir()
        or not (
            path.suffix.lower() == ".png"
            or (path.name.startswith("-") and path.suffix.lower() == ".json")
            or path.name.removesuffix(".world.json") in known
        )
    ]


def _of_warnings(valid: Sequence[MindClip]) -> Iterator[Finding]:
    """One line a kind of warning. What is said of mirror files is said once a file, not once a task."""
    yield from grouped("warning", "usable", ((c.id, t) for c in valid if c.path is None for t in c.warnings), "clip")
    of_paths = {
        (clip.perspective, text): clip.records.name if clip.records else clip.part
        for clip in valid
        if clip.path is not None
        for text in clip.warnings
    }
    said = ((name, text) for (_, text), name in of_paths.items())
    yield from grouped("warning", "usable", said, "mirror file")


def _disobeying(recorded: Sequence[_Measured]) -> Iterator[tuple[str, str]]:
    """Signs of axes that are not the data set's: whole clips go against their keys."""
    for clip, motion in recorded:
        if motion.obeys_walk is not None and motion.obeys_walk <= 0:
            yield clip.id, "walks against its keys: ws 1 is forward, ad 1 left of the view; mend the axes of its poses"
        if motion.looks >= LEAST_LOOKS and (motion.turn_deg or 0.0) <= 0:
            yield clip.id, "turns against its keys: lr 1 is left, which lowers the engine's yaw; mend its angles"


def _odd(recorded: Sequence[_Measured]) -> Iterator[tuple[str, str]]:
    for clip, motion in recorded:
        delta_r, delta_p = clip.steps
        if motion.largest_step_cm > JUMP_CM:
            yield clip.id, f"jumps {motion.largest_step_cm:.0f} cm from one frame to the next"
        whose = "its side-car says" if clip.space_known else "its name, or the shared space, says"
        if (
            motion.turn_deg is not None
            and motion.looks >= LEAST_LOOKS
            and abs(motion.turn_deg - delta_r) > TURN_TOLERANCE_DEG
        ):
            yield clip.id, f"turns {motion.turn_deg:.2f} degrees a frame, {whose} {delta_r:g}"
        if motion.speed_cm_s is not None and motion.speed_cm_s > SPEED_TOLERANCE * delta_p:
            yield clip.id, f"walks {motion.speed_cm_s:.0f} cm/s, {whose} {delta_p:g}"


def _of_facts(valid: Sequence[MindClip]) -> Iterator[Finding]:
    """What the data do not say, and what is assumed instead."""
    guessed = [clip for clip in valid if not clip.space_known]
    if guessed:
        what = "the action space is read off the name, else 1 degree a frame and 200 cm/s; the camera sees 90 degrees"
        yield Finding("info", f"{counted(len(guessed), 'clip')} without a side-car (first: {guessed[0].id}): {what}")


def _of_files(valid: Sequence[MindClip]) -> Iterator[Finding]:
    """Damage that only decoding shows."""
    errors: list[tuple[str, str]] = []
    rates: list[tuple[str, str]] = []
    seen: set[Path] = set()
    for clip in valid:
        try:
            if clip.video is not None:
                if found := problems(clip.video):
                    errors.append((clip.id, f"the video decodes with {len(found)} complaints: {Path(found[0]).name}"))
                video = Clip.open(clip.video)
                if len(video) != clip.frames:
                    errors.append((clip.id, f"the video has {len(video)} frames, action.json {clip.frames} rows"))
                if abs(video.fps - files.FPS) > 0.01:
                    rates.append((clip.id, f"the video runs at {video.fps:.2f} frames/s, not {files.FPS:g}"))
            elif clip.image is not None and clip.image not in seen:
                seen.add(clip.image)
                read_png(clip.image)
        except DataError as error:
            errors.append((clip.id, str(error).replace(f"{clip.folder}/", "")))
    yield from grouped("error", "not usable", errors, "clip")
    yield from grouped("warning", "odd", rates, "clip")


KEY_NAMES = ("forward", "back", "left", "right", "look_up", "look_down", "look_left", "look_right")
STILL_CM = 0.5
"""Steps below this are no motion: a wall is in the way."""


class ClipMotion(NamedTuple):
    """Numbers of one clip; None if no frame defines them.

    Attributes:
        keys: Share of the rows that hold each of the eight keys, and "none".
        speed_cm_s: Mean of rows with one walking key, or two at right angles, without steps that a wall stopped.
        turn_deg: Mean turn of rows that look left or right, in that direction (whole degrees in files cancel out).
        obeys_walk: Mean cosine between the direction of a row's keys and its motion, in [-1, 1].
    """

    keys: dict[str, float]
    speed_cm_s: float | None
    turn_deg: float | None
    obeys_walk: float | None
    looks: int
    largest_step_cm: float


def motion_of(keys: NDArray[np.uint8], poses: FloatArray, feet: FloatArray) -> ClipMotion:
    """Numbers of a clip of T rows: key codes (T, 4), camera poses (T, 4, 4) and feet (T, 3) in metres."""
    held = np.stack([keys == 1, keys == 2], -1).reshape(len(keys), 8)
    shares = {name: float(share) for name, share in zip(KEY_NAMES, held.mean(axis=0), strict=True)}
    shares["none"] = float((keys == 0).all(axis=1).mean())
    yaw, _ = yaw_pitch_from_pose(poses)
    steps_cm = 100 * np.diff(feet[:, :2], axis=0)
    lengths = np.linalg.norm(steps_cm, axis=1)
    signs = np.array([0, 1, -1])[keys[1:]]
    # Keys are relative to the view, midway in a turn.
    turns = wrap_angle(np.diff(yaw))
    along = yaw[:-1] + turns / 2
    c, s = np.cos(along), np.sin(along)
    wanted = np.stack([signs[:, 0] * c - signs[:, 1] * s, signs[:, 0] * s + signs[:, 1] * c], -1)
    walks = (signs[:, :2] != 0).any(axis=1) & (lengths > STILL_CM)
    looks = signs[:, 3] != 0
    cosine = (wanted * steps_cm).sum(1)[walks] / (np.linalg.norm(wanted, axis=1) * lengths)[walks]
    return ClipMotion(
        keys=shares,
        speed_cm_s=float(lengths[walks].mean() * files.FPS) if walks.any() else None,
        turn_deg=float(np.degrees((turns * signs[:, 3])[looks].mean())) if looks.any() else None,
        obeys_walk=float(cosine.mean()) if walks.any() else None,
        looks=int(looks.sum()),
        largest_step_cm=float(lengths.max(initial=0.0)),
    )
