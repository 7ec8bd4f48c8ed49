"""World-in-World's published episodes: recognition, image-goal navigation and embodied questions; and manipulation.

On disk: recognition/ (published: AR/), navigation/ (IGNav/) with a zip of goal images, questions/ (AEQA/) with lengths,
blind answers and evidence by id (specification: world_in_world, 5.1 to 5.3); manipulation/ in a schema of ours, since
what was published of it is pickled. Positions are in the simulator's frame, y up, and are converted when they are read.
Scenes that are scans come under agreements: their episodes load, and `scenes` maps them to None.

Example:
    data = load(root)
    data.recognition[0].start
    data.scenes[scene] or scene_missing(scene)
"""

from worldgauge.suites.closedloop.format.check import EpisodeStatistics, KindStatistics, check
from worldgauge.suites.closedloop.format.coordinates import (
    as_stored,
    habitat_point,
    habitat_rotation,
    habitat_stance,
    our_point,
    our_stance,
    our_yaw,
)
from worldgauge.suites.closedloop.format.episode import (
    AT_HOME,
    KINDS,
    ClosedLoop,
    Episode,
    Fault,
    HomeEpisode,
    Kind,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.format.files import fingerprint_of, goal_image
from worldgauge.suites.closedloop.format.load import MANIFEST_FORMAT, load, scene_missing, worlds_of
from worldgauge.suites.closedloop.format.write import (
    write_manipulation,
    write_navigation,
    write_questions,
    write_recognition,
)

__all__ = [
    "AT_HOME",
    "KINDS",
    "MANIFEST_FORMAT",
    "ClosedLoop",
    "Episode",
    "EpisodeStatistics",
    "Fault",
    "HomeEpisode",
    "Kind",
    "KindStatistics",
    "ManipulationEpisode",
    "NavigationEpisode",
    "QuestionEpisode",
    "RecognitionEpisode",
    "as_stored",
    "check",
    "fingerprint_of",
    "goal_image",
    "habitat_point",
    "habitat_rotation",
    "habitat_stance",
    "load",
    "our_point",
    "our_stance",
    "our_yaw",
    "scene_missing",
    "worlds_of",
    "write_manipulation",
    "write_navigation",
    "write_questions",
    "write_recognition",
]
