"""A recogniser of the embedded homes' things, for agents without a language model."""

from worldgauge.suites.closedloop.recognition.recogniser.recognition import Recogniser, recogniser

__all__ = ["Recogniser", "recogniser"]
