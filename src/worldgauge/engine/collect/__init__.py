"""Collecting data sets in embedded worlds: parallel, resumable, the same files for any number of workers."""

from worldgauge.engine.collect.closedloop import collect_closedloop, count_closedloop
from worldgauge.engine.collect.demonstrations import collect_demonstrations, count_demonstrations
from worldgauge.engine.collect.driving import Collected, CollectProgress, world_seed_of
from worldgauge.engine.collect.loopnav import collect_loopnav, collect_one, count_loopnav, stamp_of
from worldgauge.engine.collect.loopnav_game import Game
from worldgauge.engine.collect.mind import collect_mind, count_mind
from worldgauge.engine.collect.target import collect_target, count_target

__all__ = [
    "CollectProgress",
    "Collected",
    "Game",
    "collect_closedloop",
    "collect_demonstrations",
    "collect_loopnav",
    "collect_mind",
    "collect_one",
    "collect_target",
    "count_closedloop",
    "count_demonstrations",
    "count_loopnav",
    "count_mind",
    "count_target",
    "stamp_of",
    "world_seed_of",
]
