"""A server for runs while they grow: lists, films in step, worst cases, flags, and blind votes."""

from worldgauge.tools.viewer.server import Viewer

__all__ = ["Viewer"]
