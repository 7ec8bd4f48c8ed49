"""What follows, drawn by models from recorded clips: errors and detail by second, and what the true actions are worth.

    python -m benchmarks.obedience --data mind=data/mind --size 64x36 --model trained:checkpoints/tiny --model freeze
    python -m benchmarks.obedience ... --shown 1,8,all --opposite --out rows.csv

Of each clip a third is shown, as in `training.validation`, whose numbers these are. All frames are compared at --size.
A model that sees less than is shown is asked with its own part. Rows are means over clips with 95 % intervals over
worlds, and differences from the first row, paired, with p of a sign-flip test over worlds.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.image import Frames
from worldgauge.core.intervals import mean_interval
from worldgauge.core.model import RolloutRequest, WorldModel
from worldgauge.core.paired_tests import paired_difference
from worldgauge.core.video import resize
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.suite.rollout import fit_context
from worldgauge.metrics.colour import detail_correlation
from worldgauge_train.training.clip import TrainingClip, read_clips
from worldgauge_train.training.validation import LONGEST, SECONDS, mse, opposite_of

SEED = 0
PARTS = {"second 1": (0, 1), "second 2": (1, 2), "seconds 3 to 6": (2, 6)}
"""Seconds of which detail is told."""
NAMES = (*(f"MSE of {n} s" for n in SECONDS), *(f"detail in {part}" for part in PARTS))


def answer(
    model: WorldModel, clip: TrainingClip, first: int, horizon: int, shown: int | None, opposite: bool
) -> Iterator[Frames]:
    """Draw what follows the first frames of a clip.

    Args:
        model: The model.
        clip: The clip.
        first: Frames that may be shown.
        horizon: Frames to draw.
        shown: Show so many of them, the last; None for all.
        opposite: Whether every action is replaced by its opposite.

    Yields:
        Frames of the model, a chunk at a time.
    """
    future = clip.actions[first - 1 : first - 1 + horizon]
    if opposite:
        if model.spec.control != "actions":
            raise NotApplicableError(f"{model.spec.name} is not driven by actions, so they cannot be replaced")
        turned = opposite_of(future.space, "keys")
        if turned.shape[0] != future.values.shape[1]:
            raise NotApplicableError(f"actions of '{future.space.name}' are angles and have no exchange")
        future = Actions(future.space, future.values @ turned)
    context = Context(clip.frames[:first], clip.poses[:first], clip.actions[: first - 1], clip.camera)
    request = RolloutRequest(
        fit_context(context, model.spec, shown, clip.world),
        horizon,
        SEED,
        actions=future,
        poses=None if opposite else clip.poses[first : first + horizon],
        world=clip.world,
        truth=clip.frames[first : first + horizon],
        truth_poses=clip.poses[first : first + horizon],
        task=clip.id,
    )
    yield from model.rollout(request)


def measured(drawn: Frames, truth: Frames, fps: float) -> dict[str, float | None]:
    """The numbers of one answer; None for seconds that it does not reach.

    Args:
        drawn: (n, H, W, 3) uint8; a model may end early.
        truth: The recorded frames.
        fps: Frames a second.
    """
    found: dict[str, float | None] = dict.fromkeys(NAMES)
    for seconds in SECONDS:
        if (last := round(seconds * fps)) <= min(len(drawn), len(truth)):
            found[f"MSE of {seconds} s"] = mse(drawn[:last], truth[:last])
    for name, (begin, end) in PARTS.items():
        part = slice(round(begin * fps), round(end * fps))
        if part.start >= len(truth) or min(part.stop, len(truth)) > len(drawn):
            continue
        told = [detail_correlation(x, y) for x, y in zip(drawn[part], truth[part], strict=False)]
        if known := [one for one in told if one is not None]:
            found[f"detail in {name}"] = float(np.mean(known))
    return found


def sized(frames: Frames, size: tuple[int, int]) -> Frames:
    """Frames at a size (width, height)."""
    return np.stack([np.ascontiguousarray(resize(frame, *size)) for frame in frames])


def rows_of(
    clips: Sequence[TrainingClip],
    models: Sequence[str],
    shown: Sequence[int | None],
    opposite: bool,
    size: tuple[int, int],
) -> dict[str, list[dict[str, float | None]]]:
    """Ask every model about every clip.

    Args:
        clips: The clips.
        models: Texts of models.
        shown: Numbers of frames to show.
        opposite: Whether to ask with opposite actions, too.
        size: (width, height) at which frames are compared.

    Returns:
        For each row the numbers of each clip.
    """
    lengths = [min(LONGEST, len(clip)) for clip in clips]
    firsts = [max(1, length // 3) for length in lengths]
    truths = [
        sized(clip.frames[first:length].to_array(), size)
        for clip, first, length in zip(clips, firsts, lengths, strict=True)
    ]
    found: dict[str, list[dict[str, float | None]]] = {}
    for text in models:
        model = resolve_model(text).model
        assert isinstance(model, WorldModel)
        for count in shown:
            for turned in (False, True) if opposite else (False,):
                label = text + ("" if count is None else f", shown {count}") + (", opposite actions" if turned else "")
                for clip, first, truth in zip(clips, firsts, truths, strict=True):
                    chunks = list(answer(model, clip, first, len(truth), count, turned))
                    drawn = sized(np.concatenate(chunks), size)
                    found.setdefault(label, []).append(measured(drawn, truth, clip.frames.fps))
                print(f"{label}: {len(clips)} clips", flush=True)
    return found


def table(found: Mapping[str, Sequence[Mapping[str, float | None]]], worlds: Sequence[str]) -> Iterator[str]:
    """Lines for a reader.

    Args:
        found: The numbers of each clip, by row.
        worlds: The world of each clip.
    """
    base = next(iter(found))
    for name in NAMES:
        yield f"{name} (n = {len(worlds)} clips, {len(set(worlds))} worlds)"
        for label, rows in found.items():
            values = [row[name] for row in rows]
            known = [value for value in values if value is not None]
            if not known:
                yield f"  {label}: none"
                continue
            few = "" if len(known) == len(values) else f" (n = {len(known)})"
            interval = mean_interval(values, clusters=worlds)
            told = "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"
            line = f"  {label}: {np.mean(known):.4f}{told}{few}"
            if label != base:
                ids = [str(n) for n in range(len(values))]
                pair = paired_difference(
                    dict(zip(ids, values, strict=True)),
                    dict(zip(ids, (row[name] for row in found[base]), strict=True)),
                    cluster=dict(zip(ids, worlds, strict=True)),
                )
                if pair.mean is not None:
                    line += f"; less the first row {pair.mean:+.4f}"
                if pair.interval is not None and pair.p is not None:
                    line += f" [{pair.interval.low:+.4f}, {pair.interval.high:+.4f}], p = {pair.p:.3f}"
            yield line


def main() -> None:
    """Ask and print."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", required=True, help="SOURCE=FOLDER, as for worldgauge train")
    asked.add_argument("--model", action="append", required=True)
    asked.add_argument("--size", default="64x36", help="frames are compared at this size")
    asked.add_argument("--shown", default="all", help="frames to show, such as 1,8,all")
    asked.add_argument("--opposite", action="store_true", help="ask with opposite actions, too")
    asked.add_argument("--split", default="test", choices=("train", "val", "test"))
    asked.add_argument("--match", default="", help="clips whose name holds this, such as mem_test")
    asked.add_argument("--clips", type=int, help="spread evenly over what there is; all by default")
    asked.add_argument("--out", type=Path, help="a CSV of all numbers")
    given = asked.parse_args()
    source, _, folder = given.data.partition("=")
    clips = read_clips([(source, Path(folder))], given.split).clips
    clips = [clip for clip in clips if given.match in clip.name]
    if not clips:
        asked.error(f"{folder} has no clip of the split {given.split} whose name holds '{given.match}'")
    if given.clips:
        clips = [clips[n] for n in np.unique(np.linspace(0, len(clips) - 1, given.clips).round().astype(int))]
    worlds = [clip.scene or clip.id for clip in clips]
    width, height = map(int, given.size.split("x"))
    shown = [None if one == "all" else int(one) for one in given.shown.split(",")]
    found = rows_of(clips, given.model, shown, given.opposite, (width, height))
    print(*table(found, worlds), sep="\n")
    if given.out:
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row", "clip", "world", *NAMES])
            for label, rows in found.items():
                for clip, world, row in zip(clips, worlds, rows, strict=True):
                    writer.writerow([label, clip.id, world, *row.values()])


if __name__ == "__main__":
    main()
