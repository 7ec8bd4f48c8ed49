"""MIND's published format: clips of walks driven by keys, in first and third person, and mirrored paths from images.

On disk: 1st_data and 3rd_data with train/<clip>/, test/mem_test/<clip>/, test/action_space_test/<clip>/ (action.json,
video.mp4, images.txt) and test/mirror_test/ (start images and paths) (specification: mind, section 1). Files are in the
engine's left-handed frame, centimetres and degrees; episodes are in ours.

Example:
    for clip in discover(root):
        episode = load(clip)  # unless clip.fault
"""

from worldgauge.perception.colmap import read_images_txt, write_images_txt
from worldgauge.suites.mind.actions import Perspective, space_of, steps_of
from worldgauge.suites.mind.format.check import ClipStatistics, check
from worldgauge.suites.mind.format.files import FPS, MIRROR_NUMBERS, PERSPECTIVES, SHARED_SPACE, MindClip, Part
from worldgauge.suites.mind.format.read import (
    absent,
    discover,
    find,
    fingerprint_of,
    keys_of,
    load,
    mirror_actions,
    mirror_keys,
    video_path,
)
from worldgauge.suites.mind.format.write import (
    mirror_folders,
    stored_poses,
    submissions,
    submitted_path,
    submitted_paths,
    write_clip,
    write_mirror_actions,
    write_mirror_start,
)

__all__ = [
    "FPS",
    "MIRROR_NUMBERS",
    "PERSPECTIVES",
    "SHARED_SPACE",
    "ClipStatistics",
    "MindClip",
    "Part",
    "Perspective",
    "absent",
    "check",
    "discover",
    "find",
    "fingerprint_of",
    "keys_of",
    "load",
    "mirror_actions",
    "mirror_folders",
    "mirror_keys",
    "read_images_txt",
    "space_of",
    "steps_of",
    "stored_poses",
    "submissions",
    "submitted_path",
    "submitted_paths",
    "video_path",
    "write_clip",
    "write_images_txt",
    "write_mirror_actions",
    "write_mirror_start",
]
