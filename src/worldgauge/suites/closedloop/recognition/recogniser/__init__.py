"""A classifier of the things in the embedded homes, for agents without a language model."""

from worldgauge.suites.closedloop.recognition.recogniser.recognition import Recogniser, recogniser

__all__ = ["Recogniser", "recogniser"]
