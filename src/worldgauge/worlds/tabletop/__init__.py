"""The embedded robot bench: an arm with a gripper at a table, in a physics engine (extra `manipulation`).

world.Tabletop is the world, simulation.Simulation what happens on it, motion finds its ways, picture and canvas draw,
env is a gymnasium.Env, tasks/ has the four tasks; meshes gives the arm another look.
"""

from worldgauge.worlds.tabletop.world import Tabletop

__all__ = ["Tabletop"]
