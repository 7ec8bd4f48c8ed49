"""MIND's published format: clips of walks driven by keys, in first and third person, and mirrored paths from images.

On disk: 1st_data and 3rd_data with train/<clip>/, test/mem_test/<clip>/, test/action_space_test/<clip>/ (action.json,
video.mp4, images.txt) and test/mirror_test/ (start images and paths) (specification: mind, section 1). Files are in the
engine's left-handed frame, centimetres and degrees; episodes are in ours.

Example:
    for clip in discover(root):
        episode = load(clip)  # unless clip.fault
"""

from worldgauge.perception.colmap import ImageList, read_images_txt, write_images_txt
from worldgauge.suites.mind.actions import space_of, steps_of
from worldgauge.suites.mind.format.check import ClipStatistics, PartStatistics, check
from worldgauge.suites.mind.format.coordinates import our_pose, ue_pose
from worldgauge.suites.mind.format.layout import (
    FPS,
    MIRROR_NUMBERS,
    PARTS,
    PERSPECTIVES,
    SHARED_SPACE,
    MindClip,
    Part,
)
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
from worldgauge.suites.mind.format.submission import mirror_folders, submissions, submitted_path, submitted_paths
from worldgauge.suites.mind.format.write import stored_poses, write_clip, write_mirror_actions, write_mirror_start
from worldgauge.suites.mind.walks.mirror import Perspective

__all__ = [
    "FPS",
    "MIRROR_NUMBERS",
    "PARTS",
    "PERSPECTIVES",
    "SHARED_SPACE",
    "ClipStatistics",
    "ImageList",
    "MindClip",
    "Part",
    "PartStatistics",
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
    "our_pose",
    "read_images_txt",
    "space_of",
    "steps_of",
    "stored_poses",
    "submissions",
    "submitted_path",
    "submitted_paths",
    "ue_pose",
    "video_path",
    "write_clip",
    "write_images_txt",
    "write_mirror_actions",
    "write_mirror_start",
]
