"""Eyes of agents that need no language model: a recogniser of the embedded homes' things."""

from worldgauge.suites.closedloop.recognition.recogniser.recognition import Recogniser, recogniser

__all__ = ["Recogniser", "recogniser"]
